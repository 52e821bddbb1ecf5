package instancestatistics

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
)

// item is an object of any watched kind, with only the fields that are counted: a decoder that
// knows no other fields skips the rest. Kinds use different ones of its fields, and no field means
// two things.
type item struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   itemSpec   `json:"spec,omitempty"`
	Status itemStatus `json:"status,omitempty"`
}

type itemSpec struct {
	// Of a Deployment or StatefulSet.
	Replicas *int64 `json:"replicas,omitempty"`
	// Of a binding: what is propagated.
	Resource struct {
		APIVersion string `json:"apiVersion,omitempty"`
		Kind       string `json:"kind,omitempty"`
	} `json:"resource,omitempty"`
	// Of a Cluster: the UID of its kube-system.
	ID string `json:"id,omitempty"`
}

type itemStatus struct {
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Of workloads.
	ObservedGeneration     int64 `json:"observedGeneration,omitempty"`
	Replicas               int64 `json:"replicas,omitempty"`
	ReadyReplicas          int64 `json:"readyReplicas,omitempty"`
	DesiredNumberScheduled int64 `json:"desiredNumberScheduled,omitempty"`
	NumberReady            int64 `json:"numberReady,omitempty"`

	// Of a Cluster.
	NodeSummary *struct {
		TotalNum int64 `json:"totalNum,omitempty"`
		ReadyNum int64 `json:"readyNum,omitempty"`
	} `json:"nodeSummary,omitempty"`
	ResourceSummary *struct {
		Allocatable corev1.ResourceList `json:"allocatable,omitempty"`
		Allocated   corev1.ResourceList `json:"allocated,omitempty"`
	} `json:"resourceSummary,omitempty"`
}

// DeepCopyObject is for runtime.Object. Items are not changed, so no caller needs a
// deep copy of one.
func (i *item) DeepCopyObject() runtime.Object { copied := *i; return &copied }

type itemList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []item `json:"items"`
}

// DeepCopyObject is for runtime.Object.
func (l *itemList) DeepCopyObject() runtime.Object { copied := *l; return &copied }

// codecs decode every watched kind as an item.
var codecs = func() serializer.CodecFactory {
	scheme := runtime.NewScheme()
	versions := map[schema.GroupVersion]bool{}
	for _, s := range sources {
		scheme.AddKnownTypeWithName(s.version.WithKind(s.kind), &item{})
		scheme.AddKnownTypeWithName(s.version.WithKind(s.kind+"List"), &itemList{})
		if !versions[s.version] {
			versions[s.version] = true
			metav1.AddToGroupVersion(scheme, s.version)
		}
	}
	return serializer.NewCodecFactory(scheme)
}()
