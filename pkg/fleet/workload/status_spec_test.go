package workload

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// checkSpec checks that a template whose spec is said not to matter gives the
// same state with its metadata alone.
func checkSpec(t *testing.T, in Facts) {
	t.Helper()
	if in.Template == nil || in.needSpec() {
		return
	}
	want := Evaluate(in)
	in.Template = &Object{TypeMeta: in.Template.TypeMeta, ObjectMeta: in.Template.ObjectMeta}
	if diff := cmp.Diff(want, Evaluate(in)); diff != "" {
		t.Errorf("the spec was said not to matter, and it does (-with +without):\n%s", diff)
	}
}

// TestNeedSpec: which states need more of a template than its metadata.
func TestNeedSpec(t *testing.T) {
	needed := map[string]string{
		"conflict":            "m2's object is not the workload's, so it does not tell whether rollouts are paused",
		"member-down-changed": "m2's object is older than the template",
		"suspended-new":       "nothing was sent yet",
		"suspended-one":       "nothing was sent to one of the clusters yet",
		"suspended-later":     "what was sent is not what the template says",
		"job-divided":         "only the spec says how many completions there are in all",
		"job-failed":          "Jobs say in their spec whether they are suspended",
		"job-running":         "Jobs say in their spec whether they are suspended",
		"job-suspended":       "Jobs say in their spec whether they are suspended",
		"migrate":             "Jobs say in their spec whether they are suspended",
		"cron-failed":         "CronJobs say in their spec whether they are suspended",
		"cron-ran":            "CronJobs say in their spec whether they are suspended",
		"cron-running":        "CronJobs say in their spec whether they are suspended",
		"cron-suspended":      "CronJobs say in their spec whether they are suspended",
		"report":              "CronJobs say in their spec whether they are suspended",
	}
	entries, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		t.Run(entry.Name(), func(t *testing.T) {
			in := load(t, entry.Name()).facts
			why, want := needed[entry.Name()]
			if got := in.needSpec(); got != want {
				t.Errorf("needSpec is %v, want %v: %s", got, want, why)
			}
			checkSpec(t, in)
		})
	}
}
