package changes

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/fleet/object"
)

func TestPaths(t *testing.T) {
	type capacity struct {
		CPU   object.Capacity
		PodIP string
		Named []object.Pair `json:"pairs"`
		Shown any
		Count *int
	}
	one, two := 1, 2
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	spec := func(names ...string) policyv1alpha1.PropagationSpec {
		return policyv1alpha1.PropagationSpec{Placement: policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: names}}}
	}
	for _, tt := range []struct {
		name          string
		before, after any
		want          []string
	}{
		{"equal values differ nowhere", "a", "a", nil},
		{"a scalar differs as a whole", "a", "b", []string{"f"}},
		{"null to a value is the field", (*int)(nil), &one, []string{"f"}},
		{"pointers are what they point to", &one, new(1), nil},
		{"two nulls are equal", (*int)(nil), (*int)(nil), nil},
		{"fields are named as the API does", capacity{CPU: object.Capacity{Allocatable: 1}}, capacity{CPU: object.Capacity{Allocatable: 2}}, []string{"f.cpu.allocatable"}},
		{"initialisms in the end stay", capacity{PodIP: "a"}, capacity{PodIP: "b"}, []string{"f.podIP"}},
		{"JSON names go first", capacity{Named: []object.Pair{{Key: "k", Value: "a"}}}, capacity{Named: []object.Pair{{Key: "k", Value: "b"}}}, []string{"f.pairs.value"}},
		{"a longer list differs itself", []object.Pair{{Key: "k"}}, []object.Pair{{Key: "k"}, {Key: "l"}}, []string{"f"}},
		{"items are told once", []object.Pair{{Key: "k"}, {Key: "l"}}, []object.Pair{{Key: "m"}, {Key: "n"}}, []string{"f.key"}},
		{"no list is an empty one", []object.Pair(nil), []object.Pair{}, nil},
		{"maps differ as a whole", map[string]string{"a": "b"}, map[string]string{"a": "c"}, []string{"f"}},
		{"any value", capacity{Shown: map[string]any{"a": 1.0}}, capacity{Shown: map[string]any{"a": 2.0}}, []string{"f.shown"}},
		{"another type differs", capacity{Shown: "a"}, capacity{Shown: 1}, []string{"f.shown"}},
		{"pointers in fields", capacity{Count: &one}, capacity{Count: &two}, []string{"f.count"}},
		{"times are one value", metav1.NewTime(noon), metav1.NewTime(noon.Add(time.Second)), []string{"f"}},
		{"one moment in two zones is one", noon, noon.In(time.FixedZone("X", 3600)).UTC(), nil},
		{"quantities are one value", resource.MustParse("1"), resource.MustParse("2"), []string{"f"}},
		{"quantities that are written differently", resource.MustParse("1000m"), resource.MustParse("1"), nil},
		{"deep below a spec", spec("m1"), spec("m2"), []string{"f.placement.clusterAffinity.clusterNames"}},
		{"a part that was not there", policyv1alpha1.PropagationSpec{}, spec("m1"), []string{"f.placement.clusterAffinity"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, selectedPaths("f", tt.before, tt.after)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTouches(t *testing.T) {
	for _, tt := range []struct {
		name              string
		changed, selected []string
		want              bool
	}{
		{"the same field", []string{"state"}, []string{"state"}, true},
		{"another field", []string{"labels"}, []string{"state"}, false},
		{"a name that begins alike", []string{"health"}, []string{"healthMessage"}, false},
		{"part of what is selected", []string{"manifest.spec"}, []string{"manifest"}, true},
		{"part of what changed", []string{"conditions"}, []string{"conditions.status"}, true},
		{"another part", []string{"conditions.message"}, []string{"conditions.status", "name"}, false},
		{"nothing is selected", []string{"state"}, nil, false},
		{"nothing changed", nil, []string{"state"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := touches(tt.changed, tt.selected); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestOf(t *testing.T) {
	type noun struct {
		name  string
		fails bool
	}
	fields := []Field[noun]{
		{"name", func(n noun) any { return n.name }},
		{"shown", Value(func(n noun) (string, error) {
			if n.fails {
				return "", errors.New("unreadable")
			}
			return "same", nil
		})},
	}
	for _, tt := range []struct {
		name          string
		before, after noun
		want          []string
	}{
		{"nothing", noun{"a", false}, noun{"a", false}, nil},
		{"one field", noun{"a", false}, noun{"b", false}, []string{"name"}},
		{"what can't be read any more", noun{"a", false}, noun{"b", true}, []string{"name", "shown"}},
		{"what still can't be read", noun{"a", true}, noun{"a", true}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Of(fields, tt.before, tt.after)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
