package workload

import (
	"strings"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"github.com/karmada-io/karmada/pkg/util/names"
)

// BindingName is the name of the ResourceBinding that Karmada makes for a
// template. It is in the template's own namespace. kind is the Kubernetes kind
// ("Deployment"). Karmada lower-cases it all, replaces ':' by '.', and neither
// cuts nor hashes long names; two kinds that differ only in group share a name,
// so check spec.resource of what is found.
func BindingName(kind, name string) string { return names.GenerateBindingName(kind, name) }

// karmadaWorkName is the name of the Work that carries a template to a member
// cluster: the template's name and a hash of namespace, name and kind. It is
// the same in every ExecutionNamespace.
func karmadaWorkName(kind, name, namespace string) string {
	return names.GenerateWorkName(kind, name, namespace)
}

// ExecutionNamespace is the namespace in the instance that holds the Works of a member cluster.
func ExecutionNamespace(cluster string) string { return names.GenerateExecutionSpaceName(cluster) }

// ClusterOfExecutionNamespace is the reverse of ExecutionNamespace; false for any other namespace.
func ClusterOfExecutionNamespace(namespace string) (string, bool) {
	cluster, err := names.GetClusterName(namespace)
	return cluster, err == nil && cluster != ""
}

// BindingName is the name of the ResourceBinding of a workload of this kind.
func (k Kind) BindingName(name string) string { return BindingName(k.GVK().Kind, name) }

// OfWork names the workload of a kind that a Work was made for, from the Work's
// annotations; false for a Work of anything else.
func OfWork(k Kind, annotations map[string]string) (namespace, name string, ok bool) {
	name, ok = k.OfBinding(annotations[workv1alpha2.ResourceBindingNameAnnotationKey])
	namespace = annotations[workv1alpha2.ResourceBindingNamespaceAnnotationKey]
	return namespace, name, ok && namespace != ""
}

// OfBinding is the reverse of Kind.BindingName; false for a binding of another kind.
func (k Kind) OfBinding(binding string) (name string, ok bool) {
	name, ok = strings.CutSuffix(binding, k.BindingName(""))
	return name, ok && name != ""
}

// WorkName is the name of the Work of a workload of this kind.
func (k Kind) WorkName(namespace, name string) string {
	return karmadaWorkName(k.GVK().Kind, name, namespace)
}
