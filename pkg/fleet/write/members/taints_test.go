package members

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kairship-io/kairship/pkg/apierror"
)

var (
	since     = metav1.NewTime(time.Unix(1_800_000_000, 0).UTC())
	notReady  = corev1.Taint{Key: clusterv1alpha1.TaintClusterNotReady, Effect: corev1.TaintEffectNoExecute, TimeAdded: &since}
	dedicated = corev1.Taint{Key: "dedicated", Value: "batch", Effect: corev1.TaintEffectNoSchedule, TimeAdded: &since}
)

func TestTaintsAreReplaced(t *testing.T) {
	for _, tt := range []struct {
		reason string
		now    []corev1.Taint
		given  []TaintInput
		want   []corev1.Taint
		wrong  string
	}{
		{"all of the person's own go", []corev1.Taint{dedicated}, nil, []corev1.Taint{}, ""},
		{"Karmada's stay, whatever is given", []corev1.Taint{notReady, dedicated}, []TaintInput{}, []corev1.Taint{notReady}, ""},
		{
			"what was there is the same taint, with the time since when", []corev1.Taint{dedicated},
			[]TaintInput{{"a", "", "NoExecute"}, {"dedicated", "batch", "NoSchedule"}},
			[]corev1.Taint{{Key: "a", Effect: "NoExecute"}, dedicated}, "",
		},
		{
			"another value is another taint", []corev1.Taint{dedicated}, []TaintInput{{"dedicated", "web", "NoSchedule"}},
			[]corev1.Taint{{Key: "dedicated", Value: "web", Effect: "NoSchedule"}}, "",
		},
		{
			"another effect is another taint", []corev1.Taint{dedicated}, []TaintInput{{"dedicated", "batch", "NoExecute"}},
			[]corev1.Taint{{Key: "dedicated", Value: "batch", Effect: "NoExecute"}}, "",
		},
		{
			"what was seen may be sent back, Karmada's too", []corev1.Taint{notReady, dedicated},
			[]TaintInput{{"dedicated", "batch", "NoSchedule"}, {notReady.Key, "", "NoExecute"}}, []corev1.Taint{dedicated, notReady}, "",
		},
		{"no other state calls a cluster not ready", nil, []TaintInput{{"a", "", "NoExecute"}, {notReady.Key, "", "NoExecute"}}, nil, "input.taints[1].key"},
		{"nor with another value", []corev1.Taint{notReady}, []TaintInput{{notReady.Key, "x", "NoExecute"}}, nil, "input.taints[0].key"},
		{"nor cordons it so", nil, []TaintInput{{unschedulable.Key, "", "NoSchedule"}}, nil, "input.taints[0].key"},
		{"a key that begins alike is one's own", nil, []TaintInput{{"cluster.karmada.io.example.com/a", "", "NoSchedule"}}, []corev1.Taint{{Key: "cluster.karmada.io.example.com/a", Effect: "NoSchedule"}}, ""},
	} {
		got, err := replaced(tt.now, tt.given)
		if tt.wrong != "" {
			e, ok := err.(*apierror.Error) //nolint:errorlint // It is returned as it is.
			if !ok || e.Code != apierror.CodeInvalid || e.Argument != tt.wrong {
				t.Errorf("%s: got %v, want INVALID at %s", tt.reason, err, tt.wrong)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.reason, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}

func TestCordoned(t *testing.T) {
	for _, tt := range []struct {
		reason string
		now    []corev1.Taint
		cordon bool
		want   []corev1.Taint
	}{
		{"the first taint", nil, true, []corev1.Taint{unschedulable}},
		{"beside others", []corev1.Taint{dedicated, notReady}, true, []corev1.Taint{dedicated, notReady, unschedulable}},
		{"twice is once", []corev1.Taint{unschedulable, dedicated}, true, []corev1.Taint{unschedulable, dedicated}},
		{"the others stay", []corev1.Taint{dedicated, unschedulable, notReady}, false, []corev1.Taint{dedicated, notReady}},
		{"what is not cordoned", []corev1.Taint{dedicated}, false, []corev1.Taint{dedicated}},
		{
			"the same key with another effect is another taint",
			[]corev1.Taint{{Key: unschedulable.Key, Effect: corev1.TaintEffectNoExecute}}, false,
			[]corev1.Taint{{Key: unschedulable.Key, Effect: corev1.TaintEffectNoExecute}},
		},
	} {
		before := append([]corev1.Taint(nil), tt.now...)
		if diff := cmp.Diff(tt.want, cordoned(tt.now, tt.cordon)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
		if diff := cmp.Diff(before, tt.now); diff != "" {
			t.Errorf("%s: it changed what it was given: %s", tt.reason, diff)
		}
	}
}

// Taints that are read and written back stay the same, and other taints are kept.
func TestTaintsOfACluster(t *testing.T) {
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": map[string]any{"name": "m1"},
		"spec": map[string]any{"syncMode": "Push", "later": "unknown"},
	}}
	if err := setTaints(u, []corev1.Taint{dedicated, notReady}); err != nil {
		t.Fatal(err)
	}
	got, err := taintsOf(u)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]corev1.Taint{dedicated, notReady}, got, cmp.Comparer(func(a, b *metav1.Time) bool { return a.Equal(b) })); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if later, _, _ := unstructured.NestedString(u.Object, "spec", "later"); later != "unknown" {
		t.Error("a field that Kairship does not know is lost")
	}
}

func TestTainted(t *testing.T) {
	own := corev1.Taint{Key: "kairship.io/drain", Value: "a", Effect: corev1.TaintEffectNoSchedule}
	since := own
	since.TimeAdded = &metav1.Time{Time: time.Unix(1, 0)}
	next := own
	next.Value = "b"
	for _, tt := range []struct {
		reason string
		now    []corev1.Taint
		taint  corev1.Taint
		want   bool
		after  []corev1.Taint
	}{
		{"the first taint", nil, own, true, []corev1.Taint{own}},
		{"the same again keeps its time", []corev1.Taint{dedicated, since}, own, true, []corev1.Taint{dedicated, since}},
		{"another value", []corev1.Taint{since, dedicated}, next, true, []corev1.Taint{dedicated, next}},
		{"taken away, whatever its value", []corev1.Taint{since, dedicated}, next, false, []corev1.Taint{dedicated}},
		{"none to take away", []corev1.Taint{dedicated}, own, false, []corev1.Taint{dedicated}},
	} {
		if diff := cmp.Diff(tt.after, tainted(tt.now, tt.taint, tt.want)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}
