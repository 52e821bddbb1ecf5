package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers"
	"github.com/kairship-io/kairship/pkg/fleet/access"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/projection"
	"github.com/kairship-io/kairship/pkg/projection/projector"
)

// projectionPause is the pause after a failure to keep the projection.
const projectionPause = 5 * time.Second

// keepProjection has the leader keep the projection in the database that a file names;
// nothing is kept without one.
func keepProjection(mgr manager.Manager, file string, retention time.Duration) error {
	if file == "" {
		return nil
	}
	keeper := &projectionKeeper{file: file, retention: retention, inventory: mgr.GetCache(), log: ctrl.Log.WithName("projection"), metrics: projector.NewMetrics()}
	for _, collector := range keeper.metrics.Collectors() {
		if err := metrics.Registry.Register(collector); err != nil {
			return err
		}
	}
	return mgr.Add(manager.RunnableFunc(keeper.run))
}

// openActivity opens the database whose DSN a file has, for what controllers add to the activity; nil without a file. It does not
// connect yet.
func openActivity(file string) (controllers.ActivityDatabase, error) {
	if file == "" {
		return nil, nil //nolint:nilnil // There is no activity.
	}
	db, err := projection.OpenRecorder(func() (string, error) {
		text, err := os.ReadFile(file) //nolint:gosec // The operator names it.
		return string(text), err
	})
	if err != nil {
		return nil, fmt.Errorf("--index-database-file: %w", err)
	}
	return db, nil
}

// projectionKeeper keeps the projection while this replica leads.
type projectionKeeper struct {
	file      string
	retention time.Duration
	inventory client.Reader
	log       logr.Logger
	metrics   *projector.Metrics
}

// run keeps the projection until the context ends, whatever fails.
func (k *projectionKeeper) run(ctx context.Context) error {
	for {
		err := k.keep(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // The manager ends.
		}
		k.metrics.Failed()
		k.log.Error(err, "The projection is not kept, retrying", "pause", projectionPause.String())
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(projectionPause):
		}
	}
}

// keep keeps the projection until something fails. It reads the DSN each time, because
// the password in it may have been replaced.
func (k *projectionKeeper) keep(ctx context.Context) error {
	dsn, err := os.ReadFile(k.file)
	if err != nil {
		return fmt.Errorf("--index-database-file: %w", err)
	}
	db, err := projection.Open(string(dsn))
	if err != nil {
		return fmt.Errorf("--index-database-file: %w", err)
	}
	defer func() { _ = db.Close() }()
	p := &projector.Projector{DB: db, Log: k.log, Metrics: k.metrics, Collections: k.collections, CheckInterval: projector.DefaultCheckInterval, Instances: k.instances, HistoryRetention: k.retention}
	return p.Run(ctx)
}

// collections are the physical clusters of the inventory, each with the instance that its
// objects may be shown in.
func (k *projectionKeeper) collections(ctx context.Context) ([]projection.Collection, error) {
	var clusters v1alpha1.ClusterList
	if err := k.inventory.List(ctx, &clusters, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the clusters of the inventory: %w", err)
	}
	owners, now := access.NewInventory(k.inventory), time.Now()
	var all []projection.Collection
	for i := range clusters.Items {
		c := &clusters.Items[i]
		if c.Spec.Type != v1alpha1.ClusterTypePhysical {
			continue
		}
		all = append(all, projection.Collection{
			Cluster: c.Name, Instance: owners.InstanceOf(ctx, c.Name), Stale: freshness.CollectionFails(ctx, k.inventory, c.Name, now),
		})
	}
	return all, nil
}

// instances are those of the inventory, for their history.
func (k *projectionKeeper) instances(ctx context.Context) ([]projector.Instance, error) {
	var list v1alpha1.InstanceList
	if err := k.inventory.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the instances: %w", err)
	}
	all := make([]projector.Instance, len(list.Items))
	for i := range list.Items {
		all[i].Instance = &list.Items[i]
		if days := list.Items[i].Spec.HistoryRetentionDays; days != nil {
			all[i].Retention = time.Duration(*days) * 24 * time.Hour
		}
	}
	return all, nil
}
