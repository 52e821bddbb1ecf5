package clusterstatus

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/internal/probe"
	"github.com/kairship-io/kairship/pkg/controllers/internal/status"
)

// own is the part of the status that this controller writes.
func own(all v1alpha1.ClusterStatus) v1alpha1.ClusterStatus {
	return v1alpha1.ClusterStatus{
		Conditions:            status.Pick(all.Conditions, v1alpha1.ConditionReachable, v1alpha1.ConditionReady),
		ObservedGeneration:    all.ObservedGeneration,
		KubernetesVersion:     all.KubernetesVersion,
		KubeSystemID:          all.KubeSystemID,
		CredentialsExpireTime: all.CredentialsExpireTime,
	}
}

// decide turns a finding into the status. What was true at the last successful
// look and is not known any better now, such as the version, is kept.
func decide(cluster *v1alpha1.Cluster, found probe.Finding) v1alpha1.ClusterStatus {
	next := own(cluster.Status)
	next.ObservedGeneration = cluster.Generation
	if found.Seen != nil {
		if found.Seen.Version != "" {
			next.KubernetesVersion = found.Seen.Version
		}
		if found.Seen.KubeSystemID != "" {
			next.KubeSystemID = found.Seen.KubeSystemID
		}
		next.CredentialsExpireTime = nil
		if !found.Expires.IsZero() {
			// The API keeps whole seconds: anything finer would look like a change.
			expires := metav1.NewTime(found.Expires).Rfc3339Copy()
			next.CredentialsExpireTime = &expires
		}
	}
	reachable, ready := found.Judge()
	next.Conditions = status.Conditions(cluster.Status.Conditions, cluster.Generation, reachable, ready)
	return next
}
