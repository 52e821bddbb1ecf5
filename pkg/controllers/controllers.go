// Package controllers lists all controllers of kairship-controller-manager. Each
// has a folder of its own and can be read alone; what several of them need
// is below internal.
package controllers

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/go-logr/logr"
	operatorv1alpha1 "github.com/karmada-io/karmada/operator/pkg/apis/operator/v1alpha1"
	"github.com/prometheus/client_golang/prometheus"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	pediav1alpha2 "github.com/kairship-io/kairship/pkg/apis/clusterpedia/v1alpha2"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/connection"
	"github.com/kairship-io/kairship/pkg/controllers/clusterimport"
	"github.com/kairship-io/kairship/pkg/controllers/clusterindex"
	"github.com/kairship-io/kairship/pkg/controllers/clusterstatus"
	"github.com/kairship-io/kairship/pkg/controllers/globalmanagementwebhook"
	"github.com/kairship-io/kairship/pkg/controllers/instanceaccess"
	"github.com/kairship-io/kairship/pkg/controllers/instancelifecycle"
	"github.com/kairship-io/kairship/pkg/controllers/instanceregistry"
	"github.com/kairship-io/kairship/pkg/controllers/instancerolebinding"
	"github.com/kairship-io/kairship/pkg/controllers/instancestatistics"
	"github.com/kairship-io/kairship/pkg/controllers/instancestatus"
	"github.com/kairship-io/kairship/pkg/controllers/internal/activity"
	"github.com/kairship-io/kairship/pkg/controllers/internal/connections"
	"github.com/kairship-io/kairship/pkg/controllers/internal/controlleroptions"
	"github.com/kairship-io/kairship/pkg/controllers/internal/credentials"
	"github.com/kairship-io/kairship/pkg/controllers/internal/debounce"
	"github.com/kairship-io/kairship/pkg/controllers/internal/eventnotes"
	"github.com/kairship-io/kairship/pkg/controllers/internal/probe"
	"github.com/kairship-io/kairship/pkg/controllers/internal/writecache"
	"github.com/kairship-io/kairship/pkg/controllers/virtualclustersync"
	"github.com/kairship-io/kairship/pkg/controllers/workloadmoves"
	"github.com/kairship-io/kairship/pkg/informers"
)

// What the manager may do besides its controllers: hold the Lease, and record it in
// events, as every controller does.
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,namespace=kairship-system,verbs=create
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,namespace=kairship-system,resourceNames=kairship-controller-manager,verbs=get;update
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Settings are what an administrator may choose.
type Settings struct {
	// Workers are how many objects a controller works on at the same time, by the
	// controller's name; as suits it when it is not named.
	Workers map[string]int
	// RetryFirstPause and RetryLongestPause are the pauses after the first and after
	// many failures with the same object; the defaults when they are zero.
	RetryFirstPause, RetryLongestPause time.Duration
	// CredentialsNamespaces are where the Secrets may be that Instances and Clusters
	// refer to; anywhere when there are none.
	CredentialsNamespaces []string
	// IndexNamespace is the namespace that Clusterpedia runs in, where the Secrets are
	// stored with which it collects; DefaultIndexNamespace when it is empty.
	IndexNamespace string
	// Collect are kinds that are collected of the whole fleet besides those that always are.
	Collect clusterindex.Collect
	// ProbeInterval is the time between two looks at the same apiserver.
	ProbeInterval time.Duration
	// ProbeTimeout bounds one look.
	ProbeTimeout time.Duration
	// StatisticsInterval is the least time between two writes of the figures of the
	// same instance; DefaultStatisticsInterval when it is zero.
	StatisticsInterval time.Duration
	// AccessInterval is the time between two looks at the access rules inside the
	// same instance; DefaultAccessInterval when it is zero.
	AccessInterval time.Duration
	// ImportInterval is the time between two looks at the members of the same
	// instance; DefaultImportInterval when it is zero.
	ImportInterval time.Duration
	// RevokedRetention is how long a revoked InstanceRoleBinding is kept, so that
	// an event that arrives late cannot give the role back;
	// DefaultRevokedRetention when it is zero.
	RevokedRetention time.Duration
	// Addresses are those that endpoints of Instances and Clusters may have; nil for all.
	Addresses *connection.Addresses
	// Sources are where the images and CRDs of Managed instances may come from.
	Sources instancelifecycle.Sources
	// Metrics is where what the controllers count is registered.
	Metrics prometheus.Registerer
	// Activity is where the controllers record what they change; nil for nowhere.
	Activity ActivityDatabase
	// Webhook says where global management is listened to; nowhere when its address
	// is empty.
	Webhook globalmanagementwebhook.Options
}

// ActivityDatabase keeps the activity; *projection.DB does.
type ActivityDatabase = activity.Database

// requestTimeout bounds one request about access rules.
const requestTimeout = 5 * time.Second

// lookAtOnce is how many instances may be queued for a look because their connection broke. Others
// are looked at after their usual interval.
const lookAtOnce = 4096

// importTimeout bounds one request about joining a cluster: Karmada's admission
// takes part in some of them.
const importTimeout = 10 * time.Second

// patience is how long an Instance that is being deleted is kept when the access
// rules inside cannot be removed.
const patience = 30 * time.Second

// importPatience is how long a Cluster that is being deleted is kept when what was
// made for it cannot be removed. Karmada itself takes most of a minute to notice
// that it does not reach a member.
const importPatience = 90 * time.Second

// uninstallPatience is how long the operator may take to uninstall a Karmada before
// that counts as stuck: it finishes what it is at first, which may be to wait
// minutes for a component that never becomes ready.
const uninstallPatience = 10 * time.Minute

// The defaults of Settings.
const (
	DefaultStatisticsInterval = 10 * time.Second
	DefaultAccessInterval     = 30 * time.Second
	DefaultImportInterval     = 30 * time.Second
	DefaultRevokedRetention   = 7 * 24 * time.Hour
	DefaultIndexNamespace     = "clusterpedia-system"
	DefaultRetryFirstPause    = controlleroptions.DefaultFirstPause
	DefaultRetryLongestPause  = controlleroptions.DefaultLongestPause
)

// Discovery is the second queue of clusterimport: every other controller has one, of
// its own name.
const Discovery = clusterimport.Name + "-discovery"

// Names are those of the controllers' queues, in the order of the alphabet. That of
// the webhook is not among them: it has none.
func Names() []string {
	return []string{
		clusterimport.Name, Discovery, clusterindex.Name, clusterstatus.Name,
		instanceaccess.Name, instancelifecycle.Name, instanceregistry.Name, instancerolebinding.Name,
		instancestatistics.Name, instancestatus.Name, virtualclustersync.Name, workloadmoves.Name,
	}
}

// Scheme knows every type that the controllers read or write.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	utilruntime.Must(pediav1alpha2.AddToScheme(scheme))
	utilruntime.Must(operatorv1alpha1.AddToScheme(scheme))
	return scheme
}

// Cache is how the manager must cache: of Secrets no more than their names, of
// the global cluster's RBAC no more than what is marked as Kairship's, and all of
// it anew as soon as the global cluster is back after an outage. Secrets are followed
// in the namespaces that credentials may be in; in all of them when there are none.
func Cache(logger logr.Logger, credentialsNamespaces ...string) cache.Options {
	secrets := cache.ByObject{Transform: credentials.StripMetadata}
	for _, namespace := range credentialsNamespaces {
		if secrets.Namespaces == nil {
			secrets.Namespaces = map[string]cache.Config{}
		}
		secrets.Namespaces[namespace] = cache.Config{}
	}
	watches := &informers.Persistent{Logger: slog.New(logr.ToSlogHandler(logger))}
	ours := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{v1alpha1.ManagedByLabel: v1alpha1.ManagedByValue})}
	return cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		NewInformer:      watches.New,
		ByObject: map[client.Object]cache.ByObject{
			credentials.Metadata():       secrets,
			&rbacv1.ClusterRole{}:        ours,
			&rbacv1.ClusterRoleBinding{}: ours,
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
	if err := instanceaccess.RegisterIndexes(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	counted := &conditions{objects: mgr.GetCache()}
	if err := settings.Metrics.Register(counted); err != nil {
		return err
	}
	if err := mgr.Add(counted); err != nil {
		return err
	}
	mgr = controlleroptions.Limit(eventnotes.Truncate(mgr), controlleroptions.Limits{
		Workers: settings.Workers, FirstPause: settings.RetryFirstPause, LongestPause: settings.RetryLongestPause,
	})
	var changes *activity.Queue
	if settings.Activity != nil {
		changes = activity.NewQueue(settings.Activity, mgr.GetLogger().WithName("activity"), settings.Metrics)
		if err := mgr.Add(changes); err != nil {
			return err
		}
	}
	for name, controller := range all(mgr, settings, changes) {
		if err := controller.SetupWithManager(mgr); err != nil {
			return fmt.Errorf("set up controller %s: %w", name, err)
		}
	}
	return nil
}

// all are the controllers by name.
func all(mgr ctrl.Manager, settings Settings, changes *activity.Queue) map[string]setup {
	kube, live := writecache.New(mgr.GetClient(), v1alpha1.GroupVersion.Group, writecache.InformerVersion(mgr.GetCache())), mgr.GetAPIReader()
	if settings.StatisticsInterval == 0 {
		settings.StatisticsInterval = DefaultStatisticsInterval
	}
	if settings.AccessInterval == 0 {
		settings.AccessInterval = DefaultAccessInterval
	}
	if settings.ImportInterval == 0 {
		settings.ImportInterval = DefaultImportInterval
	}
	if settings.IndexNamespace == "" {
		settings.IndexNamespace = DefaultIndexNamespace
	}
	if settings.RevokedRetention == 0 {
		settings.RevokedRetention = DefaultRevokedRetention
	}
	untried := credentials.Reader{Secrets: live, Memory: &credentials.Memory{Names: kube}, Namespaces: settings.CredentialsNamespaces}
	secrets := untried
	secrets.ProvenOnly = true
	connected := &connections.Pool{Addresses: settings.Addresses}
	lost := make(chan event.GenericEvent, lookAtOnce)
	controllers := map[string]setup{
		virtualclustersync.Name: &virtualclustersync.Reconciler{
			Client: kube, Live: live, Credentials: secrets,
			Recorder: mgr.GetEventRecorder(virtualclustersync.Name),
		},
		clusterindex.Name: &clusterindex.Reconciler{
			Client: kube, Live: live, Credentials: secrets,
			Namespace: settings.IndexNamespace,
			Collect:   settings.Collect,
			Recorder:  mgr.GetEventRecorder(clusterindex.Name),
		},
		instancestatus.Name: &instancestatus.Reconciler{
			// It finds out where credentials lead, so it has to use those that are not proven.
			Client: kube, Live: live, Credentials: untried,
			Recorder:  mgr.GetEventRecorder(instancestatus.Name),
			Metrics:   instancestatus.NewMetrics(settings.Metrics),
			Prober:    &probe.Prober{Timeout: settings.ProbeTimeout, Connections: connected},
			Debouncer: &debounce.Debouncer{Limits: debounce.Default},
			Interval:  settings.ProbeInterval,
			Look:      lost,
		},
		clusterstatus.Name: &clusterstatus.Reconciler{
			Client: kube, Credentials: secrets,
			Recorder:  mgr.GetEventRecorder(clusterstatus.Name),
			Prober:    &probe.Prober{Timeout: settings.ProbeTimeout, Connections: connected},
			Debouncer: &debounce.Debouncer{Limits: debounce.Default},
			Interval:  settings.ProbeInterval,
		},
		clusterimport.Name: &clusterimport.Reconciler{
			Client: kube, Live: live, Credentials: secrets,
			Connections: connected,
			Recorder:    mgr.GetEventRecorder(clusterimport.Name),
			Activity:    changes.Recorder(clusterimport.Name),
			Metrics:     clusterimport.NewMetrics(settings.Metrics),
			Interval:    settings.ImportInterval,
			Timeout:     importTimeout,
			Patience:    importPatience,
		},
		instancestatistics.Name: &instancestatistics.Reconciler{
			Client: kube, Credentials: secrets, Connections: connected,
			Metrics:  instancestatistics.NewMetrics(settings.Metrics),
			Interval: settings.StatisticsInterval,
			Lost:     lost,
		},
		instancelifecycle.Name: &instancelifecycle.Reconciler{
			Client: kube, Live: live, Credentials: secrets,
			Connections: connected,
			Recorder:    mgr.GetEventRecorder(instancelifecycle.Name),
			Activity:    changes.Recorder(instancelifecycle.Name),
			Metrics:     instancelifecycle.NewMetrics(settings.Metrics),
			Timeout:     requestTimeout,
			Patience:    uninstallPatience,
			Sources:     settings.Sources,
			Now:         time.Now,
		},
		instanceregistry.Name: &instanceregistry.Reconciler{
			Client: kube, Live: live,
			Recorder: mgr.GetEventRecorder(instanceregistry.Name),
			Patience: instanceregistry.Patience,
		},
		instancerolebinding.Name: &instancerolebinding.Reconciler{
			Client: kube, Live: live,
			Recorder:  mgr.GetEventRecorder(instancerolebinding.Name),
			Activity:  changes.Recorder(instancerolebinding.Name),
			Retention: settings.RevokedRetention,
		},
		instanceaccess.Name: &instanceaccess.Reconciler{
			Client: kube, Live: live, Credentials: secrets,
			Connections: connected,
			Recorder:    mgr.GetEventRecorder(instanceaccess.Name),
			Activity:    changes.Recorder(instanceaccess.Name),
			Interval:    settings.AccessInterval,
			Timeout:     requestTimeout,
			Patience:    patience,
		},
		workloadmoves.Name: &workloadmoves.Reconciler{
			Client: kube, Credentials: secrets, Connections: connected,
			Timeout:  importTimeout,
			Now:      time.Now,
			Activity: changes.Recorder(workloadmoves.Name),
		},
	}
	if settings.Webhook.Address != "" {
		controllers[globalmanagementwebhook.Name] = &globalmanagementwebhook.Webhook{Options: settings.Webhook, Metrics: settings.Metrics}
	}
	return controllers
}
