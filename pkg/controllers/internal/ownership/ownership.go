// Package ownership decides which objects are ours. A name alone proves
// nothing: it may have been taken by a person before, or be left over from an
// owner of the same name that no longer exists.
package ownership

import (
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// Owner is the Instance, Cluster or InstanceRoleBinding that something is made for.
type Owner struct {
	kind, label, name string
	object            client.Object
}

// ByInstance is the owner of what is made from an Instance.
func ByInstance(instance *v1alpha1.Instance) Owner {
	return Owner{kind: v1alpha1.InstanceKind, label: v1alpha1.InstanceLabel, name: instance.Name, object: instance}
}

// ByCluster is the owner of what is made from a Cluster.
func ByCluster(cluster *v1alpha1.Cluster) Owner {
	return Owner{kind: v1alpha1.ClusterKind, label: v1alpha1.ClusterLabel, name: cluster.Name, object: cluster}
}

// ByRoleBinding is the owner of what is made from an InstanceRoleBinding.
func ByRoleBinding(binding *v1alpha1.InstanceRoleBinding) Owner {
	return Owner{kind: v1alpha1.InstanceRoleBindingKind, label: v1alpha1.RoleBindingLabel, name: binding.Name, object: binding}
}

// Labels are the labels that mark an object as the owner's.
func (o Owner) Labels() map[string]string {
	return map[string]string{
		v1alpha1.ManagedByLabel: v1alpha1.ManagedByValue,
		o.label:                 o.name,
		v1alpha1.OwnerUIDLabel:  string(o.object.GetUID()),
	}
}

// Owns reports whether the object was made for this very owner.
func (o Owner) Owns(object client.Object) bool {
	labels := object.GetLabels()
	for key, value := range o.Labels() {
		if labels[key] != value {
			return false
		}
	}
	return true
}

// Mark sets the owner labels and makes the owner the controller of the object, so that the garbage
// collector deletes it even if a user removes our finalizer.
func (o Owner) Mark(object client.Object) {
	labels := maps.Clone(object.GetLabels())
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, o.Labels())
	object.SetLabels(labels)

	blocks, controls := true, true
	object.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion:         v1alpha1.GroupVersion.String(),
		Kind:               o.kind,
		Name:               o.name,
		UID:                o.object.GetUID(),
		BlockOwnerDeletion: &blocks,
		Controller:         &controls,
	}})
}

// Taken says to a person why the object of this kind is not the owner's, and
// what to do about it.
func (o Owner) Taken(kind string, object client.Object) string {
	labels := object.GetLabels()
	whose := "was not made by Kairship"
	if labels[v1alpha1.ManagedByLabel] == v1alpha1.ManagedByValue && labels[o.label] == o.name {
		whose = fmt.Sprintf("was made for an earlier %s of this name", o.kind)
	}
	return fmt.Sprintf("The %s %q exists and %s. It is left alone; delete it to go on.", kind, object.GetName(), whose)
}
