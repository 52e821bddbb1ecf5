package workload

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
)

// retainReplicasLabel on a template leaves the replica count to the member
// clusters (their own autoscalers). Karmada declares it in a package that
// pulls in its whole client tree.
const retainReplicasLabel = "resourcetemplate.karmada.io/retain-replicas"

// Object is the part of a workload object that the facts need, for every kind
// at once: decoding a page of them costs a fraction of decoding the whole. It
// serves for the template in the instance and for the object in a member.
type Object struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"` //nolint:modernize // Kubernetes writes it so.

	Spec   ObjectSpec   `json:"spec,omitzero"`
	Status ObjectStatus `json:"status,omitzero"`
}

// ObjectSpec is the union of what is needed of the kinds' specs.
type ObjectSpec struct {
	// replicasOf of a Deployment or StatefulSet.
	Replicas *int32 `json:"replicas,omitempty"`
	// Paused of a Deployment.
	Paused bool `json:"paused,omitempty"`
	// Parallelism and Completions of a Job.
	Parallelism *int32 `json:"parallelism,omitempty"`
	Completions *int32 `json:"completions,omitempty"`
	// Suspend of a Job or CronJob.
	Suspend bool `json:"suspend,omitempty"`
	// Schedule of a CronJob.
	Schedule string `json:"schedule,omitempty"`

	Template    podTemplate `json:"template,omitzero"`
	JobTemplate struct {
		Spec struct {
			Parallelism *int32      `json:"parallelism,omitempty"`
			Template    podTemplate `json:"template,omitzero"`
		} `json:"spec,omitzero"`
	} `json:"jobTemplate,omitzero"`
}

type podTemplate struct {
	Spec struct {
		InitContainers []Container `json:"initContainers,omitempty"`
		Containers     []Container `json:"containers,omitempty"`
	} `json:"spec,omitzero"`
}

// ObjectStatus is the union of what is needed of the kinds' statuses. It also
// reads the status that Karmada aggregates per cluster into a binding.
type ObjectStatus struct {
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Deployment and StatefulSet.
	Replicas          int32 `json:"replicas,omitempty"`
	ReadyReplicas     int32 `json:"readyReplicas,omitempty"`
	AvailableReplicas int32 `json:"availableReplicas,omitempty"`
	UpdatedReplicas   int32 `json:"updatedReplicas,omitempty"`

	// DaemonSet.
	DesiredNumberScheduled int32 `json:"desiredNumberScheduled,omitempty"`
	NumberReady            int32 `json:"numberReady,omitempty"`
	NumberAvailable        int32 `json:"numberAvailable,omitempty"`
	UpdatedNumberScheduled int32 `json:"updatedNumberScheduled,omitempty"`

	// Job and CronJob. Active counts pods of a Job and running Jobs of a CronJob.
	Active    countOrList `json:"active,omitempty"`
	Succeeded int32       `json:"succeeded,omitempty"`
	Failed    int32       `json:"failed,omitempty"`

	// CronJob.
	LastScheduleTime   *metav1.Time `json:"lastScheduleTime,omitempty"`
	LastSuccessfulTime *metav1.Time `json:"lastSuccessfulTime,omitempty"`

	Conditions []ObjectCondition `json:"conditions,omitempty"`
}

// ObjectCondition is a condition of a workload object.
type ObjectCondition struct {
	Type               string                 `json:"type"`
	Status             metav1.ConditionStatus `json:"status"`
	Reason             string                 `json:"reason,omitempty"`
	Message            string                 `json:"message,omitempty"`
	LastTransitionTime metav1.Time            `json:"lastTransitionTime,omitempty"` //nolint:modernize // See above.
}

// countOrList reads a number (Job) or the length of a list (CronJob).
type countOrList int32

// UnmarshalJSON implements json.Unmarshaler.
func (c *countOrList) UnmarshalJSON(raw []byte) error {
	if bytes.HasPrefix(raw, []byte("[")) {
		var list []json.RawMessage
		if err := json.Unmarshal(raw, &list); err != nil {
			return err
		}
		*c = countOrList(len(list)) //nolint:gosec // Jobs are listed one by one; there are never two billion.
		return nil
	}
	n, err := strconv.ParseInt(string(raw), 10, 32)
	if err != nil {
		if string(raw) == "null" {
			return nil
		}
		return fmt.Errorf("neither a count nor a list: %s", raw)
	}
	*c = countOrList(n)
	return nil
}

// parseObject reads a workload object from its JSON.
func parseObject(raw []byte) (*Object, error) {
	o := &Object{}
	if err := json.Unmarshal(raw, o); err != nil {
		return nil, fmt.Errorf("reading a workload object: %w", err)
	}
	return o, nil
}

// WorkloadKind returns the kind from the object's own apiVersion and kind; false when it is no
// workload, or when they are missing (items of a typed list).
func (o *Object) WorkloadKind() (Kind, bool) {
	return KindFromGVK(schema.FromAPIVersionAndKind(o.APIVersion, o.Kind))
}

// Deleting reports whether the object's deletion was asked for.
func (o *Object) Deleting() bool { return o.DeletionTimestamp != nil }

// BelongsTo reports whether a member's object is the one that Karmada made for the
// binding with an ID, which is empty for a binding without one. An object that another
// client made there under the same name does not belong, until Karmada takes it over.
func (o *Object) BelongsTo(bindingID string) bool { return belongsTo(&o.ObjectMeta, bindingID) }

func belongsTo(o *metav1.ObjectMeta, bindingID string) bool {
	return bindingID == "" || o.Labels[workv1alpha2.ResourceBindingPermanentIDLabel] == bindingID
}

// condition finds a condition by type; nil when it is not there.
func (s *ObjectStatus) condition(conditionType string) *ObjectCondition {
	for i := range s.Conditions {
		if s.Conditions[i].Type == conditionType {
			return &s.Conditions[i]
		}
	}
	return nil
}

// isTrue reports whether the object has the condition with status True.
func (s *ObjectStatus) isTrue(conditionType string) bool {
	c := s.condition(conditionType)
	return c != nil && c.Status == metav1.ConditionTrue
}

// templateGeneration is the generation of the template that a member's object
// was derived from, as Karmada annotates it; 0 when it does not say.
func (o *Object) templateGeneration() int64 {
	n, err := strconv.ParseInt(o.Annotations[workv1alpha2.ResourceTemplateGenerationAnnotationKey], 10, 64)
	if err != nil {
		return 0
	}
	return n
}
