package promotion

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// notedByMember are annotations about the object in the member, or about how it
// was written there.
var notedByMember = []string{
	"kubectl.kubernetes.io/last-applied-configuration",
	"pv.kubernetes.io/bind-completed", "pv.kubernetes.io/bound-by-controller",
	"volume.beta.kubernetes.io/storage-provisioner", "volume.kubernetes.io/storage-provisioner",
}

// noted is the metadata that an API server or a controller writes.
var noted = []string{
	"creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "generateName", "managedFields",
	"resourceVersion", "selfLink", "uid", "ownerReferences", "finalizers",
}

// Clean returns an object of a cluster as a template: without what only that cluster
// can say. Karmada keeps in the member what is left out here: addresses, bound
// volumes. Templates of pods that run on stay as they are: any change would
// restart them. Ports of nodes stay too: the instance would choose others, and
// send those.
func Clean(live *unstructured.Unstructured) *unstructured.Unstructured {
	u := live.DeepCopy()
	for _, field := range noted {
		unstructured.RemoveNestedField(u.Object, "metadata", field)
	}
	delete(u.Object, "status")
	annotations := u.GetAnnotations()
	for _, key := range slices.Concat(notedByMember, revisions) {
		delete(annotations, key)
	}
	u.SetAnnotations(own(annotations))
	u.SetLabels(own(u.GetLabels()))
	switch u.GroupVersionKind().GroupKind().String() {
	case "Job.batch":
		if manual, _, _ := unstructured.NestedBool(u.Object, "spec", "manualSelector"); !manual {
			unstructured.RemoveNestedField(u.Object, "spec", "selector")
			for _, key := range made {
				unstructured.RemoveNestedField(u.Object, "metadata", "labels", key)
				unstructured.RemoveNestedField(u.Object, "spec", "template", "metadata", "labels", key)
			}
		}
	case "PersistentVolumeClaim":
		unstructured.RemoveNestedField(u.Object, "spec", "volumeName")
	case "ServiceAccount":
		delete(u.Object, "secrets") // Tokens, which the member makes.
	case "Service":
		if ip, _, _ := unstructured.NestedString(u.Object, "spec", "clusterIP"); ip != corev1.ClusterIPNone {
			unstructured.RemoveNestedField(u.Object, "spec", "clusterIP")
			unstructured.RemoveNestedField(u.Object, "spec", "clusterIPs")
		}
	}
	return u
}

// own are labels or annotations without those of Karmada, which are about the
// template that an object came from; nil when there are none.
func own(from map[string]string) map[string]string {
	var out map[string]string
	for key, value := range from {
		domain, _, prefixed := strings.Cut(key, "/")
		if prefixed && (domain == "karmada.io" || strings.HasSuffix(domain, ".karmada.io")) {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[key] = value
	}
	return out
}
