package main

import (
	"context"
	"encoding/json"
	"fmt"

	"connectrpc.com/connect"

	"github.com/kairship-io/kairship/api/v1/kairshipv1"
	"github.com/kairship-io/kairship/pkg/client"
)

// watch prints what there is, and then each object again that has changed.
func (o *options) watch(ctx context.Context, out *output, q query) error {
	shown := map[string]string{}
	show := func() error {
		objects, err := o.complete(ctx, q)
		if err != nil {
			return err
		}
		changed := changedSince(shown, objects)
		if len(changed) == 0 {
			return nil
		}
		err = out.print(o.Out, q.noun, changed)
		out.noHeaders = true
		return err
	}
	if err := show(); err != nil {
		return err
	}
	api, err := o.api()
	if err != nil {
		return err
	}
	var instances []string
	if q.instance != "" {
		instances = []string{q.instance}
	}
	err = follow(ctx, api, q.noun.name, instances, show)
	if ctx.Err() != nil {
		return nil //nolint:nilerr // The user has ended it.
	}
	return err
}

// changedSince are the objects that were not shown as they are now.
func changedSince(shown map[string]string, objects []object) (changed []object) {
	for _, of := range objects {
		delete(of, "freshness")
		key := fmt.Sprint(of["instance"], of["instanceName"], of["clusterName"], of["kind"], of["namespace"], of["name"])
		text, err := json.Marshal(of)
		if err != nil || shown[key] == string(text) {
			continue
		}
		shown[key] = string(text)
		changed = append(changed, of)
	}
	return changed
}

// event is an answer of a stream of changes.
type event interface {
	comparable
	GetType() kairshipv1.ChangeType_Value
	GetCursor() string
}

// follow calls changed after each change of objects of a noun.
func follow(ctx context.Context, api client.API, noun string, instances []string, changed func() error) error {
	switch noun {
	case "workloads":
		return client.Follow(ctx, func(ctx context.Context, after string) (*connect.ServerStreamForClient[kairshipv1.WatchWorkloadsResponse], error) {
			return api.WatchWorkloads(ctx, connect.NewRequest(&kairshipv1.WatchWorkloadsRequest{Instances: instances, After: cursor(after)}))
		}, after((*kairshipv1.WatchWorkloadsResponse).GetResult, changed))
	case "clusters":
		return client.Follow(ctx, func(ctx context.Context, after string) (*connect.ServerStreamForClient[kairshipv1.WatchClustersResponse], error) {
			return api.WatchClusters(ctx, connect.NewRequest(&kairshipv1.WatchClustersRequest{After: cursor(after)}))
		}, after((*kairshipv1.WatchClustersResponse).GetResult, changed))
	case "instances":
		return client.Follow(ctx, func(ctx context.Context, after string) (*connect.ServerStreamForClient[kairshipv1.WatchInstancesResponse], error) {
			return api.WatchInstances(ctx, connect.NewRequest(&kairshipv1.WatchInstancesRequest{After: cursor(after)}))
		}, after((*kairshipv1.WatchInstancesResponse).GetResult, changed))
	case "memberclusters":
		return client.Follow(ctx, func(ctx context.Context, after string) (*connect.ServerStreamForClient[kairshipv1.WatchMemberClustersResponse], error) {
			return api.WatchMemberClusters(ctx, connect.NewRequest(&kairshipv1.WatchMemberClustersRequest{Instances: instances, After: cursor(after)}))
		}, after((*kairshipv1.WatchMemberClustersResponse).GetResult, changed))
	case "propagationpolicies", "clusterpropagationpolicies", "overridepolicies", "clusteroverridepolicies":
		return client.Follow(ctx, func(ctx context.Context, after string) (*connect.ServerStreamForClient[kairshipv1.WatchPoliciesResponse], error) {
			return api.WatchPolicies(ctx, connect.NewRequest(&kairshipv1.WatchPoliciesRequest{Instances: instances, After: cursor(after)}))
		}, after((*kairshipv1.WatchPoliciesResponse).GetResult, changed))
	}
	return fmt.Errorf("changes of %s cannot be followed: leave --watch out", noun)
}

// after calls changed for each event that is one after the first state.
func after[A any, E event](result func(*A) E, changed func() error) func(*A) (string, error) {
	synced := false
	var none E
	return func(answer *A) (string, error) {
		of := result(answer)
		if of == none {
			return "", nil
		}
		if of.GetType() == kairshipv1.ChangeType_SYNCED {
			synced = true
			return of.GetCursor(), nil
		}
		if !synced {
			return of.GetCursor(), nil
		}
		return of.GetCursor(), changed()
	}
}

// cursor is where to go on; nil for the beginning.
func cursor(after string) *string {
	if after == "" {
		return nil
	}
	return &after
}
