package samples

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// load returns an instance's objects by kind, namespace and name.
func load(t *testing.T, instance string) ([]*unstructured.Unstructured, map[string]*unstructured.Unstructured) {
	t.Helper()
	objects, err := Objects(instance)
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]*unstructured.Unstructured{}
	for _, o := range objects {
		byName[o.GetKind()+" "+o.GetNamespace()+"/"+o.GetName()] = o
	}
	return objects, byName
}

func TestTheApplications(t *testing.T) {
	var names []string
	for _, s := range All() {
		names = append(names, s.Instance+" "+s.GVK.Kind+" "+s.Namespace+"/"+s.Name)
	}
	want := []string{ // what the documentation promises, and what the suites query
		"alpha Deployment shop/frontend", "alpha StatefulSet shop/cart", "alpha DaemonSet ops/agent", "alpha CronJob ops/report",
		"alpha Job ops/migrate", "alpha Deployment shop/stuck", "alpha Deployment shop/orphan", "alpha Transcoder media/thumbnails",
		"beta Deployment billing/api", "beta StatefulSet billing/ledger",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestManifestsAndSamplesAgree(t *testing.T) {
	workloads := map[string]bool{"Deployment": true, "StatefulSet": true, "DaemonSet": true, "Job": true, "CronJob": true}
	listed := map[string]bool{}
	for _, s := range All() {
		_, byName := load(t, s.Instance)
		o, ok := byName[s.GVK.Kind+" "+s.Namespace+"/"+s.Name]
		if !ok {
			t.Errorf("%s has no manifest", s)
			continue
		}
		listed[s.String()] = true
		if o.GroupVersionKind() != s.GVK {
			t.Errorf("%s is %s in its manifest", s, o.GroupVersionKind())
		}
		if claimed := claimedBy(t, s.Instance, o); (claimed != "") != (s.Scheduled != "") {
			t.Errorf("%s is claimed by %q, but is expected to have the binding status %q", s, claimed, s.Scheduled)
		}
	}
	for _, instance := range []string{"alpha", "beta"} {
		objects, _ := load(t, instance)
		for _, o := range objects {
			s := Sample{Instance: instance, GVK: o.GroupVersionKind(), Namespace: o.GetNamespace(), Name: o.GetName()}
			if workloads[o.GetKind()] && !listed[s.String()] {
				t.Errorf("%s has a manifest and is not listed: no step waits for it", s)
			}
		}
	}
}

// claimedBy finds the policy that selects a workload.
func claimedBy(t *testing.T, instance string, workload *unstructured.Unstructured) string {
	t.Helper()
	objects, _ := load(t, instance)
	for _, policy := range objects {
		if policy.GetKind() != "PropagationPolicy" && policy.GetKind() != "ClusterPropagationPolicy" {
			continue
		}
		if policy.GetNamespace() != "" && policy.GetNamespace() != workload.GetNamespace() {
			continue
		}
		selectors, _, _ := unstructured.NestedSlice(policy.Object, "spec", "resourceSelectors")
		for _, s := range selectors {
			selector := s.(map[string]any)
			if selector["kind"] != workload.GetKind() || (selector["name"] != nil && selector["name"] != workload.GetName()) {
				continue
			}
			labels, _, _ := unstructured.NestedStringMap(selector, "labelSelector", "matchLabels")
			matches := true
			for key, value := range labels {
				matches = matches && workload.GetLabels()[key] == value
			}
			if matches {
				return policy.GetName()
			}
		}
	}
	return ""
}

func TestPoliciesComeFirst(t *testing.T) {
	for _, instance := range []string{"alpha", "beta"} {
		objects, _ := load(t, instance)
		workload := ""
		for _, o := range objects {
			switch o.GroupVersionKind().Group {
			case "apps", "batch":
				workload = o.GetName()
			case "policy.karmada.io":
				if workload != "" {
					t.Errorf("%s: policy %s comes after %s, which would be claimed late", instance, o.GetName(), workload)
				}
			}
		}
	}
}

func TestMissing(t *testing.T) {
	object := func(status map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"status": status}}
	}
	ready := status(4, "readyReplicas")
	if missing := ready(object(map[string]any{"readyReplicas": int64(3)})); missing != "status.readyReplicas is 3, not 4" {
		t.Errorf("three of four ready: %q", missing)
	}
	if missing := ready(object(nil)); missing == "" {
		t.Error("no status at all counts as complete")
	}
	if missing := ready(object(map[string]any{"readyReplicas": int64(4)})); missing != "" {
		t.Errorf("four of four ready: %q", missing)
	}
	if missing := completed(object(map[string]any{"succeeded": int64(2)})); missing == "" {
		t.Error("a Job without the condition Complete counts as complete")
	}
}

func TestBinding(t *testing.T) {
	for kind, want := range map[string]string{
		"Deployment": "x-deployment", "StatefulSet": "x-statefulset", "DaemonSet": "x-daemonset", "Job": "x-job", "CronJob": "x-cronjob",
	} {
		if got := (Sample{GVK: schema.GroupVersionKind{Kind: kind}, Name: "x"}).Binding(); got != want {
			t.Errorf("the binding of a %s is %s, want Karmada's name %s", kind, got, want)
		}
	}
}
