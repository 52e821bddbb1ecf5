package controllers_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/internal/status"
)

func TestStatusIsSharedBetweenItsOwners(t *testing.T) {
	w := newWorld(t)
	instance := w.instance("shared", "kubeconfig")
	defer func() { w.must(w.kube.Delete(t.Context(), instance)) }()
	none := &v1alpha1.InstanceStatus{}
	apply := func(owner string, before, after *v1alpha1.InstanceStatus) {
		t.Helper()
		w.must(status.Apply(t.Context(), w.kube, instance, owner, before, after))
	}
	conditions := func(now ...metav1.Condition) []metav1.Condition { return status.Conditions(nil, 1, now...) }
	words := func() map[string]string {
		stored := get(w, "shared", &v1alpha1.Instance{}).Status
		found := map[string]string{"state": string(stored.State), "version": stored.KubernetesVersion}
		for _, condition := range stored.Conditions {
			found[condition.Type] = condition.Reason
		}
		return found
	}
	check := func(reason string, want map[string]string) {
		t.Helper()
		if diff := cmp.Diff(want, words()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", reason, diff)
		}
	}

	looked := &v1alpha1.InstanceStatus{State: v1alpha1.InstanceStateRunning, KubernetesVersion: "v1", Conditions: conditions(v1alpha1.Ready("x"))}
	apply("one", none, looked)
	indexed := &v1alpha1.InstanceStatus{Conditions: conditions(v1alpha1.Indexed("x"))}
	apply("two", none, indexed)
	check("two owners have one condition each", map[string]string{"state": "Running", "version": "v1", "Ready": "Available", "Indexed": "Collecting"})

	worse := &v1alpha1.InstanceStatus{State: v1alpha1.InstanceStateUnavailable, Conditions: conditions(v1alpha1.NotReady("Unhealthy", "x"))}
	apply("one", looked, worse)
	check("an owner changes and removes only what is its own", map[string]string{"state": "Unavailable", "version": "", "Ready": "Unhealthy", "Indexed": "Collecting"})

	apply("two", indexed, none)
	check("an owner may take its condition back", map[string]string{"state": "Unavailable", "version": "", "Ready": "Unhealthy"})

	version := get(w, "shared", &v1alpha1.Instance{}).ResourceVersion
	apply("one", worse, worse)
	if now := get(w, "shared", &v1alpha1.Instance{}).ResourceVersion; now != version {
		t.Error("an unchanged status was written")
	}

	missing := instance.DeepCopy()
	missing.Name = "never-was"
	if err := status.Apply(t.Context(), w.kube, missing, "one", worse, looked); err != nil {
		t.Errorf("an object that was deleted is an error: %v", err)
	}
	w.gone("never-was", &v1alpha1.Instance{})
}

func TestConditionsKeepTheirTime(t *testing.T) {
	long := metav1.Date(2020, 1, 2, 3, 4, 5, 0, metav1.Now().Location())
	existing := []metav1.Condition{{Type: "Ready", Status: "True", Reason: "Available", Message: "old", LastTransitionTime: long}, {Type: "Other", Status: "True"}}
	for _, c := range []struct {
		reason string
		now    metav1.Condition
		kept   bool
	}{
		{"another message is no transition", v1alpha1.Ready("new"), true},
		{"another status is one", v1alpha1.NotReady("Unhealthy", "new"), false},
	} {
		got := status.Conditions(existing, 7, c.now)
		if len(got) != 1 {
			t.Fatalf("%s: got %+v, want the one condition that was asked for", c.reason, got)
		}
		if kept := got[0].LastTransitionTime.Equal(&long); kept != c.kept {
			t.Errorf("%s: the time is kept: %v, want %v", c.reason, kept, c.kept)
		}
		if got[0].Message != "new" || got[0].ObservedGeneration != 7 {
			t.Errorf("%s: got %+v", c.reason, got[0])
		}
	}
}
