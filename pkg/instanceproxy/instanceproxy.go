package instanceproxy

import (
	"context"
	"net/http"
	"time"

	karmada "github.com/karmada-io/karmada/pkg/generated/clientset/versioned"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Clients returns the clients of instances, by name.
type Clients interface {
	// Get returns the client of an instance. It sends nothing: whether the instance
	// answers shows in the first request. The error is *apierror.Error with
	// CodeNotFound when there is no such instance. Whether the caller may know of it
	// is not decided here.
	Get(ctx context.Context, instance string) (Client, error)
}

// Client is how one instance is reached. It stays usable while credentials and
// endpoint change, until the instance goes. It is safe for concurrent use.
//
// Every request is sent as the user of its context (authz.UserFrom), or as
// Kairship itself (AsKairship). A request that never reached the instance, or had
// no answer, fails with an error that holds an *apierror.Error:
// CodeInstanceUnavailable when the instance does not answer or refuses Kairship,
// CodeRateLimited when too much is asked of it, CodeNotFound when it no longer exists,
// CodeInvalid when the request can't be sent as it is.
type Client interface {
	// Instance is the name of the instance.
	Instance() string
	// Karmada is the typed client of Karmada's own kinds.
	Karmada() karmada.Interface
	// Kubernetes is the typed client of Kubernetes' kinds.
	Kubernetes() kubernetes.Interface
	// Dynamic is the client of any kind.
	Dynamic() dynamic.Interface
	// REST sends requests to any path (AbsPath), with the errors of Kubernetes' clients. The typed
	// methods keep the status back, which shows what was created.
	REST() rest.Interface
	// RESTMapper maps kinds to resources and back. It answers from the cached discovery, and asks
	// the instance again for an unknown kind; ctx bounds that request. The request is sent as
	// Kairship, regardless of the user of ctx.
	RESTMapper(ctx context.Context) meta.RESTMapper
	// Discovery is what the instance serves, from memory, at most
	// Options.DiscoveryAge old.
	Discovery(ctx context.Context) (*Discovery, error)
	// Rediscover is Discovery that is a few seconds old at most, for a kind that is not in
	// what is remembered, or is not served any more.
	Rediscover(ctx context.Context) (*Discovery, error)
	// Transport sends requests as they are: the path and the query of the URL count,
	// its scheme and host do not. An upgrade (SPDY, WebSocket) works as with
	// http.Transport. Credentials in the request are replaced.
	Transport() http.RoundTripper
	// Health returns how the instance is reached now.
	Health() Health
}

// Discovery is what an instance serves. It is shared: do not change it.
type Discovery struct {
	Groups    []*metav1.APIGroup
	Resources []*metav1.APIResourceList
	// At is when the instance said so.
	At time.Time
}

// Health is how an instance is reached.
type Health struct {
	// Available is false while there are no credentials, or the breaker is open.
	Available bool
	// Reason says for a person why not; empty while Available.
	Reason string
	// CredentialsExpire is when the instance stops to accept the credentials; zero
	// when they do not say.
	CredentialsExpire time.Time
}
