package workload

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestKinds(t *testing.T) {
	want := map[Kind]string{
		KindDeployment:  "apps/v1, Resource=deployments Deployment",
		KindStatefulSet: "apps/v1, Resource=statefulsets StatefulSet",
		KindDaemonSet:   "apps/v1, Resource=daemonsets DaemonSet",
		KindJob:         "batch/v1, Resource=jobs Job",
		KindCronJob:     "batch/v1, Resource=cronjobs CronJob",
	}
	if len(Kinds()) != len(want) {
		t.Fatalf("there are %d kinds, want %d", len(Kinds()), len(want))
	}
	for _, kind := range Kinds() {
		if got := kind.GVR().String() + " " + kind.GVK().Kind; got != want[kind] {
			t.Errorf("%s is %q, want %q", kind, got, want[kind])
		}
		if back, ok := KindFromGVK(kind.GVK()); !ok || back != kind {
			t.Errorf("the GVK of %s is %s, %v", kind, back, ok)
		}
		if back, ok := KindFromGVR(kind.GVR()); !ok || back != kind {
			t.Errorf("the GVR of %s is %s, %v", kind, back, ok)
		}
		if !kind.Valid() {
			t.Errorf("%s is not valid", kind)
		}
	}
}

func TestNoKind(t *testing.T) {
	for reason, gvk := range map[string]schema.GroupVersionKind{
		"a ReplicaSet is no template":           {Group: "apps", Version: "v1", Kind: "ReplicaSet"},
		"the same kind of another group":        {Group: "example.com", Version: "v1", Kind: "Deployment"},
		"an object that does not say its kind":  {},
		"a kind of the core group named alike":  {Version: "v1", Kind: "Job"},
		"the plural is a resource and no kind":  {Group: "apps", Version: "v1", Kind: "deployments"},
		"GraphQL's name is not Kubernetes' one": {Group: "batch", Version: "v1", Kind: "CRON_JOB"},
	} {
		if kind, ok := KindFromGVK(gvk); ok {
			t.Errorf("%s: %v is %s", reason, gvk, kind)
		}
	}
	if _, ok := KindFromGVR(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"}); ok {
		t.Error("replicasets are a workload")
	}
	if Kind("POD").Valid() || !Kind("POD").GVR().Empty() || !Kind("POD").GVK().Empty() {
		t.Error("an unknown kind has a resource")
	}
	if gvk := (schema.GroupVersionKind{Group: "batch", Version: "v1beta1", Kind: "CronJob"}); !slices.Contains(Kinds(), mustKind(t, gvk)) {
		t.Error("an older version is another kind")
	}
}

func mustKind(t *testing.T, gvk schema.GroupVersionKind) Kind {
	t.Helper()
	kind, ok := KindFromGVK(gvk)
	if !ok {
		t.Errorf("%v is no workload", gvk)
	}
	return kind
}
