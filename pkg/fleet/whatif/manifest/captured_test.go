package manifest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/fleet/whatif/diff"
	"github.com/kairship-io/kairship/pkg/fleet/whatif/snapshot"
)

// capturedIn is where the states of real workloads are.
const capturedIn = "../../workload/testdata"

func read(t *testing.T, file string, into any) bool {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		return false
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return true
}

// captured is a real workload with the Works that Karmada made of it; false where it has no binding.
func captured(t *testing.T, name string, more ...client.Object) (*Source, map[string]*workv1alpha1.Work, bool) {
	t.Helper()
	dir := filepath.Join(capturedIn, name)
	s := &Source{Template: &unstructured.Unstructured{}, Binding: &workv1alpha2.ResourceBinding{}}
	read(t, filepath.Join(dir, "template.json"), s.Template)
	if !read(t, filepath.Join(dir, "binding.json"), s.Binding) {
		return nil, nil, false
	}
	files, err := filepath.Glob(filepath.Join(dir, "*-*.json"))
	if err != nil {
		t.Fatal(err)
	}
	works := map[string]*workv1alpha1.Work{}
	var objects []client.Object
	for _, file := range files {
		what, cluster, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".json"), "-")
		switch what {
		case "cluster":
			c := &clusterv1alpha1.Cluster{}
			read(t, file, c)
			objects = append(objects, c)
		case "work":
			works[cluster] = &workv1alpha1.Work{}
			read(t, file, works[cluster])
		case "override":
			p := &policyv1alpha1.OverridePolicy{}
			read(t, file, p)
			if p.Namespace != "" {
				objects = append(objects, p)
			} else {
				objects = append(objects, &policyv1alpha1.ClusterOverridePolicy{ObjectMeta: p.ObjectMeta, Spec: p.Spec})
			}
		}
	}
	s.Policies = policies(t, append(objects, more...)...)
	return s, works, true
}

func policies(t *testing.T, objects ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, install := range []func(*runtime.Scheme) error{clusterv1alpha1.Install, policyv1alpha1.Install} {
		if err := install(scheme); err != nil {
			t.Fatal(err)
		}
	}
	s, err := snapshot.New(scheme, objects...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestCapturedManifests makes the manifests of real workloads, which are those that Karmada made.
func TestCapturedManifests(t *testing.T) {
	entries, err := os.ReadDir(capturedIn)
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		name := entry.Name()
		s, works, ok := captured(t, name)
		if !ok || s.Template.GetDeletionTimestamp() != nil {
			continue
		}
		for _, made := range Make(s, works) {
			if made.Err != nil {
				t.Errorf("%s in %s: %v", name, made.Cluster, made.Err)
				continue
			}
			work := works[made.Cluster]
			if work == nil {
				continue
			}
			sent, err := Sent(work, s.Template)
			if err != nil || sent == nil {
				t.Errorf("%s in %s: %v, %v", name, made.Cluster, sent, err)
				continue
			}
			compared++
			changes := diff.Between(sent.Object, made.Manifest.Object)
			if len(changes) > 0 {
				t.Errorf("%s in %s differs in %d fields", name, made.Cluster, len(changes))
				for _, c := range changes {
					t.Logf("  %s: %s -> %s", c.Path, value(c.Before), value(c.After))
				}
			}
		}
	}
	if compared < 30 {
		t.Errorf("only %d manifests were compared", compared)
	}
}

func value(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}
