package escalation

import (
	"context"
	"fmt"
	"strings"
	"testing"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	pediav1alpha2 "github.com/kairship-io/kairship/pkg/apis/clusterpedia/v1alpha2"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/test/internal/fleet"
)

// TestAnEntryStaysTheClusterThatWasRegistered has a person who may write one entry of the
// inventory, and join it to alpha, point it at a member of beta with the Secret of that
// member's entry. It is neither indexed nor joined, and goes on where it was when the
// person points it back.
func TestAnEntryStaysTheClusterThatWasRegistered(t *testing.T) {
	f := fleet.Open(t)
	global := f.Client(t, "global")
	leadsTo := func(member string) v1alpha1.ClusterSpec {
		t.Helper()
		var of v1alpha1.Cluster
		if err := global.Get(t.Context(), client.ObjectKey{Name: member}, &of); err != nil {
			t.Fatal(err)
		}
		return v1alpha1.ClusterSpec{
			Type: v1alpha1.ClusterTypePhysical, Hidden: true,
			APIEndpoint: of.Spec.APIEndpoint, CredentialsSecretRef: of.Spec.CredentialsSecretRef, ProxyURL: of.Spec.ProxyURL,
		}
	}
	own, foreign := leadsTo("m1"), leadsTo("m3")
	entry := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: unique()}, Spec: own}
	made(t, global, entry)
	key := client.ObjectKeyFromObject(entry)

	p := newPerson(t, v1alpha1.RoleAdmin)
	names := []string{entry.Name}
	as := permitted(t, p,
		rbacv1.PolicyRule{APIGroups: []string{v1alpha1.GroupName}, Resources: []string{"clusters"}, Verbs: []string{"get", "update"}, ResourceNames: names},
		rbacv1.PolicyRule{APIGroups: []string{v1alpha1.GroupName}, Resources: []string{"clusters/membership"}, Verbs: []string{"update"}, ResourceNames: names})
	point := func(what string, spec v1alpha1.ClusterSpec) {
		t.Helper()
		eventually(t, what, func(ctx context.Context) error {
			var now v1alpha1.Cluster
			if err := as.Get(ctx, key, &now); err != nil {
				return err
			}
			now.Spec = spec
			return as.Update(ctx, &now)
		})
	}
	// becomes waits for conditions, each as Type=Status/Reason, that were computed for
	// the present spec.
	becomes := func(wanted ...string) (now v1alpha1.Cluster) {
		t.Helper()
		poll.Until(t, within, fmt.Sprintf("the entry is %s", strings.Join(wanted, ", ")), func(ctx context.Context) error {
			if err := global.Get(ctx, key, &now); err != nil {
				return err
			}
			for _, want := range wanted {
				kind, word, _ := strings.Cut(want, "=")
				c := meta.FindStatusCondition(now.Status.Conditions, kind)
				if c == nil || c.ObservedGeneration != now.Generation || string(c.Status)+"/"+c.Reason != word {
					return fmt.Errorf("%s is %+v", kind, c)
				}
			}
			return nil
		})
		return now
	}
	collected := func(when string) *pediav1alpha2.PediaCluster {
		t.Helper()
		pedia := &pediav1alpha2.PediaCluster{}
		if err := global.Get(t.Context(), key, pedia); err != nil {
			t.Fatal(err)
		}
		kubeconfig, err := fleet.CollectedWith(t.Context(), global, key.Name)
		if err != nil {
			t.Fatal(err)
		}
		if pedia.Spec.APIServer != own.APIEndpoint || !strings.Contains(string(kubeconfig), own.APIEndpoint) {
			t.Errorf("%s %s is collected, want %s", when, pedia.Spec.APIServer, own.APIEndpoint)
		}
		return pedia
	}

	registered := becomes("Identified=True/Identified", "Ready=True/Available", "Indexed=True/Collecting", "Joined=False/JoinedElsewhere") // It is m1, a member of alpha.
	before := collected("at first")

	foreign.InstanceRef = &v1alpha1.InstanceReference{Name: "alpha"}
	point("the entry is pointed at m3, and is to be joined", foreign)
	now := becomes("Identified=False/OtherCluster", "Ready=False/OtherCluster", "Joined=False/OtherCluster")
	if said := meta.FindStatusCondition(now.Status.Conditions, v1alpha1.ConditionIdentified).Message; now.Status.KubeSystemID != registered.Status.KubeSystemID ||
		!strings.Contains(said, registered.Status.KubeSystemID) || !strings.Contains(said, "delete this Cluster and create it again") {
		t.Errorf("it was %s and is %s: %s", registered.Status.KubeSystemID, now.Status.KubeSystemID, said)
	}
	collected("pointed at m3,")
	if now.Status.Membership != nil {
		t.Errorf("it has the membership %+v", now.Status.Membership)
	}
	for where, object := range map[string]client.Object{
		"alpha": &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: entry.Name}},
		"m3":    &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "karmada-cluster", Name: "karmada-" + entry.Name}},
	} {
		if err := f.Client(t, where).Get(t.Context(), client.ObjectKeyFromObject(object), object); !apierrors.IsNotFound(err) {
			t.Errorf("%T %s exists in %s, or cannot be read: %v", object, object.GetName(), where, err)
		}
	}

	point("the entry is pointed back", own)
	becomes("Identified=True/Identified", "Ready=True/Available", "Indexed=True/Collecting", "Joined=False/JoinedElsewhere") // It is m1, a member of alpha.
	if after := collected("pointed back"); after.UID != before.UID || after.Generation != before.Generation {
		t.Errorf("the collection is %s in its version %d, want %s in its version %d", after.UID, after.Generation, before.UID, before.Generation)
	}
}
