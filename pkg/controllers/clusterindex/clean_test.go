package clusterindex

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	pediav1alpha2 "github.com/kairship-io/kairship/pkg/apis/clusterpedia/v1alpha2"
)

func TestClusterpediaIsRemindedNowAndThen(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := pediav1alpha2.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	ago := func(d time.Duration) string { return time.Now().Add(-d).UTC().Format(time.RFC3339) }
	for _, c := range []struct {
		reason   string
		deleted  time.Duration
		reminded string
		want     bool
	}{
		{"a deletion of just now gets its time", 5 * time.Second, "", false},
		{"one that lasts is reminded of", time.Minute, "", true},
		{"a reminder gets its time as well", time.Minute, ago(5 * time.Second), false},
		{"then it is repeated", time.Hour, ago(time.Minute), true},
		{"what is no time does not count", time.Hour, "soon", true},
	} {
		deleted := metav1.NewTime(time.Now().Add(-c.deleted))
		stored := &pediav1alpha2.PediaCluster{ObjectMeta: metav1.ObjectMeta{Name: "m1", DeletionTimestamp: &deleted, Finalizers: []string{"clusterpedia.io/x"}}}
		if c.reminded != "" {
			stored.Annotations = map[string]string{nudgeAnnotation: c.reminded}
		}
		kube := fake.NewClientBuilder().WithScheme(scheme).WithObjects(stored).Build()
		if err := (&Reconciler{Client: kube}).remind(t.Context(), stored); err != nil {
			t.Fatal(err)
		}
		now := &pediav1alpha2.PediaCluster{}
		if err := kube.Get(t.Context(), client.ObjectKeyFromObject(stored), now); err != nil {
			t.Fatal(err)
		}
		if got := now.Annotations[nudgeAnnotation] != c.reminded; got != c.want {
			t.Errorf("%s: reminded: %v, want %v", c.reason, got, c.want)
		}
	}
}
