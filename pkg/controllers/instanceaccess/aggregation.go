package instanceaccess

import (
	"cmp"
	"context"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	rbacclient "k8s.io/client-go/kubernetes/typed/rbac/v1"
)

// aggregator is the field manager of the controller that aggregates ClusterRoles in every cluster.
const aggregator = "clusterrole-aggregation-controller"

// byRemoval sorts aggregated ClusterRoles before those that they are aggregated from. In the other
// order the cluster would aggregate the remaining rules by server-side apply, and so create an
// aggregated ClusterRole again that was just deleted, with rules and nothing else.
func byRemoval(roles []*rbacv1.ClusterRole) {
	last := func(role *rbacv1.ClusterRole) int {
		if role.AggregationRule == nil {
			return 1
		}
		return 0
	}
	slices.SortFunc(roles, func(a, b *rbacv1.ClusterRole) int { return cmp.Or(last(a)-last(b), cmp.Compare(a.Name, b.Name)) })
}

// remnant reports whether a ClusterRole was made only by the cluster itself:
// it came back in spite of byRemoval.
func remnant(role *rbacv1.ClusterRole) bool {
	others := slices.ContainsFunc(role.ManagedFields, func(e metav1.ManagedFieldsEntry) bool { return e.Manager != aggregator })
	return len(role.ManagedFields) > 0 && !others && len(role.Labels) == 0 && role.AggregationRule == nil
}

// createRole creates a ClusterRole, or makes it out of what is left of an earlier one.
func createRole(ctx context.Context, client rbacclient.ClusterRoleInterface, role *rbacv1.ClusterRole) (*rbacv1.ClusterRole, error) {
	stored, err := client.Create(ctx, role, metav1.CreateOptions{FieldManager: Name})
	if !apierrors.IsAlreadyExists(err) {
		return stored, err
	}
	left, readErr := client.Get(ctx, role.Name, metav1.GetOptions{})
	if readErr != nil || !remnant(left) {
		return nil, err
	}
	whole := role.DeepCopy()
	whole.UID, whole.ResourceVersion = left.UID, left.ResourceVersion
	return client.Update(ctx, whole, metav1.UpdateOptions{FieldManager: Name})
}
