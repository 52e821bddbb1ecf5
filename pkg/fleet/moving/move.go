package moving

import (
	"encoding/json"
	"slices"
	"strings"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/pkg/fleet/workload"
)

// The annotations of a policy whose workload moves: the clusters that it leaves and enters, and those that the
// policy named before, with commas between them. They are there while the policy names the old and the new ones.
const (
	FromAnnotation   = "kairship.io/move-from"
	ToAnnotation     = "kairship.io/move-to"
	BeforeAnnotation = "kairship.io/move-before"
)

// Label is the label of a policy whose workload moves: the controller that finishes moves selects policies by it.
const Label = "kairship.io/moving"

// Move is a move that is under way, as the policy records it.
type Move struct {
	// From and To are the clusters that the workload leaves and enters, Before those that the policy named.
	From, To, Before []string
}

// Of returns the move that a policy records; nil for none.
func Of(p *policyv1alpha1.PropagationPolicy) *Move {
	from, to, before := p.Annotations[FromAnnotation], p.Annotations[ToAnnotation], p.Annotations[BeforeAnnotation]
	if from == "" || to == "" || before == "" {
		return nil
	}
	return &Move{strings.Split(from, ","), strings.Split(to, ","), strings.Split(before, ",")}
}

// Is reports whether it is the move between these clusters.
func (m *Move) Is(from, to []string) bool {
	return m != nil && slices.Equal(m.From, from) && slices.Equal(m.To, to)
}

// Patch returns the merge patch that changes the clusters that a policy names, and records a move; nil ends the one that is
// recorded. It is a conflict when another client has changed the policy since it was read.
func Patch(p *policyv1alpha1.PropagationPolicy, clusters []string, m *Move) ([]byte, error) {
	labels, annotations := map[string]any{Label: nil}, map[string]any{FromAnnotation: nil, ToAnnotation: nil, BeforeAnnotation: nil}
	if m != nil {
		labels[Label] = "true"
		annotations[FromAnnotation], annotations[ToAnnotation], annotations[BeforeAnnotation] = strings.Join(m.From, ","), strings.Join(m.To, ","), strings.Join(m.Before, ",")
	}
	return json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": p.ResourceVersion, "labels": labels, "annotations": annotations},
		"spec":     map[string]any{"placement": map[string]any{"clusterAffinity": map[string]any{"clusterNames": clusters}}},
	})
}

// Phase is how far the policy of a workload that moves has come.
type Phase int

const (
	// Withdrawn means that the policy says something else.
	Withdrawn Phase = iota
	// Both means that it names the clusters that are left and those that are entered.
	Both
	// Done means that it names only those that are entered.
	Done
)

// PhaseOf returns how far a policy has come with the move between some clusters.
func PhaseOf(p *policyv1alpha1.PropagationPolicy, from, to []string) Phase {
	names := namesOf(p)
	for _, enters := range to {
		if !slices.Contains(names, enters) {
			return Withdrawn
		}
	}
	leaves := slices.ContainsFunc(from, func(name string) bool { return slices.Contains(names, name) })
	switch {
	case leaves && Of(p).Is(from, to):
		return Both
	case leaves:
		return Withdrawn
	}
	return Done
}

// After returns the clusters that a policy names after the second step of its move: those of now without those that are
// left. It is false while the step is not due: before the workload is ready in all clusters that it enters, and where
// the policy does not name these.
func After(p *policyv1alpha1.PropagationPolicy, s *workload.Status) (clusters []string, due bool) {
	m := Of(p)
	if m == nil || PhaseOf(p, m.From, m.To) != Both || !entered(s, m.To) {
		return nil, false
	}
	clusters = Without(namesOf(p), m.From)
	// No cluster would mean all of them.
	return clusters, len(clusters) > 0
}

// entered reports whether a workload is ready in all of some clusters.
func entered(s *workload.Status, clusters []string) bool {
	if s == nil {
		return false
	}
	for _, name := range clusters {
		if !slices.ContainsFunc(s.Placements, func(p workload.PlacementStatus) bool { return p.Cluster == name && p.Health == workload.HealthHealthy }) {
			return false
		}
	}
	return true
}

// Without returns the names that are not among others.
func Without(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
}

func namesOf(p *policyv1alpha1.PropagationPolicy) []string {
	if a := p.Spec.Placement.ClusterAffinity; a != nil {
		return a.ClusterNames
	}
	return nil
}

// Sent returns the one workload that a policy selects; false when it may select another one too, or none. A policy
// without namespace has to name that of the workload.
func Sent(p *policyv1alpha1.PropagationPolicy) (w workload.Named, ok bool) {
	for _, s := range p.Spec.ResourceSelectors {
		kind, is := workload.KindFromGVK(schema.FromAPIVersionAndKind(s.APIVersion, s.Kind))
		if !is {
			continue
		}
		one := workload.Named{Kind: kind, Namespace: s.Namespace, Name: s.Name}
		if one.Namespace == "" {
			one.Namespace = p.Namespace
		}
		if one.Namespace == "" || one.Name == "" || ok && one != w {
			return workload.Named{}, false
		}
		w, ok = one, true
	}
	return w, ok
}
