package moves

import (
	"context"
	"encoding/json"
	"sync"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/membercluster"
	"github.com/kairship-io/kairship/pkg/fleet/operation"
	"github.com/kairship-io/kairship/pkg/fleet/preview"
	"github.com/kairship-io/kairship/pkg/fleet/whatif"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/fleet/write"
	"github.com/kairship-io/kairship/pkg/fleet/write/members"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/instanceproxy"
)

const (
	// evictAtOnce is how many bindings are changed at the same time.
	evictAtOnce = 8
	// evictAttempts is how often a binding is tried that Karmada changes meanwhile.
	evictAttempts = 10
	// producer names Kairship in the eviction tasks of bindings.
	producer = "Kairship"
	// drainedFrom is the label of a binding that was evicted: the member cluster. An undo finds it by that.
	drainedFrom = "kairship.io/drained-from"
)

// DrainInput is the input of drainMemberCluster.
type DrainInput struct {
	Instance, Name string
	// Undo lets workloads be scheduled to the cluster again.
	Undo bool
	// Expect is the fingerprint of the plan; nil for none.
	Expect *string
	DryRun bool
}

// DrainPayload is a member cluster that is drained.
type DrainPayload struct {
	MemberCluster *membercluster.MemberCluster
	// Plan is what moves and what stays; nil for an undo.
	Plan *preview.Preview
	// Evicted is how many objects are leaving the cluster, Staying how many are not; after a dry run, would be.
	Evicted, Staying int
	// Returning is how many objects an undo has the scheduler decide about anew.
	Returning        int
	Operation        *string
	ConsistencyToken *string
}

// Drain taints a member cluster, so that nothing is scheduled to it any more, and has Karmada move what the
// scheduler finds another cluster for: the old copies stay until the new ones are healthy. What has nowhere to go
// stays. Sent again, it goes on with what it began.
func (s *Service) Drain(ctx context.Context, in DrainInput) (*DrainPayload, error) {
	if in.Undo {
		return s.undo(ctx, &in)
	}
	// The taint is tried first, for callers who may not set it.
	p, err := s.Members.Taint(ctx, in.Instance, in.Name, drainTaint(operation.DrainEvicting), true, true)
	if err != nil {
		return nil, err
	}
	plan, err := s.drainPlan(ctx, in.Instance, in.Name)
	if err != nil {
		return nil, err
	}
	out := &DrainPayload{MemberCluster: p.MemberCluster, Plan: plan}
	for _, i := range plan.All() {
		if movable(&i.Item) {
			out.Evicted++
		} else {
			out.Staying++
		}
	}
	if in.Expect != nil && *in.Expect != plan.Fingerprint {
		return nil, apierror.In(apierror.At(apierror.New(apierror.CodeConflict,
			"the drain would not do any more what was planned: send it with dryRun again, and repeat it with the fingerprint of that plan"), "input.expect"), in.Instance)
	}
	if in.DryRun {
		return out, nil
	}
	begun, err := s.Members.Taint(ctx, in.Instance, in.Name, drainTaint(operation.DrainEvicting), true, false)
	if err != nil {
		return nil, err
	}
	op := operation.Operation{Kind: operation.KindDrainCluster, Instance: in.Instance, Cluster: in.Name, Version: begun.MemberCluster.ResourceVersion()}
	out.Operation = s.Operations.Begin(ctx, op)
	if out.Evicted, err = s.evictAll(ctx, in.Instance, in.Name); err != nil {
		return nil, err
	}
	out.MemberCluster, out.ConsistencyToken = begun.MemberCluster, begun.ConsistencyToken
	return out, nil
}

func unplanned() error {
	return apierror.Invalid("input.expect", "an undo has no plan: leave this out")
}

func drainTaint(phase string) corev1.Taint {
	return corev1.Taint{Key: operation.DrainTaint, Value: phase, Effect: corev1.TaintEffectNoSchedule}
}

// drainPlan is what a drain moves: what Karmada would evict by a taint that it evicts by.
func (s *Service) drainPlan(ctx context.Context, instance, cluster string) (*preview.Preview, error) {
	yes := true
	p, err := s.Previews.Loss(ctx, instance, preview.LossInput{
		Clusters: []string{cluster}, Mode: whatif.NoExecuteTaint, Taints: []members.TaintInput{{Key: operation.DrainTaint, Effect: string(corev1.TaintEffectNoExecute)}},
		Assume: &preview.Assumptions{NoExecuteEviction: &yes},
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// movable reports whether a drain moves an object: Karmada finds other clusters for all of it.
func movable(i *whatif.Item) bool {
	return i.Effect == whatif.Evicted && !i.Unplaced && len(i.After) > 0
}

// evictAll has what can move leave a member cluster that has the drain taint, and records in the taint that this was
// done. It returns how many objects are leaving.
func (s *Service) evictAll(ctx context.Context, instance, cluster string) (int, error) {
	site, err := s.Writer.To(ctx, instance)
	if err != nil {
		return 0, err
	}
	plan, err := s.drainPlan(ctx, instance, cluster)
	if err != nil {
		return 0, err
	}
	var (
		g       errgroup.Group
		mu      sync.Mutex
		evicted int
	)
	g.SetLimit(evictAtOnce)
	for _, item := range plan.All() {
		if !movable(&item.Item) {
			continue
		}
		g.Go(func() error {
			done, err := evict(ctx, site, &item.Item, cluster)
			if done {
				mu.Lock()
				evicted++
				mu.Unlock()
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return evicted, err
	}
	_, err = s.Members.Taint(ctx, instance, cluster, drainTaint(operation.DrainEvicted), true, false)
	return evicted, err
}

// bindingKind is the kind of the bindings of objects with a namespace, or without one.
func bindingKind(namespaced bool) write.Kind {
	t := index.ResourceBindings
	if !namespaced {
		t = index.ClusterResourceBindings
	}
	return write.Kind{GroupVersionResource: t.GroupVersionResource(), Kind: t.Kind, Namespaced: namespaced}
}

// evict has Karmada move an object away from a cluster, as its own taint manager does: the binding loses the
// cluster, and a task keeps the copy there until the others are healthy.
func evict(ctx context.Context, site *write.Site, item *whatif.Item, cluster string) (evicted bool, err error) {
	err = changeBinding(ctx, site, item.Namespace, workload.BindingName(item.Kind, item.Name), func(b *workv1alpha2.ResourceBinding) *bindingChange {
		if b.Spec.Resource.UID != item.UID || !b.Spec.TargetContains(cluster) {
			evicted = b.Spec.ClusterInGracefulEvictionTasks(cluster)
			return nil
		}
		evicted = true
		b.Spec.GracefulEvictCluster(cluster, workv1alpha2.NewTaskOptions(
			workv1alpha2.WithPurgeMode(policyv1alpha1.PurgeModeGracefully), workv1alpha2.WithProducer(producer), workv1alpha2.WithReason(workv1alpha2.EvictionReasonTaintUntolerated)))
		return &bindingChange{
			Metadata: bindingMetadata{Labels: map[string]*string{drainedFrom: &cluster}},
			Spec:     bindingSpec{Clusters: b.Spec.Clusters, Tasks: b.Spec.GracefulEvictionTasks},
		}
	})
	return evicted, err
}

// changeBinding patches a binding, anew when Karmada changed it meanwhile. A nil change writes nothing, and so does a
// binding that there is none of.
func changeBinding(ctx context.Context, site *write.Site, namespace, name string, change func(*workv1alpha2.ResourceBinding) *bindingChange) error {
	k, paths := bindingKind(namespace != ""), write.Paths{"": "input.name!"}
	// Sent as Kairship: a person who may write a binding may send anything to any cluster.
	as := instanceproxy.AsKairship(ctx)
	for try := 1; ; try++ {
		raw, err := site.Get(as, k, namespace, name, paths)
		if apierror.Is(err, apierror.CodeNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		var b workv1alpha2.ResourceBinding // Both kinds have the same fields.
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw.Object, &b); err != nil {
			return err
		}
		c := change(&b)
		if c == nil {
			return nil
		}
		c.Metadata.ResourceVersion = b.ResourceVersion
		patch, err := json.Marshal(c)
		if err != nil {
			return err
		}
		_, err = site.Patch(as, k, namespace, name, types.MergePatchType, patch, write.Options{Paths: paths})
		if try < evictAttempts && apierror.Is(err, apierror.CodeConflict) {
			continue
		}
		return err
	}
}

// bindingChange is a patch of a binding.
type bindingChange struct {
	Metadata bindingMetadata `json:"metadata"`
	Spec     bindingSpec     `json:"spec"`
}

type bindingMetadata struct {
	ResourceVersion string `json:"resourceVersion"`
	// Labels are those to set; nil removes one.
	Labels map[string]*string `json:"labels"`
}

type bindingSpec struct {
	Clusters     []workv1alpha2.TargetCluster        `json:"clusters"`
	Tasks        []workv1alpha2.GracefulEvictionTask `json:"gracefulEvictionTasks"`
	RescheduleAt *metav1.Time                        `json:"rescheduleTriggeredAt,omitempty"`
}
