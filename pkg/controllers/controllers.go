// Package controllers lists all controllers of kairship-controller-manager. Each
// has a folder of its own and can be read by itself; what several of them need
// is below internal.
package controllers

import (
	"context"
	"fmt"
	"time"

	pediav1alpha2 "github.com/clusterpedia-io/api/cluster/v1alpha2"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/clusterindex"
	"github.com/kairship-io/kairship/pkg/controllers/clusterstatus"
	"github.com/kairship-io/kairship/pkg/controllers/instancestatus"
	"github.com/kairship-io/kairship/pkg/controllers/internal/credentials"
	"github.com/kairship-io/kairship/pkg/controllers/internal/probe"
	"github.com/kairship-io/kairship/pkg/controllers/virtualclustersync"
)

// What the manager may do besides its controllers: hold the Lease and tell of it.
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,namespace=kairship-system,verbs=get;create;update
// +kubebuilder:rbac:groups="",resources=events,namespace=kairship-system,verbs=create;patch

// Settings are what an administrator may choose.
type Settings struct {
	// ProbeInterval is the time between two looks at the same apiserver.
	ProbeInterval time.Duration
	// ProbeTimeout bounds one look.
	ProbeTimeout time.Duration
}

// Scheme knows every type that the controllers read or write.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	utilruntime.Must(pediav1alpha2.Install(scheme))
	return scheme
}

// Cache is how the manager must cache: of Secrets no more than their names.
func Cache() cache.Options {
	return cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			credentials.Metadata(): {Transform: credentials.StripMetadata},
		},
	}
}

// setup is a controller that can be started with a manager.
type setup interface {
	SetupWithManager(mgr ctrl.Manager) error
}

// Setup adds all controllers to the manager, which must have been made with
// Scheme and Cache.
func Setup(ctx context.Context, mgr ctrl.Manager, settings Settings) error {
	if err := credentials.RegisterIndexes(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	for name, controller := range all(mgr, settings) {
		if err := controller.SetupWithManager(mgr); err != nil {
			return fmt.Errorf("set up controller %s: %w", name, err)
		}
	}
	return nil
}

// all are the controllers by name.
func all(mgr ctrl.Manager, settings Settings) map[string]setup {
	kube, live := mgr.GetClient(), mgr.GetAPIReader()
	secrets := credentials.Reader{Secrets: live}
	return map[string]setup{
		virtualclustersync.Name: &virtualclustersync.Reconciler{
			Client: kube, Live: live, Credentials: secrets,
			Recorder: mgr.GetEventRecorder(virtualclustersync.Name),
		},
		clusterindex.Name: &clusterindex.Reconciler{
			Client: kube, Live: live, Credentials: secrets,
			Recorder: mgr.GetEventRecorder(clusterindex.Name),
		},
		instancestatus.Name: &instancestatus.Reconciler{
			Client: kube, Credentials: secrets,
			Recorder: mgr.GetEventRecorder(instancestatus.Name),
			Prober:   &probe.Prober{Timeout: settings.ProbeTimeout},
			Interval: settings.ProbeInterval,
		},
		clusterstatus.Name: &clusterstatus.Reconciler{
			Client: kube, Credentials: secrets,
			Recorder: mgr.GetEventRecorder(clusterstatus.Name),
			Prober:   &probe.Prober{Timeout: settings.ProbeTimeout},
			Interval: settings.ProbeInterval,
		},
	}
}
