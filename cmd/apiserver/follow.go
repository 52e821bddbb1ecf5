package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/kairship-io/kairship/graph/resolvers"
	"github.com/kairship-io/kairship/graph/stream"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/consistency"
	"github.com/kairship-io/kairship/pkg/fleet/operation"
	"github.com/kairship-io/kairship/pkg/fleet/subscription"
	"github.com/kairship-io/kairship/pkg/instanceproxy"
	"github.com/kairship-io/kairship/pkg/live"
	"github.com/kairship-io/kairship/pkg/quota"
)

// followLive gives the fleet its subscriptions. The watches run until the process stops, which ends
// their streams with an error.
func followLive(
	ctx context.Context, fleet *resolvers.Fleet, config *rest.Config, clients instanceproxy.Clients, tokens *consistency.Tokens,
	inventory cache.Cache, scope func(context.Context) context.Context, logger *slog.Logger,
) error {
	global, err := live.GlobalTransport(config)
	if err != nil {
		return err
	}
	hub, err := live.New(live.Options{Clients: clients, Global: global, Keys: tokens.Keys, Registerer: prometheus.DefaultRegisterer, Logger: logger})
	if err != nil {
		return fmt.Errorf("following changes: %w", err)
	}
	fleet.Live = &subscription.Service{
		Hub: hub, Access: fleet.Access, Instances: fleet.Instances, Workloads: fleet.Workloads,
		Begin: scope, End: stream.End, Consumer: stream.ConsumerOf, Now: time.Now, Logger: logger,
	}
	fleet.Operations = &operation.Service{Hub: hub, Access: fleet.Access, Tokens: tokens, End: stream.End, Now: time.Now, Logger: logger}
	instances, err := inventory.GetInformer(ctx, &v1alpha1.Instance{})
	if err != nil {
		return fmt.Errorf("watching Instances: %w", err)
	}
	if _, err := instances.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { fleet.Live.Registered.Send() },
		DeleteFunc: func(any) { fleet.Live.Registered.Send() },
	}); err != nil {
		return fmt.Errorf("watching Instances: %w", err)
	}
	return nil
}

// followLogs gives the service of logs what following them takes.
func followLogs(fleet *resolvers.Fleet, users *quota.Users, scope func(context.Context) context.Context, logger *slog.Logger) {
	logs := fleet.PodLogs
	logs.Pods, logs.Access, logs.Quotas = fleet.Pods, fleet.Access, users
	logs.Begin, logs.End, logs.Logger = scope, stream.End, logger
}
