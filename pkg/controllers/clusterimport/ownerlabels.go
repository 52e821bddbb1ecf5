package clusterimport

import (
	"context"
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// ownerLabels are the labels of all objects that this controller creates outside the global
// cluster.
type ownerLabels struct {
	cluster  string
	uid      string
	instance string
	// membership is the UID of the membership; empty for one without.
	membership string
	// global is the UID of the global cluster's namespace kube-system: two Kairships
	// may know the same cluster.
	global string
}

func (m ownerLabels) labels() map[string]string {
	labels := map[string]string{
		v1alpha1.ManagedByLabel:     v1alpha1.ManagedByValue,
		v1alpha1.ClusterLabel:       m.cluster,
		v1alpha1.OwnerUIDLabel:      m.uid,
		v1alpha1.InstanceLabel:      m.instance,
		v1alpha1.GlobalClusterLabel: m.global,
	}
	if m.membership != "" {
		labels[v1alpha1.MembershipLabel] = m.membership
	}
	return labels
}

// put sets the labels on an object, and keeps its other labels.
func (m ownerLabels) put(object client.Object) {
	labels := maps.Clone(object.GetLabels())
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, m.labels())
	object.SetLabels(labels)
}

// owner is the owner of an object, relative to a Cluster.
type owner int

const (
	// ownedByUs means that it was made for this Cluster.
	ownedByUs owner = iota
	// ownedByAnother means that it was made for another Cluster of this global cluster.
	ownedByAnother
	// ownedByKairship means that a Kairship of another global cluster made it.
	ownedByKairship
	// ownedByOthers means that no Kairship made it.
	ownedByOthers
)

// of returns the owner that the labels of an object name.
func (m ownerLabels) of(object client.Object) owner {
	labels := object.GetLabels()
	switch {
	case labels[v1alpha1.ManagedByLabel] != v1alpha1.ManagedByValue || labels[v1alpha1.OwnerUIDLabel] == "":
		return ownedByOthers
	case labels[v1alpha1.GlobalClusterLabel] != m.global:
		return ownedByKairship
	case labels[v1alpha1.OwnerUIDLabel] != m.uid:
		return ownedByAnother
	}
	return ownedByUs
}

// taken is the error for an object with a needed name and another owner.
type taken struct {
	by     owner
	place  place
	object client.Object
	kind   string
}

func (t *taken) Error() string {
	name := t.object.GetName()
	if t.object.GetNamespace() != "" {
		name = t.object.GetNamespace() + "/" + name
	}
	what := fmt.Sprintf("The %s has the %s %q, ", t.place, t.kind, name)
	switch t.by {
	case ownedByAnother:
		return what + fmt.Sprintf("which was made for Cluster %q: the two are the same cluster, or have the same name there.", t.object.GetLabels()[v1alpha1.ClusterLabel])
	case ownedByKairship:
		return what + "which another Kairship made. It is left alone."
	default:
		return what + "which was not made by Kairship. It is left alone; take it away to have the cluster joined."
	}
}

// reason returns the reason for the condition.
func (t *taken) reason() string {
	if t.by == ownedByOthers {
		return v1alpha1.ReasonForeign
	}
	return v1alpha1.ReasonJoinedElsewhere
}

// orphaned reports whether an object was made for a Cluster of this global cluster
// that no longer exists: left behind when it could not be removed, it may be taken over.
func (r *Reconciler) orphaned(ctx context.Context, object client.Object) (bool, error) {
	labels := object.GetLabels()
	cluster := &v1alpha1.Cluster{}
	err := r.Live.Get(ctx, client.ObjectKey{Name: labels[v1alpha1.ClusterLabel]}, cluster)
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("read cluster %q: %w", labels[v1alpha1.ClusterLabel], err)
	}
	return string(cluster.UID) != labels[v1alpha1.OwnerUIDLabel], nil
}
