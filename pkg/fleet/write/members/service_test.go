package members

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/write/writetest"
)

const m1 = "/apis/cluster.karmada.io/v1alpha1/clusters/m1"

func newCluster(t *testing.T) (*writetest.Instance, *Service) {
	t.Helper()
	i, w := writetest.New(t, metav1.APIResource{Group: "cluster.karmada.io", Version: "v1alpha1", Name: "clusters", Kind: "Cluster"})
	i.Put(m1, map[string]any{
		"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": map[string]any{"name": "m1", "labels": map[string]any{"a": "1"}},
		"spec": map[string]any{"syncMode": "Push", "region": "north", "zone": "north-1", "later": "unknown"},
	})
	return i, &Service{Writer: w}
}

// moving has another client write the cluster before each of the first updates.
func moving(i *writetest.Instance, times int) {
	i.Before = func(r *http.Request, path string) error {
		if r.Method == http.MethodPut && times > 0 {
			times--
			u := (&unstructured.Unstructured{Object: i.Objects[path]}).DeepCopy()
			_ = unstructured.SetNestedField(u.Object, int64(times), "status", "seen")
			i.Put(path, u.Object)
		}
		return nil
	}
}

// A cluster is cordoned whatever Karmada writes in between; a request with an outdated version is a
// conflict.
func TestConflicts(t *testing.T) {
	version := "1"
	for _, tt := range []struct {
		reason   string
		moves    int
		version  *string
		conflict bool
	}{
		{"no other client writes", 0, nil, false},
		{"others write meanwhile", attempts - 1, nil, false},
		{"it never ends", attempts, nil, true},
		{"another version is meant", 0, &version, true},
	} {
		i, s := newCluster(t)
		moving(i, tt.moves)
		p, err := s.Cordon(writetest.As(t.Context()), CordonInput{Instance: writetest.Name, Name: "m1", ResourceVersion: tt.version})
		if tt.conflict {
			if !apierror.Is(err, apierror.CodeConflict) || !strings.HasPrefix(err.Error(), "input.resourceVersion: ") {
				t.Errorf("%s: got %v, want CONFLICT", tt.reason, err)
			}
			continue
		}
		if err != nil || p.MemberCluster == nil {
			t.Errorf("%s: %v, %v", tt.reason, p, err)
		}
		taints, _, _ := unstructured.NestedSlice(i.Get(m1).Object, "spec", "taints")
		if len(taints) != 1 {
			t.Errorf("%s: the taints are %v", tt.reason, taints)
		}
	}
}

// Fields that an input omits keep their values, and those that it has are replaced.
func TestUpdate(t *testing.T) {
	text := func(s string) *string { return &s }
	for _, tt := range []struct {
		reason string
		in     UpdateInput
		labels map[string]string
		want   map[string]any
	}{
		{"nothing said", UpdateInput{}, map[string]string{"a": "1"}, map[string]any{"region": "north", "zone": "north-1"}},
		{"no labels", UpdateInput{Labels: []object.Pair{}}, map[string]string{}, map[string]any{"region": "north", "zone": "north-1"}},
		{"other labels", UpdateInput{Labels: []object.Pair{{Key: "b", Value: "2"}}}, map[string]string{"b": "2"}, map[string]any{"region": "north", "zone": "north-1"}},
		{
			"zones take the place of the one that Karmada deprecates", UpdateInput{Zones: []string{"z-1", "z-2"}, Provider: text("p"), Region: text("")},
			map[string]string{"a": "1"}, map[string]any{"region": "", "provider": "p", "zones": []any{"z-1", "z-2"}},
		},
		{"a taint", UpdateInput{Taints: []TaintInput{{"a", "", "NoExecute"}}}, map[string]string{"a": "1"}, map[string]any{
			"region": "north", "zone": "north-1", "taints": []any{map[string]any{"key": "a", "effect": "NoExecute"}},
		}},
	} {
		for _, dryRun := range []bool{true, false} {
			i, s := newCluster(t)
			in := tt.in
			in.Instance, in.Name, in.DryRun, in.ResourceVersion = writetest.Name, "m1", dryRun, i.Get(m1).GetResourceVersion()
			p, err := s.Update(writetest.As(t.Context()), in)
			if err != nil || p.MemberCluster == nil || p.ConsistencyToken != nil {
				t.Fatalf("%s: %v, %v", tt.reason, p, err)
			}
			if sent := len(i.Written()); (sent == 0) != dryRun {
				t.Errorf("%s (dry run: %t): %d writes", tt.reason, dryRun, sent)
			}
			if dryRun {
				continue
			}
			tt.want["syncMode"], tt.want["later"] = "Push", "unknown"
			now := i.Get(m1)
			if diff := cmp.Diff(tt.want, now.Object["spec"]); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
			if diff := cmp.Diff(tt.labels, now.GetLabels()); diff != "" {
				t.Errorf("%s: labels (-want +got):\n%s", tt.reason, diff)
			}
		}
	}
}

// A version that says nothing would be none, and the change made whatever else changed.
func TestNoVersion(t *testing.T) {
	i, s := newCluster(t)
	ctx := writetest.As(t.Context())
	for reason, send := range map[string]func() error{
		"update": func() error {
			_, err := s.Update(ctx, UpdateInput{Instance: writetest.Name, Name: "m1"})
			return err
		},
		"cordon": func() error {
			_, err := s.Cordon(ctx, CordonInput{Instance: writetest.Name, Name: "m1", ResourceVersion: new(string)})
			return err
		},
		"uncordon": func() error {
			_, err := s.Uncordon(ctx, CordonInput{Instance: writetest.Name, Name: "m1", ResourceVersion: new(string)})
			return err
		},
	} {
		if err := send(); !apierror.Is(err, apierror.CodeInvalid) || !strings.HasPrefix(err.Error(), "input.resourceVersion: ") {
			t.Errorf("%s: got %v, want INVALID", reason, err)
		}
	}
	if sent := i.Written(); len(sent) > 0 {
		t.Errorf("something was written: %v", sent)
	}
}
