package passthrough

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
)

const (
	impersonatePrefix    = "Impersonate-"
	serviceAccountPrefix = "system:serviceaccount:"
	maxAsked             = 64
)

// impersonation is the user that a caller asks to impersonate.
type impersonation struct {
	user authz.User
	// malformed is set when Kubernetes would not understand the headers.
	malformed bool
}

// impersonationOf reads the headers; nil when there are none.
func impersonationOf(header http.Header) *impersonation {
	var asked *impersonation
	for name, values := range header {
		// Names are canonical here; the rest of an extra's name is not ours to change.
		if len(name) < len(impersonatePrefix) || !strings.EqualFold(name[:len(impersonatePrefix)], impersonatePrefix) {
			continue
		}
		if asked == nil {
			asked = &impersonation{user: authz.User{Extra: map[string][]string{}}}
		}
		switch {
		case strings.EqualFold(name, authenticationv1.ImpersonateUserHeader):
			asked.malformed = asked.malformed || len(values) != 1 || values[0] == ""
			asked.user.Name = values[0]
		case strings.EqualFold(name, authenticationv1.ImpersonateUIDHeader):
			asked.malformed = asked.malformed || len(values) != 1
			asked.user.UID = values[0]
		case strings.EqualFold(name, authenticationv1.ImpersonateGroupHeader):
			asked.user.Groups = append(asked.user.Groups, values...)
		case len(name) > len(authenticationv1.ImpersonateUserExtraHeaderPrefix) &&
			strings.EqualFold(name[:len(authenticationv1.ImpersonateUserExtraHeaderPrefix)], authenticationv1.ImpersonateUserExtraHeaderPrefix):
			key, err := url.PathUnescape(strings.ToLower(name[len(authenticationv1.ImpersonateUserExtraHeaderPrefix):]))
			asked.malformed = asked.malformed || err != nil
			asked.user.Extra[key] = append(asked.user.Extra[key], values...)
		default:
			asked.malformed = true
		}
	}
	return asked
}

// by returns the impersonated user, if the caller may impersonate them.
func (i *impersonation) by(ctx context.Context, reviews authorizationclient.SubjectAccessReviewInterface, caller authz.User) (authz.User, error) {
	questions := i.questions()
	if i.malformed || i.user.Name == "" || len(questions) > maxAsked {
		// A caller who may not impersonate learns the same either way.
		return authz.User{}, apierror.New(apierror.CodeForbidden, "the Impersonate headers name no user, or not in a way that Kubernetes knows")
	}
	for _, question := range questions {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: caller.Name, UID: caller.UID, Groups: caller.Groups, ResourceAttributes: &question,
		}}
		for key, values := range caller.Extra {
			if review.Spec.Extra == nil {
				review.Spec.Extra = map[string]authorizationv1.ExtraValue{}
			}
			review.Spec.Extra[key] = values
		}
		answer, err := reviews.Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return authz.User{}, apierror.Wrap(err, apierror.CodeTimeout, "the global cluster did not answer the check of your permissions; try again")
		}
		if !answer.Status.Allowed {
			return authz.User{}, apierror.New(apierror.CodeForbidden,
				"user %q cannot impersonate %s in the global cluster: send the request without Impersonate headers, as yourself", caller.Name, question.Resource)
		}
	}
	return i.whole(), nil
}

// questions are what the caller has to be permitted, as in an apiserver.
func (i *impersonation) questions() []authorizationv1.ResourceAttributes {
	const core, authentication = "", "authentication.k8s.io"
	ask := func(group, resource, subresource, namespace, name string) authorizationv1.ResourceAttributes {
		return authorizationv1.ResourceAttributes{
			Verb: "impersonate", Group: group, Resource: resource, Subresource: subresource, Namespace: namespace, Name: name,
		}
	}
	var all []authorizationv1.ResourceAttributes
	if namespace, name, ok := serviceAccount(i.user.Name); ok {
		all = append(all, ask(core, "serviceaccounts", "", namespace, name))
	} else {
		all = append(all, ask(core, "users", "", "", i.user.Name))
	}
	for _, group := range i.user.Groups {
		all = append(all, ask(core, "groups", "", "", group))
	}
	if i.user.UID != "" {
		all = append(all, ask(authentication, "uids", "", "", i.user.UID))
	}
	for key, values := range i.user.Extra {
		for _, value := range values {
			all = append(all, ask(authentication, "userextras", key, "", value))
		}
	}
	return all
}

// whole is the user with the groups that an apiserver adds.
func (i *impersonation) whole() authz.User {
	const all, unauthenticated, anonymous = "system:authenticated", "system:unauthenticated", "system:anonymous"
	user := i.user
	user.Groups = slices.Clone(user.Groups)
	if namespace, _, ok := serviceAccount(user.Name); ok && len(user.Groups) == 0 {
		user.Groups = append(user.Groups, "system:serviceaccounts", "system:serviceaccounts:"+namespace)
	}
	known := all
	if user.Name == anonymous {
		known = unauthenticated
	}
	if !slices.Contains(user.Groups, known) {
		user.Groups = append(user.Groups, known)
	}
	return user
}

func serviceAccount(user string) (namespace, name string, ok bool) {
	rest, ok := strings.CutPrefix(user, serviceAccountPrefix)
	if !ok {
		return "", "", false
	}
	namespace, name, ok = strings.Cut(rest, ":")
	return namespace, name, ok && namespace != "" && name != "" && !strings.Contains(name, ":")
}
