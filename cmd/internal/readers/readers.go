// Package readers restricts metrics to the users whom the global cluster permits to read them.
package readers

import (
	"context"
	"net/http"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
)

// MetricsPath is also what RBAC calls the right to read metrics.
const MetricsPath = "/metrics"

// Only admits users who may get /metrics in the global cluster, as its own components do. Each
// scrape costs an access review; the user of a token is cached.
func Only(next http.Handler, authenticator authz.Authenticator, reviews authorizationclient.SubjectAccessReviewInterface) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
		defer cancel()
		user, err := authenticator.Authenticate(ctx, authz.RequestCredentials(r))
		if err != nil {
			status := http.StatusServiceUnavailable
			if apierror.CodeOf(err) == apierror.CodeUnauthenticated {
				status = http.StatusUnauthorized
			}
			http.Error(w, "send a bearer token of the global cluster in the Authorization header", status)
			return
		}
		extra := make(map[string]authorizationv1.ExtraValue, len(user.Extra))
		for key, values := range user.Extra {
			extra[key] = values
		}
		review, err := reviews.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user.Name, UID: user.UID, Groups: user.Groups, Extra: extra,
			NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: MetricsPath, Verb: "get"},
		}}, metav1.CreateOptions{})
		switch {
		case err != nil:
			http.Error(w, "the global cluster does not say who may read metrics", http.StatusServiceUnavailable)
		case !review.Status.Allowed:
			http.Error(w, "you may not get "+MetricsPath+" in the global cluster", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}
