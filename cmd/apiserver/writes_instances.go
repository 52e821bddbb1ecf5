package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/graph/resolvers"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/connection"
	"github.com/kairship-io/kairship/pkg/fleet/write"
	"github.com/kairship-io/kairship/pkg/fleet/write/clusters"
	"github.com/kairship-io/kairship/pkg/fleet/write/instances"
	"github.com/kairship-io/kairship/pkg/instanceproxy"
)

// What Kairship itself writes to the global cluster, for people who may have it do so.
// +kubebuilder:rbac:groups=kairship.io,resources=instances,verbs=get;create;patch;delete
// +kubebuilder:rbac:groups=kairship.io,resources=clusters,verbs=get;create;patch;delete
// +kubebuilder:rbac:groups=kairship.io,resources=instancerolebindings,verbs=get;create;delete
// +kubebuilder:rbac:groups="",resources=secrets,namespace=kairship-system,verbs=get;create;update

// What the admission policy for Clusters asks for of all users who write where a cluster is joined.
// +kubebuilder:rbac:groups=kairship.io,resources=clusters/membership;instances/management,verbs=update

// newGlobalClient makes the client with which Kairship itself writes to the global cluster.
func newGlobalClient(config *rest.Config) (client.Client, error) {
	scheme := runtime.NewScheme()
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	utilruntime.Must(corev1.AddToScheme(scheme))
	// The kinds are known, so nothing has to be discovered first.
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, kind := range []string{"Instance", "Cluster", "InstanceRoleBinding"} {
		mapper.Add(v1alpha1.GroupVersion.WithKind(kind), meta.RESTScopeRoot)
	}
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Secret"), meta.RESTScopeNamespace)
	global, err := client.New(config, client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("making the client that writes to the global cluster: %w", err)
	}
	return global, nil
}

// newClusterWrites makes the service of the mutations of the inventory.
func newClusterWrites(global client.Client, fleet resolvers.Fleet, watched client.Reader, kube kubernetes.Interface, permitted *connection.Addresses) *clusters.Service {
	return &clusters.Service{
		Rights: write.Rights{Reviews: kube.AuthorizationV1().SubjectAccessReviews()}, Global: global, Watched: watched, Visible: fleet.Clusters, Now: time.Now,
		Try: func(ctx context.Context, to connection.Connection) (*clusters.Found, error) {
			return clusters.Try(ctx, to, permitted)
		},
	}
}

// newInstanceWrites makes the service of the mutations of instances themselves.
func newInstanceWrites(global client.Client, fleet resolvers.Fleet, watched client.Reader, kube kubernetes.Interface, permitted *connection.Addresses, versions []string) *instances.Service {
	return &instances.Service{
		Access: fleet.Access, Global: global, Watched: watched, Visible: fleet.Instances, Versions: versions, Operations: fleet.Operations, Now: time.Now,
		Identify: func(ctx context.Context, to connection.Connection) (string, error) {
			return instanceproxy.Identify(ctx, to, permitted)
		},
		Hosts: instances.Hosts{Rights: write.Rights{Reviews: kube.AuthorizationV1().SubjectAccessReviews()}, Visible: fleet.Clusters},
	}
}
