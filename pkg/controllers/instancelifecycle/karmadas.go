package instancelifecycle

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/go-logr/logr"
	operatorv1alpha1 "github.com/karmada-io/karmada/operator/pkg/apis/operator/v1alpha1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/informers"
)

// karmadaWatch wakes the Instances whose Karmada changed. It begins only once the
// global cluster knows the kind: a manager whose watch cannot begin does not
// start, and most installations have no operator.
//
// It has a cache of its own. A controller does not start before everything in the
// cache that it watches with is complete, and with the manager's that would be true of
// every controller: one kind that cannot be listed, because its CRD is going or the
// role for it is missing, would hold up all that start after it.
type karmadaWatch struct {
	manager    ctrl.Manager
	controller controller.Controller

	mu    sync.Mutex
	cache cache.Cache // nil until it has begun
}

func (w *karmadaWatch) init(mgr ctrl.Manager, of controller.Controller) {
	w.manager, w.controller = mgr, of
}

// begin begins the watch, once. Nothing is watched in tests that run no manager.
func (w *karmadaWatch) begin() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cache != nil || w.manager == nil {
		return nil
	}
	watches := &informers.Persistent{Logger: slog.New(logr.ToSlogHandler(w.manager.GetLogger().WithName("cache")))}
	karmadas, err := cache.New(w.manager.GetConfig(), cache.Options{
		HTTPClient: w.manager.GetHTTPClient(), Scheme: w.manager.GetScheme(), Mapper: w.manager.GetRESTMapper(),
		DefaultTransform: cache.TransformStripManagedFields(), NewInformer: watches.New,
	})
	if err != nil {
		return fmt.Errorf("make the cache of Karmadas: %w", err)
	}
	if err := w.manager.Add(karmadas); err != nil {
		return fmt.Errorf("start the cache of Karmadas: %w", err)
	}
	if err := w.controller.Watch(source.Kind(karmadas, &operatorv1alpha1.Karmada{}, handler.TypedEnqueueRequestsFromMapFunc(instanceOf))); err != nil {
		return fmt.Errorf("watch Karmadas: %w", err)
	}
	w.cache = karmadas
	return nil
}

// instanceOf is the Instance that a Karmada was made for.
func instanceOf(_ context.Context, karmada *operatorv1alpha1.Karmada) []reconcile.Request {
	if v1alpha1.InstanceOfVirtualCluster(karmada.Namespace) != karmada.Name {
		return nil
	}
	return []reconcile.Request{requestFor(karmada.Name)}
}

// find reads a Karmada from the cache, and reports whether it is there. Before the cache
// is complete, nothing is.
func (w *karmadaWatch) find(ctx context.Context, key client.ObjectKey, karmada *operatorv1alpha1.Karmada) bool {
	w.mu.Lock()
	karmadas := w.cache
	w.mu.Unlock()
	if karmadas == nil {
		return false
	}
	informer, err := karmadas.GetInformer(ctx, karmada, cache.BlockUntilSynced(false))
	return err == nil && informer.HasSynced() && karmadas.Get(ctx, key, karmada) == nil
}
