package clusterimport

import (
	"context"
	"fmt"
	"strings"
	"time"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/internal/outcome"
)

const (
	// bindingsPage is how many bindings are read at a time.
	bindingsPage = 500
	// namedWorkloads is how many workloads a condition names.
	namedWorkloads = 10
	// Between two looks at whether a member is still in use lies at least the first
	// and at most the second; in between, blockedFactor times as long as a look took.
	blockedLeast, blockedMost = 2 * time.Second, time.Minute
	blockedFactor             = 20
)

// block ends a removal while workloads are propagated to the cluster. What makes
// the cluster a member is kept true meanwhile.
func (r *Reconciler) block(ctx context.Context, s *scope) error {
	if s.karmada == nil || isReserved(s.karmada) || !s.karmada.DeletionTimestamp.IsZero() || s.membership.LeavingSince != nil {
		return nil
	}
	begun := time.Now()
	workloads, err := r.workloadsOn(ctx, s)
	if err != nil || len(workloads) == 0 {
		return err
	}
	r.maintain(ctx, s)
	retry := min(max(blockedFactor*time.Since(begun), blockedLeast), blockedMost)
	return &outcome.Stop{Retry: retry, Condition: v1alpha1.NotJoined(v1alpha1.ReasonBlocked, blocked(s.membership.Instance, workloads))}
}

// maintain keeps a member true that is to leave and cannot yet. What fails here is
// not what a person waits for, and is tried again. Only one that is known not to
// answer is left out, because asking it would last; one that nobody has looked at
// yet is asked.
func (r *Reconciler) maintain(ctx context.Context, s *scope) {
	if meta.IsStatusConditionFalse(s.cluster.Status.Conditions, v1alpha1.ConditionReachable) {
		return
	}
	err := outcome.Run(ctx, s, r.connectMember, r.identify, r.prepare, r.publishSecrets, r.publish)
	if err != nil {
		log.FromContext(ctx).V(1).Info("Cannot keep a member true that is to leave", "cause", err.Error())
	}
}

// workloadsOn names what is propagated to the member, in the order of the instance.
func (r *Reconciler) workloadsOn(ctx context.Context, s *scope) ([]string, error) {
	var found []string
	add := func(spec *workv1alpha2.ResourceBindingSpec) {
		if !spec.TargetContains(s.cluster.Name) {
			return
		}
		name := spec.Resource.Name
		if spec.Resource.Namespace != "" {
			name = spec.Resource.Namespace + "/" + name
		}
		found = append(found, spec.Resource.Kind+" "+name)
	}
	narrow := &workv1alpha2.ResourceBindingList{}
	for {
		if err := s.control.List(ctx, narrow, client.Limit(bindingsPage), client.Continue(narrow.Continue)); err != nil {
			return nil, r.failed(s.control, err, "list ResourceBindings")
		}
		for i := range narrow.Items {
			add(&narrow.Items[i].Spec)
		}
		if narrow.Continue == "" {
			break
		}
	}
	wide := &workv1alpha2.ClusterResourceBindingList{}
	for {
		if err := s.control.List(ctx, wide, client.Limit(bindingsPage), client.Continue(wide.Continue)); err != nil {
			return nil, r.failed(s.control, err, "list ClusterResourceBindings")
		}
		for i := range wide.Items {
			add(&wide.Items[i].Spec)
		}
		if wide.Continue == "" {
			return found, nil
		}
	}
}

// blocked says what holds a cluster in an instance.
func blocked(instance string, workloads []string) string {
	named := strings.Join(workloads[:min(len(workloads), namedWorkloads)], ", ")
	if more := len(workloads) - namedWorkloads; more > 0 {
		named += fmt.Sprintf(" and %d more", more)
	}
	noun := "objects are"
	if len(workloads) == 1 {
		noun = "object is"
	}
	return fmt.Sprintf("%d %s propagated to the cluster by instance %q: %s. It leaves once there are none; or set spec.join.removalPolicy to Force, and Karmada removes them from it.",
		len(workloads), noun, instance, named)
}
