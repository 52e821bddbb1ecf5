package clusterstatus

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/internal/debounce"
	"github.com/kairship-io/kairship/pkg/controllers/internal/probe"
	"github.com/kairship-io/kairship/pkg/controllers/internal/status"
)

// own is the part of the status that this controller writes.
func own(all v1alpha1.ClusterStatus) v1alpha1.ClusterStatus {
	return v1alpha1.ClusterStatus{
		Conditions:             status.Pick(all.Conditions, v1alpha1.ConditionIdentified, v1alpha1.ConditionReachable, v1alpha1.ConditionReady),
		ObservedGeneration:     all.ObservedGeneration,
		KubernetesVersion:      all.KubernetesVersion,
		KubeSystemID:           all.KubeSystemID,
		CredentialsFingerprint: all.CredentialsFingerprint,
		CredentialsExpireTime:  all.CredentialsExpireTime,
	}
}

// decide converts a finding into the status. It keeps the results of the last successful look that
// the finding does not replace, such as the version. pending means that more looks are needed to
// decide whether a condition changed.
func decide(cluster *v1alpha1.Cluster, found probe.Finding, look asked, began time.Time, debouncer *debounce.Debouncer) (next v1alpha1.ClusterStatus, pending bool) {
	next = own(cluster.Status)
	next.ObservedGeneration = cluster.Generation
	if found.Seen != nil {
		if found.Seen.Version != "" {
			next.KubernetesVersion = found.Seen.Version
		}
		pin(&next, look)
		next.CredentialsExpireTime = nil
		if !found.Expires.IsZero() {
			// The API keeps whole seconds: anything finer would look like a change.
			expires := metav1.NewTime(found.Expires).Rfc3339Copy()
			next.CredentialsExpireTime = &expires
		}
	}
	reachable, ready := found.Judge()
	shown, known := []metav1.Condition{reachable, ready}, []metav1.Condition(nil)
	if cluster.Spec.Type != v1alpha1.ClusterTypeVirtual { // A Virtual one is identified by its Instance.
		known = append(known, identified(&next, meta.FindStatusCondition(cluster.Status.Conditions, v1alpha1.ConditionIdentified), look, reachable))
	}
	switch { // These conditions do not depend on the look.
	case !cluster.DeletionTimestamp.IsZero():
		shown, known = shown[:1], append(known, v1alpha1.NotReady(v1alpha1.ReasonDeleting, "It is being deleted."))
	case meta.IsStatusConditionFalse(known, v1alpha1.ConditionIdentified):
		shown, known = shown[:1], append(known, v1alpha1.NotReady(v1alpha1.ReasonOtherCluster, "It is another cluster than the one that was registered, see condition Identified."))
	}
	debounced, pending := debouncer.Debounce(cluster.Name, began, cluster.Status.Conditions, shown...)
	next.Conditions = status.Conditions(cluster.Status.Conditions, cluster.Generation, append(debounced, known...)...)
	return next, pending
}

// repeat is the status of a virtual Cluster: it is the instance's own apiserver,
// which is looked at already.
func repeat(cluster *v1alpha1.Cluster, instance *v1alpha1.Instance, id string, expires time.Time) v1alpha1.ClusterStatus {
	next := own(cluster.Status)
	next.ObservedGeneration = cluster.Generation
	next.KubernetesVersion = instance.Status.KubernetesVersion
	if id != "" {
		next.KubeSystemID = id
	}
	if !expires.IsZero() {
		end := metav1.NewTime(expires).Rfc3339Copy()
		next.CredentialsExpireTime = &end
	} else {
		next.CredentialsExpireTime = nil
	}
	reachable := meta.FindStatusCondition(instance.Status.Conditions, v1alpha1.ConditionReachable)
	apiserver := meta.FindStatusCondition(instance.Status.Conditions, v1alpha1.ConditionAPIServerHealthy)
	now := []metav1.Condition{
		v1alpha1.ReachableUnknown(v1alpha1.ReasonPending, "The instance has not been looked at yet."),
		v1alpha1.ReadyUnknown(v1alpha1.ReasonPending, "The instance has not been looked at yet."),
	}
	if reachable != nil && apiserver != nil {
		now = []metav1.Condition{*reachable, readyOf(*reachable, *apiserver)}
	}
	next.Conditions = status.Conditions(cluster.Status.Conditions, cluster.Generation, now...)
	return next
}

// readyOf reports of an apiserver whether it is ready. Whether it works as a Karmada,
// its Instance says.
func readyOf(reachable, apiserver metav1.Condition) metav1.Condition {
	switch {
	case reachable.Reason == v1alpha1.ReasonDeleting:
		return v1alpha1.NotReady(v1alpha1.ReasonDeleting, "It is being deleted.")
	case reachable.Status == metav1.ConditionFalse:
		return v1alpha1.NotReady(v1alpha1.ReasonUnreachable, "It cannot be reached, see condition Reachable.")
	case apiserver.Status == metav1.ConditionTrue:
		return v1alpha1.Ready("It answers and says that it is ready.")
	case apiserver.Status == metav1.ConditionFalse:
		return v1alpha1.NotReady(apiserver.Reason, apiserver.Message)
	}
	return v1alpha1.ReadyUnknown(apiserver.Reason, apiserver.Message)
}
