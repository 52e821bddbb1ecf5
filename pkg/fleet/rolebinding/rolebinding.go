// Package rolebinding answers queries about the roles that are given on instances.
package rolebinding

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/page"
)

// Connection is a page of bindings.
type Connection = page.Connection[*RoleBinding]

// Edge is a binding with its place in the list.
type Edge = page.Edge[*RoleBinding]

// Source says where a binding comes from.
type Source string

const (
	// SourceDirect is a person, by a mutation or with kubectl.
	SourceDirect Source = "DIRECT"
	// SourcePlatform is global management.
	SourcePlatform Source = "PLATFORM"
)

// RoleBinding is a role that a user or a group has on an instance.
type RoleBinding struct {
	*v1alpha1.InstanceRoleBinding
}

// New makes a RoleBinding of its resource.
func New(b *v1alpha1.InstanceRoleBinding) *RoleBinding { return &RoleBinding{InstanceRoleBinding: b} }

// InstanceName is the name of the instance.
func (b *RoleBinding) InstanceName() string { return b.Spec.InstanceRef.Name }

// SubjectKind reports whether the subject is a user or a group.
func (b *RoleBinding) SubjectKind() v1alpha1.SubjectKind { return b.Spec.Subject.Kind }

// Subject is the name of the user or group.
func (b *RoleBinding) Subject() string { return b.Spec.Subject.Name }

// Role is the role.
func (b *RoleBinding) Role() v1alpha1.Role { return b.Spec.Role }

// Namespaces are those that the role is given in, in order; none for the whole instance.
func (b *RoleBinding) Namespaces() []string {
	return append([]string{}, slices.Sorted(slices.Values(b.Spec.Namespaces))...)
}

// Source is where it comes from.
func (b *RoleBinding) Source() Source {
	if b.Spec.Source != nil {
		return SourcePlatform
	}
	return SourceDirect
}

// GrantedBy is the user who gave the role by a mutation; nil where it was given otherwise.
func (b *RoleBinding) GrantedBy() *string {
	return object.Optional(b.Annotations[v1alpha1.GrantedByAnnotation])
}

// Revoked reports whether the role was taken away.
func (b *RoleBinding) Revoked() bool { return b.Spec.Revoked || b.DeletionTimestamp != nil }

// Ready reports whether the role has taken effect everywhere.
func (b *RoleBinding) Ready() bool {
	return !b.Revoked() && meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionReady)
}

// Conditions say where it has taken effect.
func (b *RoleBinding) Conditions() []object.Condition { return object.Conditions(b.Status.Conditions) }

// CreatedAt is when it was created.
func (b *RoleBinding) CreatedAt() time.Time { return b.CreationTimestamp.UTC() }

// byInstance orders bindings by instance and name.
func byInstance(a, b *RoleBinding) int {
	return cmp.Or(cmp.Compare(a.InstanceName(), b.InstanceName()), cmp.Compare(a.Name, b.Name))
}
