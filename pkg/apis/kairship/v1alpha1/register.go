package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group of everything in this package.
const GroupName = "kairship.io"

// GroupVersion is the group and version of everything in this package.
var GroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1alpha1"}

var (
	// SchemeBuilder collects the functions that register this package's types.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)
	// AddToScheme registers this package's types with a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)

// The kinds, for error messages, events and owner references.
const (
	InstanceKind             = "Instance"
	ClusterKind              = "Cluster"
	InstanceRegistrationKind = "InstanceRegistration"
	InstanceRoleBindingKind  = "InstanceRoleBinding"
)

// The resources as they appear in URLs and in access rules.
var (
	InstanceResource             = GroupVersion.WithResource("instances")
	ClusterResource              = GroupVersion.WithResource("clusters")
	InstanceRegistrationResource = GroupVersion.WithResource("instanceregistrations")
	InstanceRoleBindingResource  = GroupVersion.WithResource("instancerolebindings")
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&Instance{}, &InstanceList{},
		&Cluster{}, &ClusterList{},
		&InstanceRegistration{}, &InstanceRegistrationList{},
		&InstanceRoleBinding{}, &InstanceRoleBindingList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
