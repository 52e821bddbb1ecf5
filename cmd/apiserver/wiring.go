package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	v1 "github.com/kairship-io/kairship/api/v1"
	"github.com/kairship-io/kairship/api/v1/kairshipv1"
	"github.com/kairship-io/kairship/graph/generated"
	"github.com/kairship-io/kairship/graph/loaders"
	"github.com/kairship-io/kairship/graph/operation"
	"github.com/kairship-io/kairship/graph/operation/protofile"
	"github.com/kairship-io/kairship/graph/resolvers"
	"github.com/kairship-io/kairship/graph/server"
	"github.com/kairship-io/kairship/graph/server/answercache"
	"github.com/kairship-io/kairship/graph/server/guard"
	"github.com/kairship-io/kairship/graph/server/plan"
	"github.com/kairship-io/kairship/graph/server/readiness"
	"github.com/kairship-io/kairship/graph/sharing"
	"github.com/kairship-io/kairship/graph/stream"
	"github.com/kairship-io/kairship/pkg/apierror"
	pediav1alpha2 "github.com/kairship-io/kairship/pkg/apis/clusterpedia/v1alpha2"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/consistency"
	"github.com/kairship-io/kairship/pkg/fleet/access"
	"github.com/kairship-io/kairship/pkg/fleet/activity"
	"github.com/kairship-io/kairship/pkg/fleet/binding"
	"github.com/kairship-io/kairship/pkg/fleet/cluster"
	"github.com/kairship-io/kairship/pkg/fleet/clusternode"
	"github.com/kairship-io/kairship/pkg/fleet/event"
	"github.com/kairship-io/kairship/pkg/fleet/export"
	"github.com/kairship-io/kairship/pkg/fleet/fieldmanager"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/image"
	"github.com/kairship-io/kairship/pkg/fleet/instance"
	"github.com/kairship-io/kairship/pkg/fleet/karmadaresource"
	"github.com/kairship-io/kairship/pkg/fleet/listing"
	"github.com/kairship-io/kairship/pkg/fleet/manifestpreview"
	"github.com/kairship-io/kairship/pkg/fleet/membercluster"
	"github.com/kairship-io/kairship/pkg/fleet/namespace"
	"github.com/kairship-io/kairship/pkg/fleet/nativeapi"
	"github.com/kairship-io/kairship/pkg/fleet/pod"
	"github.com/kairship-io/kairship/pkg/fleet/podlog"
	"github.com/kairship-io/kairship/pkg/fleet/policy"
	"github.com/kairship-io/kairship/pkg/fleet/preview"
	"github.com/kairship-io/kairship/pkg/fleet/projected"
	"github.com/kairship-io/kairship/pkg/fleet/resource"
	"github.com/kairship-io/kairship/pkg/fleet/rolebinding"
	"github.com/kairship-io/kairship/pkg/fleet/search"
	"github.com/kairship-io/kairship/pkg/fleet/timeline"
	"github.com/kairship-io/kairship/pkg/fleet/uncollected"
	"github.com/kairship-io/kairship/pkg/fleet/usage"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/fleet/write/rolebindings"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/informers"
	"github.com/kairship-io/kairship/pkg/instanceproxy"
	"github.com/kairship-io/kairship/pkg/instanceproxy/passthrough"
	"github.com/kairship-io/kairship/pkg/quota"
	"github.com/kairship-io/kairship/pkg/requeststats"
)

// service is what the process serves, and how it stops.
type service struct {
	http.Handler
	graphql *server.Handler
	// flush writes what is still to be written down of requests that are over.
	flush func()
}

// build joins everything. It waits until the global cluster has been read once.
func build(ctx context.Context, o *options, config *rest.Config, accepted *clientAuthorities, logger *slog.Logger) (*service, error) {
	toIndex, config := config, counted(tracedConfig(config))
	global := freshness.NewHeartbeat(time.Now)
	watches := &informers.Persistent{Logger: logger, Lost: global.Miss}
	inventory, err := watchInventory(ctx, o, config, watches)
	if err != nil {
		return nil, err
	}
	idx, err := index.New(index.Config{REST: toIndex, Timeout: o.indexTimeout, QPS: o.indexQPS, Burst: o.indexBurst, Registerer: prometheus.DefaultRegisterer})
	if err != nil {
		return nil, err
	}
	states, err := openProjection(o.indexDatabaseFile, o.indexDatabaseConnections)
	if err != nil {
		return nil, err
	}
	ask, err := newGlobalClients(config)
	if err != nil {
		return nil, err
	}
	kube := ask.kube
	tracker := &freshness.Tracker{
		Inventory: inventory,
		Collector: freshness.NewHeartbeat(time.Now),
		Global:    global,
		Now:       time.Now,
	}
	prometheus.DefaultRegisterer.MustRegister(tracker.Metrics())
	registerMetrics(prometheus.DefaultRegisterer)
	if err := watchHeartbeats(ctx, o, inventory, watches, ask.checks, tracker); err != nil {
		return nil, err
	}
	permissions := authz.NewResolver(authz.NewRulesReviewer(kube.AuthorizationV1().RESTClient()), kube.AuthorizationV1().SubjectAccessReviews(), time.Now, logger)
	reviewed := authz.NewAuthenticator(kube.AuthenticationV1().TokenReviews(), time.Now)
	reviewed.Authorities, reviewed.ReviewLimiter = accepted.accept, newTokenReviewLimiter(ask)
	tokens := newTokens(o, kube)
	people, err := o.signIn.newSignIn(kube, reviewed, tokens.Keys, logger)
	if err != nil {
		return nil, err
	}
	sessions := &authz.SessionChecker{Recheck: people.tokens.Recheck, Review: permissions.Review, Interval: o.streams.permissionsCheck}
	if err := flushOnRoleChanges(ctx, inventory, func() { permissions.Flush(); sessions.CheckNow() }); err != nil {
		return nil, err
	}
	clients, err := reachInstances(ctx, o.instances, inventory, kube, logger)
	if err != nil {
		return nil, err
	}
	source := &projected.Source{Index: idx, Projection: states, Timeout: o.indexTimeout, Now: time.Now}
	if states != nil {
		source.Pods, source.Sent = states, states
	}
	fleet := newFleet(inventory, tracker, idx, loaders.NewReader(source), permissions, newIndexWaiter(inventory, idx, clients), clients)
	fleet.Timelines.History, fleet.Activity.Reader = source, source
	if states != nil {
		fleet.Activity.Feed = &activity.Feed{Read: states.Activity, Interval: time.Second, End: stream.End, Logger: logger}
	}
	fleet.ClusterNodes.Requests = source
	if fleet.Kubeconfigs, err = o.kubeconfigs(ctx, fleet.Access, logger); err != nil {
		return nil, err
	}
	scope := func(ctx context.Context) context.Context {
		ctx, _ = requeststats.With(freshness.Begin(ctx, time.Now()))
		return loaders.With(timeline.With(usage.With(clusternode.With(access.With(countedAs(ctx))))), source)
	}
	users := quota.New(o.limits.userLimits(), time.Now)
	followLogs(&fleet, users, scope, logger)
	if err := followLive(ctx, &fleet, config, clients, tokens, inventory, scope, logger); err != nil {
		return nil, err
	}
	own, err := newGlobalClient(config)
	if err != nil {
		return nil, err
	}
	recorder, err := recordWrites(o.indexDatabaseFile, fleet.Instances)
	if err != nil {
		return nil, err
	}
	fleet.Write = newWrites(own, fleet, inventory, kube, clients, tokens, recorder, logger)
	connectPreviews(fleet)
	fleet.Exports = &export.Service{Writer: fleet.Write.Applications.Writer}
	fleet.Write.RoleBindings = &rolebindings.Service{Access: fleet.Access, Global: own, Watched: inventory}
	fleet.Write.Instances = newInstanceWrites(own, fleet, inventory, kube, o.instances.addresses.Limits(), o.instances.karmadaVersions)
	fleet.Write.Clusters = newClusterWrites(own, fleet, inventory, kube, o.instances.addresses.Limits())
	schema := generated.NewExecutableSchema(generated.Config{
		Resolvers:  &resolvers.Resolver{Fleet: fleet},
		Directives: generated.DirectiveRoot{Guard: guard.New(fleet.Access), Observed: resolvers.Observed},
	})
	operations, err := operation.Load(v1.Operations, schema.Schema())
	if err != nil {
		return nil, fmt.Errorf("reading the operations of the REST API: %w", err)
	}
	cfg := server.Config{
		Operations:         operations,
		OpenAPI:            v1.OpenAPI,
		RPC:                kairshipv1.File_kairship_proto.Services().ByName(protofile.Service),
		Quotas:             users,
		Schema:             schema,
		Authenticator:      people.tokens,
		SignIn:             people.handler,
		Authorizer:         permissions,
		RequestScope:       scope,
		Begin:              withTokens(tokens.Begin),
		BeginStream:        withTokens(tokens.BeginStream),
		ResponseExtensions: plan.Of,
		Shared:             answercache.Options{Fields: sharing.Shared, Permissions: permissions, Bytes: o.limits.sharedBytes},
		StreamResponses:    resolvers.StreamResponses(),
		AroundMutations:    resolvers.RecordMutations(recorder, logger),
		Streams:            o.streams.limits,
		Sessions:           sessions,
		SessionKeys:        tokens.Keys,
		Registerer:         prometheus.DefaultRegisterer,
		OperationNames:     o.observability.operationNames,
		SlowOperation:      o.observability.slow,
		OperationCost:      operationCost,
		TraceDocuments:     o.observability.traceDocuments,
		Checks: []readiness.Check{
			{Name: "global-cluster", Required: true, Run: checkGlobal(ask.checks)},
			{Name: "authn", Required: true, Run: checkAuthn(ask.checks)},
			{Name: "inventory", Run: checkInventory(watches)},
			{Name: "index", RequiredOnce: true, Run: idx.Ping},
		},
		Logger:         logger,
		InstanceExists: instanceExists(inventory),
	}
	if err := o.limit(ctx, &cfg, logger); err != nil {
		return nil, err
	}
	api, err := server.New(cfg)
	if err != nil {
		return nil, err
	}
	handler, flush, err := withPassthrough(ctx, api, passthrough.Config{
		Clients: clients, Authenticator: people.tokens, Permissions: permissions, Index: nativeapi.NewService(fleet.Resources, scope),
		Quotas: users, Timeout: o.limits.nativeTimeout, IndexTimeout: o.requestTimeout, SessionTimeout: o.limits.sessionTimeout, Logger: logger,
		History: newNativeHistory(recorder, inventory, clients, logger),
	}, people, inventory, kube)
	if err != nil {
		return nil, err
	}
	return &service{Handler: handler, graphql: api, flush: flush}, nil
}

// watchInventory caches what is read from the global cluster with every query.
func watchInventory(ctx context.Context, o *options, config *rest.Config, watches *informers.Persistent) (cache.Cache, error) {
	scheme := runtime.NewScheme()
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	utilruntime.Must(pediav1alpha2.AddToScheme(scheme))
	utilruntime.Must(coordinationv1.AddToScheme(scheme))
	inventory, err := cache.New(config, cache.Options{
		Scheme:           scheme,
		NewInformer:      watches.New,
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject:         map[client.Object]cache.ByObject{&coordinationv1.Lease{}: o.leaseOnly()},
		// Every query reads some of these objects many times, and nothing here changes
		// one: the fleet's types only show them.
		DefaultUnsafeDisableDeepCopy: new(true),
	})
	if err != nil {
		return nil, fmt.Errorf("watching the global cluster: %w", err)
	}
	go func() {
		if err := inventory.Start(ctx); err != nil {
			slog.Error("the watch on the global cluster ended", "error", err)
		}
	}()
	waitCtx, cancel := context.WithTimeout(ctx, o.waitForAPIs)
	defer cancel()
	for _, watched := range []client.Object{&v1alpha1.Instance{}, &v1alpha1.Cluster{}, &pediav1alpha2.PediaCluster{}, &v1alpha1.InstanceRoleBinding{}} {
		var last error
		err := wait.PollUntilContextCancel(waitCtx, time.Second, true, func(ctx context.Context) (bool, error) {
			_, last = inventory.GetInformer(ctx, watched)
			return last == nil, nil
		})
		if err != nil {
			kind, _ := apiutil.GVKForObject(watched, scheme) // An unknown one would have been refused above.
			return nil, fmt.Errorf("the global cluster did not serve %s within %s: %w", kind.GroupKind(), o.waitForAPIs, last)
		}
	}
	return inventory, nil
}

// newFleet makes the services of all nouns. What they read is confined to what
// the user of the request may see; only what says how fresh an answer is, and
// which members and override policies the states of workloads depend on, is read
// past that, about what may be seen.
func newFleet(inventory client.Reader, tracker *freshness.Tracker, idx *index.Client, read index.Reader, permissions *authz.Resolver, waiter *consistency.IndexWaiter, clients instanceproxy.Clients) resolvers.Fleet {
	watched := access.NewWatched(inventory, permissions)
	consistent := consistency.NewReader(read, waiter)
	lister := &listing.Lister{
		Reader:    access.NewReader(consistent, permissions, access.NewInventory(inventory)),
		Freshness: tracker,
		Now:       time.Now,
	}
	instances := instance.NewService(watched, tracker)
	clusters, members := cluster.NewService(watched, tracker), membercluster.NewService(lister)
	live := uncollected.New(uncollected.Config{Clients: clients, Permissions: permissions, Watched: inventory, Freshness: tracker, Now: time.Now})
	resources := func(lister *listing.Lister) *resource.Service {
		return resource.NewService(lister, live, resource.Members{Clusters: clusters, Watched: inventory}, instances)
	}
	anyKind := resources(lister)
	events := event.NewService(lister)
	events.Members = anyKind
	workloads := workload.NewService(lister, consistent, instances, clusters, membercluster.NewCache(idx, time.Now))
	bindings := binding.NewService(lister)
	pods := pod.NewService(lister, instances, clusters, members, inventory)
	return resolvers.Fleet{
		Access:           access.New(permissions),
		Instances:        instances,
		Clusters:         clusters,
		MemberClusters:   members,
		Namespaces:       namespace.NewService(lister),
		Workloads:        workloads,
		Pods:             pods,
		PodLogs:          &podlog.Service{Clients: clients, Workloads: workloads},
		Usage:            &usage.Service{Clients: clients, Workloads: workloads},
		FieldManagers:    &fieldmanager.Service{Clients: clients},
		Images:           image.NewService(lister, instances, pods, workloads),
		Bindings:         bindings,
		Policies:         policy.NewService(lister),
		Events:           events,
		Resources:        anyKind,
		ClusterNodes:     clusternode.NewService(anyKind),
		KarmadaResources: karmadaresource.NewService(anyKind),
		Search:           search.NewService(lister, instances, clusters, inventory),
		Previews: &preview.Service{
			Instances: instances, Resources: anyKind, Bindings: bindings,
			Evidence: resources(&listing.Lister{Reader: consistent, Freshness: tracker, Now: time.Now}),
		},
		ManifestPreviews: &manifestpreview.Service{Evidence: consistent, Resources: anyKind, Freshness: tracker},
		Timelines:        &timeline.Service{Instances: instances, Freshness: tracker, Now: time.Now},
		Activity:         &activity.Service{Access: access.New(permissions), Instances: instances, Freshness: tracker, Now: time.Now},
		RoleBindings:     &rolebinding.Service{Watched: watched, Access: access.New(permissions), Freshness: tracker},
	}
}

// instanceExists reports whether the cache has an instance of a name.
func instanceExists(inventory client.Reader) func(context.Context, string) bool {
	return func(ctx context.Context, name string) bool {
		var i v1alpha1.Instance
		// The caller may have disconnected before the line is written.
		return inventory.Get(context.WithoutCancel(ctx), client.ObjectKey{Name: name}, &i, client.UnsafeDisableDeepCopy) == nil
	}
}

func checkGlobal(kube kubernetes.Interface) func(context.Context) error {
	return func(ctx context.Context) error {
		err := kube.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
		if err != nil {
			return apierror.Wrap(err, apierror.CodeTimeout, "The global cluster does not answer")
		}
		return nil
	}
}
