package workload

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"

	"github.com/kairship-io/kairship/pkg/projection"
)

// A custom workload is a namespaced custom resource that has a ResourceBinding. Its Kind is the
// name of its Kubernetes kind and its group, for example `Rollout.argoproj.io`. Nothing is known of
// its spec and its status, so its state is what Karmada's resource interpreter makes of it: the
// replicas of the binding, and the health of each cluster.

// KindCustom stands for all custom kinds where the API names kinds. No workload has it as its own.
const KindCustom Kind = "CUSTOM"

// CustomGroup reports whether the kinds of a group are kinds of custom workloads: those of Kubernetes
// and of the components of a fleet are not.
func CustomGroup(group string) bool {
	return strings.Contains(group, ".") && !slices.ContainsFunc(projection.ReservedDomains, func(domain string) bool {
		return group == domain || strings.HasSuffix(group, "."+domain)
	})
}

// CustomKind returns the kind of custom workloads that a Kubernetes kind is; false for one that is
// built into Kubernetes, or that belongs to a component of a fleet.
func CustomKind(gk schema.GroupKind) (Kind, bool) {
	if !CustomGroup(gk.Group) || len(validation.IsDNS1123Subdomain(gk.Group)) > 0 || len(validation.IsDNS1035Label(strings.ToLower(gk.Kind))) > 0 {
		return "", false
	}
	return Kind(gk.String()), true
}

// ParseCustomKind reads the name of a kind of custom workloads.
func ParseCustomKind(name string) (Kind, bool) { return CustomKind(schema.ParseGroupKind(name)) }

// Custom reports whether k is a kind of custom workloads.
func (k Kind) Custom() bool { return strings.Contains(string(k), ".") }

// Shown is the kind as the API names it.
func (k Kind) Shown() Kind {
	if k.Custom() {
		return KindCustom
	}
	return k
}

// BoundTemplate returns so much of a template as its binding tells, for a kind that is not collected:
// what Karmada copies of it, and the time of the binding as that of the template.
func BoundTemplate(b *workv1alpha2.ResourceBinding) *Object {
	r := &b.Spec.Resource
	o := &Object{TypeMeta: metav1.TypeMeta{APIVersion: r.APIVersion, Kind: r.Kind}}
	o.Namespace, o.Name, o.UID, o.ResourceVersion, o.CreationTimestamp = r.Namespace, r.Name, r.UID, r.ResourceVersion, b.CreationTimestamp
	keep := func(all map[string]string, keys ...string) map[string]string {
		var kept map[string]string
		for _, key := range keys {
			if v, ok := all[key]; ok {
				if kept == nil {
					kept = map[string]string{}
				}
				kept[key] = v
			}
		}
		return kept
	}
	o.Labels = keep(b.Labels, policyv1alpha1.PropagationPolicyPermanentIDLabel, policyv1alpha1.ClusterPropagationPolicyPermanentIDLabel)
	o.Annotations = keep(b.Annotations, policyv1alpha1.PropagationPolicyNamespaceAnnotation, policyv1alpha1.PropagationPolicyNameAnnotation, policyv1alpha1.ClusterPropagationPolicyAnnotation)
	return o
}

// BoundKind returns the kind of the custom workload that a binding was made for; false when it was
// made for anything else, or not by Karmada.
func BoundKind(b *workv1alpha2.ResourceBinding) (Kind, bool) {
	r := &b.Spec.Resource
	kind, ok := CustomKind(schema.FromAPIVersionAndKind(r.APIVersion, r.Kind).GroupKind())
	return kind, ok && r.Namespace == b.Namespace && b.Name == kind.BindingName(r.Name)
}

// customObject reads a custom resource as far as its fields are what they are in a Deployment. Any
// other type of a field is the kind's own affair.
type customObject struct{ object *Object }

// UnmarshalJSON implements json.Unmarshaler.
func (c *customObject) UnmarshalJSON(raw []byte) error {
	var known struct {
		metav1.TypeMeta `json:",inline"`
		Meta            metav1.ObjectMeta `json:"metadata"`
		Spec            json.RawMessage   `json:"spec"`
	}
	if err := json.Unmarshal(raw, &known); err != nil {
		return fmt.Errorf("reading a custom resource: %w", err)
	}
	c.object = &Object{TypeMeta: known.TypeMeta, ObjectMeta: known.Meta}
	var spec map[string]json.RawMessage
	var replicas *int32
	var template podTemplate
	if reads(known.Spec, &spec) && reads(spec["replicas"], &replicas) {
		c.object.Spec.Replicas = replicas
	}
	if reads(spec["template"], &template) {
		c.object.Spec.Template = template
	}
	return nil
}

// reads decodes a value, and reports whether it has the type that is wanted.
func reads(raw json.RawMessage, into any) bool { return json.Unmarshal(raw, into) == nil }

// ParseCustom reads a custom resource from its JSON.
func ParseCustom(raw []byte) (*Object, error) {
	var c customObject
	if err := c.UnmarshalJSON(raw); err != nil {
		return nil, err
	}
	return c.object, nil
}

// customCounts are the replicas that the status of a custom resource reports under the names that
// Deployments use; nil where it does not.
type customCounts struct{ ready, available, updated *int32 }

// observeCustom reads what Karmada aggregated of a custom resource in a cluster; nil when it has
// nothing of it.
func observeCustom(item *workv1alpha2.AggregatedStatusItem) *observation {
	if item == nil {
		return nil
	}
	seen := &observation{karmadaHealth: item.Health, custom: &customCounts{}}
	var status map[string]json.RawMessage
	if item.Status == nil || json.Unmarshal(item.Status.Raw, &status) != nil {
		return seen
	}
	for name, into := range map[string]**int32{
		"readyReplicas": &seen.custom.ready, "availableReplicas": &seen.custom.available, "updatedReplicas": &seen.custom.updated,
	} {
		var n *int32
		if json.Unmarshal(status[name], &n) == nil {
			*into = n
		}
	}
	return seen
}

// customDesired is how many replicas of a custom workload a cluster was asked to run: those that the
// binding assigns to it, or what an override policy made of them. It is nil for a kind of which
// Karmada's interpreter knows no replicas.
func customDesired(in Facts, target workv1alpha2.TargetCluster) *int32 {
	if in.Binding.Spec.Replicas == 0 {
		return nil
	}
	if n, overridden := overriddenReplicas(in.overridesOf(target.Name)); overridden {
		return n
	}
	return new(target.Replicas)
}

// customHealth is the health of a custom workload in a cluster that has its latest manifest: the one
// that Karmada's interpreter gives it, unless fewer replicas are ready than were asked for.
func customHealth(kind Kind, p PlacementStatus, seen *observation) (Health, string) {
	switch seen.karmadaHealth {
	case workv1alpha2.ResourceUnhealthy:
		return HealthDegraded, "Karmada's resource interpreter reports it unhealthy"
	case workv1alpha2.ResourceHealthy:
	default: // workv1alpha2.ResourceUnknown, and what a later Karmada may say.
		if kind.runsNothing() {
			return HealthHealthy, "" // It is there.
		}
		return HealthUnknown, noInterpreter
	}
	if p.Desired != nil && p.Ready != nil && *p.Ready < *p.Desired {
		return HealthProgressing, fmt.Sprintf("%d of %d replicas ready", *p.Ready, *p.Desired)
	}
	return HealthHealthy, ""
}

const noInterpreter = "Karmada's resource interpreter has no health of it: customize the interpretation of its kind"

// worstCustom is the roll-up of the scheduled placements of a custom workload. A cluster whose
// interpreter has no health leaves that of the whole unknown, and fails nothing.
func worstCustom(placements []PlacementStatus) (Health, string) {
	uninterpreted, rest := false, make([]PlacementStatus, 0, len(placements))
	for i := range placements {
		if placements[i].Health == HealthUnknown && !placements[i].Stale {
			uninterpreted = true
		} else {
			rest = append(rest, placements[i])
		}
	}
	health := HealthUnknown
	if len(rest) > 0 {
		if health, _ = worst(rest); uninterpreted && health == HealthHealthy {
			health = HealthUnknown
		}
	}
	return health, placementNotes(placements)
}
