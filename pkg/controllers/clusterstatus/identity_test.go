package clusterstatus

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

func TestAClusterKeepsItsIdentity(t *testing.T) {
	wasTrue := v1alpha1.Identified("as before")
	wasOther := v1alpha1.NotIdentified(v1alpha1.ReasonOtherCluster, "as before")
	answers, unusable := v1alpha1.Reachable(""), v1alpha1.ReachableUnknown(v1alpha1.ReasonCredentialsMissing, "none")
	pinned := v1alpha1.ClusterStatus{KubeSystemID: "a", CredentialsFingerprint: "one"}
	disproven := v1alpha1.ClusterStatus{KubeSystemID: "a"}
	for _, c := range []struct {
		reason     string
		status     v1alpha1.ClusterStatus
		stored     *metav1.Condition
		look       asked
		reachable  metav1.Condition
		id, proven string
		says       metav1.ConditionStatus
		because    string
	}{
		{"the first look pins it", v1alpha1.ClusterStatus{}, nil, asked{id: "a", fingerprint: "one"}, answers, "a", "one", "True", v1alpha1.ReasonIdentified},
		{"nothing was shown yet", v1alpha1.ClusterStatus{}, nil, asked{fingerprint: "one"}, answers, "", "", "Unknown", v1alpha1.ReasonPending},
		{"it has never had credentials", v1alpha1.ClusterStatus{}, nil, asked{}, unusable, "", "", "Unknown", v1alpha1.ReasonCredentialsMissing},
		{"it may not be read, and never was", v1alpha1.ClusterStatus{}, nil, asked{refused: true, fingerprint: "one"}, answers, "", "", "Unknown", v1alpha1.ReasonIdentityUnreadable},
		{"a version that pinned nothing has left it", disproven, nil, asked{fingerprint: "one"}, answers, "a", "", "Unknown", v1alpha1.ReasonPending},
		{"and it is what it was", disproven, nil, asked{id: "a", fingerprint: "one"}, answers, "a", "one", "True", v1alpha1.ReasonIdentified},
		{"other credentials of the same cluster", pinned, &wasTrue, asked{id: "a", fingerprint: "two"}, answers, "a", "two", "True", v1alpha1.ReasonIdentified},
		{"another cluster proves nothing", pinned, &wasTrue, asked{id: "b", fingerprint: "two"}, answers, "a", "one", "False", v1alpha1.ReasonOtherCluster},
		{"another cluster behind the same endpoint and credentials", pinned, &wasTrue, asked{id: "b", fingerprint: "one"}, answers, "a", "", "False", v1alpha1.ReasonOtherCluster},
		{"a look that shows nothing is no way out", pinned, &wasOther, asked{fingerprint: "two"}, answers, "a", "one", "False", v1alpha1.ReasonOtherCluster},
		{"nor is one at the former address", disproven, &wasOther, asked{fingerprint: "one"}, answers, "a", "", "False", v1alpha1.ReasonOtherCluster},
		{"its credentials are missing", pinned, &wasTrue, asked{}, unusable, "a", "one", "True", v1alpha1.ReasonIdentified},
		{"it does not answer", pinned, &wasTrue, asked{fingerprint: "one"}, answers, "a", "one", "True", v1alpha1.ReasonIdentified},
		{"nothing answers at a new address", pinned, &wasTrue, asked{fingerprint: "two"}, answers, "a", "one", "Unknown", v1alpha1.ReasonPending},
		{"new credentials that may not read it", pinned, &wasTrue, asked{refused: true, fingerprint: "two"}, answers, "a", "one", "Unknown", v1alpha1.ReasonIdentityUnreadable},
		{"known ones that may not read it any more", pinned, &wasTrue, asked{refused: true, fingerprint: "one"}, answers, "a", "one", "True", v1alpha1.ReasonIdentified},
		{"it is back", pinned, &wasOther, asked{id: "a", fingerprint: "one"}, answers, "a", "one", "True", v1alpha1.ReasonIdentified},
	} {
		next := c.status
		pin(&next, c.look)
		if next.KubeSystemID != c.id || next.CredentialsFingerprint != c.proven {
			t.Errorf("%s: it is %q, proven by %q", c.reason, next.KubeSystemID, next.CredentialsFingerprint)
		}
		if got := identified(&next, c.stored, c.look, c.reachable); got.Status != c.says || got.Reason != c.because {
			t.Errorf("%s: Identified is %s/%s: %s", c.reason, got.Status, got.Reason, got.Message)
		}
	}
}
