// Package memberproxy reads from member clusters what the index does not have: through Karmada's proxy in
// the instance, and as the caller. So the instance decides whether the caller may reach the member
// (clusters/proxy), and the member what they may read there.
package memberproxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/instanceproxy"
)

// maxRefusal limits the body of a refusal that is read. A Status is smaller by far.
const maxRefusal = 64 << 10

// Request is what is read from a member cluster.
type Request struct {
	// Member is the member cluster's name in the instance.
	Member string
	// Path has the segments of the path in the member.
	Path  []string
	Query url.Values
}

// url is the address below the instance.
func (r *Request) url() *url.URL {
	segments := append([]string{"apis", clusterv1alpha1.GroupName, "v1alpha1", "clusters", r.Member, "proxy"}, r.Path...)
	for i := range segments {
		segments[i] = url.PathEscape(segments[i])
	}
	u := &url.URL{Scheme: "https", Host: "instance", RawQuery: r.Query.Encode()}
	return u.JoinPath(segments...)
}

// Open sends a request as the user of the context. The caller closes the body. An answer of another
// status than 200 is a *RefusalError.
func Open(ctx context.Context, client instanceproxy.Client, r *Request) (io.ReadCloser, error) {
	sent, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url().String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	sent.Header.Set("Accept", "application/json, */*")
	response, err := client.Transport().RoundTrip(sent)
	if err != nil {
		return nil, Unanswered(ctx, client.Instance(), r.Member, err)
	}
	if response.StatusCode == http.StatusOK {
		return response.Body, nil
	}
	defer response.Body.Close()
	var status metav1.Status
	// What is no Status is judged by the code alone.
	if raw, err := io.ReadAll(io.LimitReader(response.Body, maxRefusal)); err == nil && json.Unmarshal(raw, &status) != nil {
		status = metav1.Status{}
	}
	return nil, &RefusalError{
		Instance: client.Instance(), Member: r.Member, Code: response.StatusCode,
		ByInstance: status.Details != nil && status.Details.Group == clusterv1alpha1.GroupName,
	}
}

// Unanswered is the error of a request that had no answer, or of an answer that broke off.
func Unanswered(ctx context.Context, instance, member string, err error) error {
	if _, ours := errors.AsType[*apierror.Error](err); ours {
		return apierror.In(err, instance)
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	return apierror.In(apierror.Wrap(err, apierror.CodeInstanceUnavailable, "member cluster %q does not answer through instance %q", member, instance), instance)
}

// RefusalError is an answer of another status than 200.
type RefusalError struct {
	Instance, Member string
	// Code is the HTTP status.
	Code int
	// ByInstance reports whether the instance answered, and did not ask the member.
	ByInstance bool
}

// Error implements error.
func (r *RefusalError) Error() string { return fmt.Sprintf("HTTP status %d", r.Code) }

// Forbidden reports whether the instance or the member does not let the caller read.
func (r *RefusalError) Forbidden() bool {
	return r.Code == http.StatusForbidden || r.Code == http.StatusUnauthorized
}

// Explain returns the refusal as an error for the caller. The text says what the caller may not do
// in the member, and by which resource, for example "read logs there (pods/log)".
func (r *RefusalError) Explain(what string) error {
	var err error
	switch {
	case r.Code == http.StatusNotFound && r.ByInstance:
		err = apierror.Wrap(r, apierror.CodeInstanceUnavailable, "member cluster %q is no longer joined to instance %q", r.Member, r.Instance)
	case r.Forbidden() && r.ByInstance:
		err = apierror.Wrap(r, apierror.CodeForbidden, "the roles that you have inside instance %q do not let you reach its member cluster %q (clusters/proxy)", r.Instance, r.Member)
	case r.Forbidden():
		err = apierror.Wrap(r, apierror.CodeForbidden, "the roles that you have inside member cluster %q do not let you %s", r.Member, what)
	default:
		err = apierror.Wrap(r, apierror.CodeInstanceUnavailable, "member cluster %q does not answer through instance %q", r.Member, r.Instance)
	}
	return apierror.In(err, r.Instance)
}
