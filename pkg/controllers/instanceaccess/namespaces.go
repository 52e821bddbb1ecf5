package instanceaccess

import (
	"context"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/authz/roles"
	"github.com/kairship-io/kairship/pkg/controllers/internal/connections"
)

// readNamespaces reads in which namespaces editors of the whole instance are bound. An
// instance without such editors is not asked.
func (r *Reconciler) readNamespaces(ctx context.Context, s *scope) error {
	if !s.anyEverywhere() {
		r.namespaceWatches.forget(s.name)
		return nil
	}
	list, err := s.core.Namespaces().List(ctx, metav1.ListOptions{})
	if refusal(err) {
		s.namespacesRefused = err
		return nil
	}
	if err != nil {
		return r.unreached(ctx, s, err)
	}
	for i := range list.Items {
		if n := &list.Items[i]; n.DeletionTimestamp.IsZero() && !roles.Reserved(n.Name) {
			s.namespaces = append(s.namespaces, n.Name)
		}
	}
	return r.namespaceWatches.follow(s.name, s.conn) //nolint:contextcheck // It lasts as long as the connection.
}

// everywhere reports whether the binding is to have rules in every namespace that is not
// reserved.
func (s *scope) everywhere(b *binding) bool {
	return s.wanted(b) && roles.InEveryNamespace(b.Spec.Role, len(b.Spec.Namespaces) > 0)
}

func (s *scope) anyEverywhere() bool {
	return slices.ContainsFunc(s.bindings, s.everywhere)
}

// namespaceWatches watch for namespaces that are added to instances, by the name of the
// instance: editors of the whole instance wait for their rules there. A namespace that
// goes takes its rules with it.
type namespaceWatches struct {
	// events says in which instance there is one.
	events chan event.GenericEvent

	mu      sync.Mutex
	byName  map[string]namespaceWatch
	stopped bool
}

type namespaceWatch struct {
	conn *connections.Conn
	end  context.CancelFunc
}

// waiting limits the instances with changes that are queued for the controller. The next periodic
// look finds the changes of the others.
const waiting = 1024

func newNamespaceWatches() *namespaceWatches {
	return &namespaceWatches{events: make(chan event.GenericEvent, waiting), byName: map[string]namespaceWatch{}}
}

// Start ends all watches with the manager.
func (n *namespaceWatches) Start(ctx context.Context) error {
	<-ctx.Done()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stopped = true
	for _, one := range n.byName {
		one.end()
	}
	return nil
}

// follow watches an instance through this connection, in place of an earlier one.
func (n *namespaceWatches) follow(instance string, conn *connections.Conn) error {
	if n == nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	old, known := n.byName[instance]
	if n.stopped || (known && old.conn == conn) {
		return nil
	}
	client, err := coreclient.NewForConfigAndClient(conn.RESTConfig(), conn.HTTP)
	if err != nil {
		return err
	}
	if known {
		old.end()
	}
	ctx, end := context.WithCancel(conn.Context())
	n.byName[instance] = namespaceWatch{conn, end}
	// The conditions report failures, and the watch retries.
	ctx = klog.NewContext(ctx, logr.Discard())
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: &cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
				return client.Namespaces().List(ctx, options)
			},
			WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
				return client.Namespaces().Watch(ctx, options)
			},
		},
		ObjectType: &corev1.Namespace{},
		Transform:  nameOnly,
		Handler: cache.ResourceEventHandlerDetailedFuncs{AddFunc: func(_ any, known bool) {
			if !known {
				n.enqueue(instance)
			}
		}},
	})
	go informer.RunWithContext(ctx)
	return nil
}

// nameOnly keeps no more of a namespace than is needed to know it again.
func nameOnly(object any) (any, error) {
	if n, ok := object.(*corev1.Namespace); ok {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: n.Name, UID: n.UID, ResourceVersion: n.ResourceVersion}}, nil
	}
	return object, nil
}

func (n *namespaceWatches) enqueue(instance string) {
	select {
	case n.events <- event.GenericEvent{Object: &v1alpha1.Instance{ObjectMeta: metav1.ObjectMeta{Name: instance}}}:
	default:
	}
}

// forget ends the watch on an instance.
func (n *namespaceWatches) forget(instance string) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if old, known := n.byName[instance]; known {
		old.end()
		delete(n.byName, instance)
	}
}
