package drift

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// capturedIn is where the states of real workloads are.
const capturedIn = "../workload/testdata"

// captured is what was saved of the workload of a directory in a cluster; nil where the cluster has none.
func captured(t *testing.T, name, cluster string) *Observed {
	t.Helper()
	o := &Observed{Work: &workv1alpha1.Work{}, Object: &unstructured.Unstructured{}}
	raw, err := os.ReadFile(filepath.Join(capturedIn, name, "work-"+cluster+".json"))
	if err != nil {
		return nil
	}
	if err := json.Unmarshal(raw, o.Work); err != nil {
		t.Fatal(err)
	}
	if raw, err = os.ReadFile(filepath.Join(capturedIn, name, "object-"+cluster+".json")); err != nil {
		return nil
	}
	if err := o.Object.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	return o
}

// TestCapturedWorkloads checks that no real workload has drifted that was not changed in a member.
func TestCapturedWorkloads(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(capturedIn, "*", "object-*.json"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]Action{"conflict": ActionConflict, "suspended-later": ActionSuspended, "member-down-changed": ActionPending}
	compared := 0
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		cluster := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "object-"), ".json")
		o := captured(t, name, cluster)
		if o == nil {
			continue
		}
		compared++
		d, err := Of(o)
		if err != nil {
			t.Errorf("%s in %s: %v", name, cluster, err)
			continue
		}
		if d == nil {
			t.Errorf("%s in %s: the Work has no manifest of it", name, cluster)
			continue
		}
		expected := want[name]
		if expected == "" || d.TotalFields == 0 {
			expected = ActionNone
		}
		// The object of another client that is in the way is not Karmada's, and no placement has it.
		if d.Action != expected || d.Drifted != (name == "conflict" && d.Action != ActionNone) {
			t.Errorf("%s in %s: %s, not %s, drifted %v\n%s", name, cluster, d.Action, expected, d.Drifted, lines(d))
		}
	}
	if compared < 30 {
		t.Errorf("only %d objects were compared", compared)
	}
}

// lines are the fields of a drift as "path: sent -> found".
func lines(d *Drift) string {
	var b strings.Builder
	for i := range d.Fields {
		f := &d.Fields[i]
		b.WriteString(f.Path + ": " + deref(f.Sent) + " -> " + deref(f.Found))
		if f.Retained {
			b.WriteString(" retained")
		}
		b.WriteString("\n")
	}
	return b.String()
}

func deref(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}
