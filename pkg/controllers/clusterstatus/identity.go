package clusterstatus

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// asked is the answer of a look to the question which cluster it is.
type asked struct {
	// id is the UID of the namespace kube-system; empty when it was not read.
	id string
	// refused means that the credentials may not read it.
	refused bool
	// fingerprint is that of the endpoint and the credentials; empty when there was no look.
	fingerprint string
}

// pin stores the identity that is seen first, and which endpoint and credentials were
// seen to lead there. A later change of either can't have another cluster indexed or
// joined under this name.
func pin(next *v1alpha1.ClusterStatus, look asked) {
	switch {
	case look.id == "":
	case next.KubeSystemID == "", next.KubeSystemID == look.id:
		next.KubeSystemID, next.CredentialsFingerprint = look.id, look.fingerprint
	case next.CredentialsFingerprint == look.fingerprint:
		next.CredentialsFingerprint = "" // The same address has another cluster now.
	}
}

// identified returns the condition for a status with a pinned identity. If the look found nothing
// it keeps the stored condition, unless that is about another endpoint or other credentials.
func identified(next *v1alpha1.ClusterStatus, stored *metav1.Condition, look asked, reachable metav1.Condition) metav1.Condition {
	changed := look.fingerprint != "" && look.fingerprint != next.CredentialsFingerprint
	switch {
	case look.refused && changed:
		return v1alpha1.IdentifiedUnknown(v1alpha1.ReasonIdentityUnreadable,
			"The credentials may not read the namespace kube-system, whose UID tells which cluster it is: let them get it.")
	case look.id != "" && look.id != next.KubeSystemID:
		return v1alpha1.NotIdentified(v1alpha1.ReasonOtherCluster, fmt.Sprintf(
			"The endpoint leads to another cluster (%s) than the one that was registered (%s), so it is not used. "+
				"Correct the endpoint or the credentials. If the cluster was made anew, or this name is to be another cluster's, delete this Cluster and create it again.",
			look.id, next.KubeSystemID))
	case look.id != "":
		return v1alpha1.Identified("It is the cluster that was registered.")
	case next.KubeSystemID == "" && reachable.Status == metav1.ConditionUnknown:
		return v1alpha1.IdentifiedUnknown(reachable.Reason, reachable.Message)
	case next.KubeSystemID == "":
		return v1alpha1.IdentifiedUnknown(v1alpha1.ReasonPending, "It is not known yet which cluster it is.")
	case stored == nil, stored.Status == metav1.ConditionTrue && changed:
		return v1alpha1.IdentifiedUnknown(v1alpha1.ReasonPending, "The endpoint or the credentials are new, and it is not known yet which cluster they lead to.")
	}
	return *stored
}
