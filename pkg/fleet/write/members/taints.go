package members

import (
	"context"
	"fmt"
	"slices"
	"strings"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kairship-io/kairship/pkg/apierror"
)

// TaintInput is a taint to set.
type TaintInput struct {
	Key, Value, Effect string
}

// karmadas begins the keys of the taints that Karmada itself sets and reads.
const karmadas = clusterv1alpha1.GroupName + "/"

// unschedulable is the taint that `karmadactl cordon` sets.
var unschedulable = corev1.Taint{Key: clusterv1alpha1.TaintClusterUnscheduler, Effect: corev1.TaintEffectNoSchedule}

// replaced returns the new taints of a cluster. It keeps Karmada's own: a user who sends back
// outdated taints must not make a cluster schedulable that is not ready. The given taints come
// first, so that their positions are those of the input.
func replaced(now []corev1.Taint, given []TaintInput) ([]corev1.Taint, error) {
	out := make([]corev1.Taint, 0, len(given)+1)
	for i, g := range given {
		t := corev1.Taint{Key: g.Key, Value: g.Value, Effect: corev1.TaintEffect(g.Effect)}
		had := slices.IndexFunc(now, func(n corev1.Taint) bool { return n.MatchTaint(&t) && n.Value == t.Value })
		switch {
		case had >= 0:
			t = now[had]
		case strings.HasPrefix(t.Key, karmadas):
			return nil, apierror.Invalid(fmt.Sprintf("input.taints[%d].key", i),
				"%q is a taint of Karmada's own: cordonMemberCluster keeps workloads away, and the others say what Karmada found", t.Key)
		}
		out = append(out, t)
	}
	for _, n := range now {
		if strings.HasPrefix(n.Key, karmadas) && !slices.ContainsFunc(out, func(o corev1.Taint) bool { return o.MatchTaint(&n) }) {
			out = append(out, n)
		}
	}
	return out, nil
}

// cordoned returns the taints of a cluster with or without the one that cordons it.
func cordoned(now []corev1.Taint, want bool) []corev1.Taint {
	isIt := func(t corev1.Taint) bool { return t.MatchTaint(&unschedulable) }
	switch has := slices.ContainsFunc(now, isIt); {
	case want && !has:
		return append(slices.Clone(now), unschedulable)
	case !want && has:
		return slices.DeleteFunc(slices.Clone(now), isIt)
	}
	return now
}

// Taint gives a member cluster a taint of Kairship's own, or takes it away, for callers who may update objects in the
// instance. A taint of the same key and effect is replaced.
func (s *Service) Taint(ctx context.Context, instance, name string, taint corev1.Taint, want, dryRun bool) (*Payload, error) {
	return s.change(ctx, instance, name, nil, dryRun, func(u *unstructured.Unstructured) error {
		now, err := taintsOf(u)
		if err != nil {
			return err
		}
		return setTaints(u, tainted(now, taint, want))
	})
}

// tainted returns taints with or without one. One that is there with the same value stays as it is.
func tainted(now []corev1.Taint, taint corev1.Taint, want bool) []corev1.Taint {
	at := slices.IndexFunc(now, func(t corev1.Taint) bool { return t.MatchTaint(&taint) })
	switch {
	case at >= 0 && want && now[at].Value == taint.Value:
		return now
	case at >= 0:
		now = slices.Delete(slices.Clone(now), at, at+1)
	}
	if want {
		return append(slices.Clone(now), taint)
	}
	return now
}
