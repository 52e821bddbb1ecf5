package clusterindex

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pediav1alpha2 "github.com/kairship-io/kairship/pkg/apis/clusterpedia/v1alpha2"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/internal/phase"
	fleetcollection "github.com/kairship-io/kairship/pkg/fleet/collection"
	"github.com/kairship-io/kairship/pkg/fleet/fleettest"
)

// TestLookAgain changes the Secret of an instance that is collected without its members, and of
// nothing else, once per interval.
func TestLookAgain(t *testing.T) {
	services, members := fleettest.Kind("services", "Syncing", time.Now()), fleettest.Members("Syncing", time.Now())
	at := func(ago time.Duration) string { return time.Now().Add(-ago).UTC().Format(time.RFC3339) }
	for _, c := range []struct {
		reason    string
		collected []pediav1alpha2.ClusterGroupResourcesStatus
		asked     string
		foreign   bool
		asks      bool
		later     bool
	}{
		{reason: "the members are missing", collected: []pediav1alpha2.ClusterGroupResourcesStatus{services}, asks: true, later: true},
		{reason: "they are there", collected: []pediav1alpha2.ClusterGroupResourcesStatus{services, members}},
		{reason: "it has not begun", collected: nil},
		{reason: "it was asked just now", collected: []pediav1alpha2.ClusterGroupResourcesStatus{services}, asked: at(time.Second), later: true},
		{reason: "it was asked long ago", collected: []pediav1alpha2.ClusterGroupResourcesStatus{services}, asked: at(time.Hour), asks: true, later: true},
		{reason: "it was asked by a clock that is ahead", collected: []pediav1alpha2.ClusterGroupResourcesStatus{services}, asked: at(-time.Hour), asks: true, later: true},
		{reason: "the Secret has another owner", collected: []pediav1alpha2.ClusterGroupResourcesStatus{services}, foreign: true},
	} {
		cluster := clusterOf(v1alpha1.ClusterTypeVirtual)
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: secretName(cluster.Name)}, Data: map[string][]byte{secretKey: []byte("k")}}
		if c.asked != "" {
			secret.Data[lookKey] = []byte(c.asked)
		}
		if !c.foreign {
			newScope(cluster).owner.Mark(secret)
		}
		w := newWorld(t, cluster, secret, secret)
		w.Live = w.Client
		w.indexed = &metav1.Condition{}
		w.pedia = &pediav1alpha2.PediaCluster{
			Spec:   pediav1alpha2.ClusterSpec{SyncResources: fleetcollection.OfInstances()},
			Status: pediav1alpha2.ClusterStatus{SyncResources: c.collected},
		}
		stop, later := errors.AsType[*phase.Stop](w.lookAgain(t.Context(), w.scope))
		if later != c.later || later && (stop.Retry <= 0 || stop.Retry > lookInterval) {
			t.Errorf("%s: looks again later: %+v, want %v", c.reason, stop, c.later)
		}
		stored := &corev1.Secret{}
		if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(secret), stored); err != nil {
			t.Fatal(err)
		}
		if asks := string(stored.Data[lookKey]) != c.asked; asks != c.asks || string(stored.Data[secretKey]) != "k" {
			t.Errorf("%s: asks: %v, want %v; the Secret has %v", c.reason, asks, c.asks, stored.Data)
		}
	}
}
