package clusterimport

import (
	"fmt"
	"sync"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/connection"
	"github.com/kairship-io/kairship/pkg/controllers/internal/connections"
)

// The limit for one instance or member, which have others to serve.
const (
	requestsPerSecond = 50
	burst             = 100
)

// remoteScheme knows what is read and written outside the global cluster.
var remoteScheme = func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(corev1.AddToScheme(scheme))
	utilruntime.Must(rbacv1.AddToScheme(scheme))
	utilruntime.Must(clusterv1alpha1.Install(scheme))
	utilruntime.Must(workv1alpha1.Install(scheme))
	utilruntime.Must(workv1alpha2.Install(scheme))
	return scheme
}()

// remoteMapper maps those kinds without asking the other side, which would cost
// a discovery for each instance and member.
var remoteMapper = func() meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper(nil)
	add := func(group schema.GroupVersion, scope meta.RESTScope, kinds ...string) {
		for _, kind := range kinds {
			mapper.Add(group.WithKind(kind), scope)
		}
	}
	add(corev1.SchemeGroupVersion, meta.RESTScopeRoot, "Namespace")
	add(corev1.SchemeGroupVersion, meta.RESTScopeNamespace, "ServiceAccount", "Secret", "ConfigMap")
	add(rbacv1.SchemeGroupVersion, meta.RESTScopeRoot, "ClusterRole", "ClusterRoleBinding")
	add(schema.GroupVersion(clusterv1alpha1.GroupVersion), meta.RESTScopeRoot, "Cluster")
	add(schema.GroupVersion(workv1alpha1.GroupVersion), meta.RESTScopeNamespace, "Work")
	add(schema.GroupVersion(workv1alpha2.GroupVersion), meta.RESTScopeRoot, "ClusterResourceBinding")
	add(schema.GroupVersion(workv1alpha2.GroupVersion), meta.RESTScopeNamespace, "ResourceBinding")
	return mapper
}()

// remote is an instance or a member.
type remote struct {
	client.Client
	place    place
	endpoint string
}

// place says on which side of a join something is.
type place string

const (
	inInstance place = "instance"
	inMember   place = "cluster"
)

// remotes are the clients of instances or of members, by name. One is replaced
// when its connection is. The zero value is ready for use.
type remotes struct {
	mu     sync.Mutex
	byName map[string]cachedRemote
}

type cachedRemote struct {
	over *connections.Conn
	kube client.Client
}

// reach is the client of an instance or a member. Nothing is dialled here.
func (r *Reconciler) reach(where place, name string, to connection.Connection) (*remote, error) {
	if r.dial != nil {
		return &remote{Client: r.dial(where, name), place: where, endpoint: to.Endpoint}, nil
	}
	known, key := &r.instances, connections.Instance(name)
	if where == inMember {
		known, key = &r.members, connections.Cluster(name)
	}
	over, err := r.Connections.Of(key, to)
	if err != nil {
		return nil, err
	}
	known.mu.Lock()
	defer known.mu.Unlock()
	old, found := known.byName[name]
	if found && old.over == over {
		return &remote{Client: old.kube, place: where, endpoint: to.Endpoint}, nil
	}
	kube, err := r.clientOver(over, remoteMapper)
	if err != nil {
		return nil, fmt.Errorf("connect to %s %q: %w", where, name, err)
	}
	if known.byName == nil {
		known.byName = map[string]cachedRemote{}
	}
	known.byName[name] = cachedRemote{over: over, kube: kube}
	return &remote{Client: kube, place: where, endpoint: to.Endpoint}, nil
}

// reachForAnyKind is a client of a member that asks it what kinds it has. It is for
// what is rarely done, and not kept.
func (r *Reconciler) reachForAnyKind(name string, to connection.Connection) (*remote, error) {
	if r.dial != nil {
		return r.reach(inMember, name, to)
	}
	over, err := r.Connections.Of(connections.Cluster(name), to)
	if err != nil {
		return nil, err
	}
	kube, err := r.clientOver(over, nil)
	if err != nil {
		return nil, fmt.Errorf("connect to %s %q: %w", inMember, name, err)
	}
	return &remote{Client: kube, place: inMember, endpoint: to.Endpoint}, nil
}

// clientOver makes a client that uses a connection which is there.
func (r *Reconciler) clientOver(over *connections.Conn, mapper meta.RESTMapper) (client.Client, error) {
	config := over.RESTConfig()
	config.QPS, config.Burst, config.UserAgent = requestsPerSecond, burst, "kairship-controller-manager/"+Name
	bounded := *over.HTTP
	bounded.Timeout = r.Timeout
	return client.New(config, client.Options{HTTPClient: &bounded, Scheme: remoteScheme, Mapper: mapper})
}

// forget drops the client of what nothing is left to do in.
func (c *remotes) forget(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.byName, name)
}
