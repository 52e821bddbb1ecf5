package authz

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"

	"github.com/kairship-io/kairship/pkg/apierror"
)

// reviewNamespace is the namespace for which rules are asked. A review reports the rules of the
// ClusterRoleBindings and those of the RoleBindings in the namespace it names, without
// distinguishing them. An instance has no namespace, so a RoleBinding must not count for it; with
// "default", a user who administers that namespace would seem to administer every instance. A
// review has to name some namespace. This one can never hold a RoleBinding, because it can't be
// created: names of namespaces have no capitals, colons or spaces.
const reviewNamespace = "Kairship: no namespace"

// RulesReviewer returns which rules apply to a user.
type RulesReviewer interface {
	Rules(ctx context.Context, u User) (*authorizationv1.SubjectRulesReviewStatus, error)
}

// impersonatedReviews asks by SelfSubjectRulesReview. Such a review is about its
// sender, so it is sent as the user: there is no review of another user's rules.
type impersonatedReviews struct {
	client rest.Interface
	// impersonates is set once it is known that the headers are heeded.
	impersonates atomic.Bool
}

// NewRulesReviewer makes a RulesReviewer over the client of the global cluster's authorization API,
// for example AuthorizationV1().RESTClient() of a clientset. The one client serves all users: the
// headers of each request name the impersonated user. The client's own identity must be allowed to
// impersonate users, groups and service accounts, and UIDs and every extra of
// authentication.k8s.io.
func NewRulesReviewer(client rest.Interface) RulesReviewer {
	return &impersonatedReviews{client: client}
}

// Rules implements RulesReviewer.
func (r *impersonatedReviews) Rules(ctx context.Context, u User) (*authorizationv1.SubjectRulesReviewStatus, error) {
	header, err := impersonationHeader(u)
	if err != nil {
		return nil, err
	}
	if err := r.checkImpersonation(ctx, u, header); err != nil {
		return nil, err
	}
	ask := &authorizationv1.SelfSubjectRulesReview{
		Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: reviewNamespace},
	}
	var review authorizationv1.SelfSubjectRulesReview
	if err := as(header, r.client.Post().Resource("selfsubjectrulesreviews").Body(ask)).Do(ctx).Into(&review); err != nil {
		return nil, err
	}
	return &review.Status, nil
}

// checkImpersonation asks once, with the first user, which user the API server authenticates. A
// proxy in between that drops the headers would otherwise have Kairship's own rules, which are
// wide, taken for those of every user.
func (r *impersonatedReviews) checkImpersonation(ctx context.Context, u User, header http.Header) error {
	if r.impersonates.Load() {
		return nil
	}
	const path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
	var review authenticationv1.SelfSubjectReview
	if err := as(header, r.client.Post().AbsPath(path).Body(&authenticationv1.SelfSubjectReview{})).Do(ctx).Into(&review); err != nil {
		return err
	}
	if got := review.Status.UserInfo.Username; got != u.Name {
		return apierror.Wrap(fmt.Errorf("impersonation of %q is not heeded: the global cluster takes the sender for %q; "+
			"whatever stands between Kairship and its API server must pass the Impersonate headers on", u.Name, got),
			apierror.CodeInternal, "internal error")
	}
	r.impersonates.Store(true)
	return nil
}

// as sends a request as a user.
func as(header http.Header, request *rest.Request) *rest.Request {
	for name, values := range header {
		request = request.SetHeader(name, values...)
	}
	return request
}

// impersonationHeader returns the headers with which a request impersonates a user. Its errors are
// *apierror.Error.
func impersonationHeader(u User) (http.Header, error) {
	h := http.Header{}
	h.Set(authenticationv1.ImpersonateUserHeader, u.Name)
	if u.UID != "" {
		h.Set(authenticationv1.ImpersonateUIDHeader, u.UID)
	}
	for _, group := range u.Groups {
		h.Add(authenticationv1.ImpersonateGroupHeader, group)
	}
	for key, values := range u.Extra {
		for _, value := range values {
			h.Add(authenticationv1.ImpersonateUserExtraHeaderPrefix+escapeExtraKey(key), value)
		}
	}
	for _, values := range h {
		for _, value := range values {
			if !survivesHeader(value) {
				return nil, apierror.New(apierror.CodeForbidden,
					"your identity can't be checked: your user name, a group or another attribute of it is empty, begins or ends with a space or holds a control character")
			}
		}
	}
	return h, nil
}

// survivesHeader reports whether the other end of a connection reads the same value. HTTP cuts off
// the spaces around a value: "alice " would be authorized as "alice", another user.
func survivesHeader(value string) bool {
	return value != "" && strings.Trim(value, " \t") == value &&
		!strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// escapeExtraKey escapes a key so that the API server reads the same one: it converts the header's
// name to lower case and then decodes it as a part of a path.
func escapeExtraKey(key string) string {
	var b strings.Builder
	for _, c := range []byte(key) {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-', c == '.', c == '_':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02x", c)
		}
	}
	return b.String()
}
