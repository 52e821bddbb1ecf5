package explanation

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"

	"github.com/kairship-io/kairship/pkg/fleet/workload"
)

// capturedIn is where the states of real workloads are.
const capturedIn = "../workload/testdata"

// captured is what was saved of one workload of a real fleet, with its state.
func captured(t *testing.T, name string) *workload.Explainable {
	t.Helper()
	f := &workload.Facts{
		Template: &workload.Object{}, Members: map[string]workload.Member{}, Objects: map[string]*workload.Object{},
		Overrides: map[string][]workload.AppliedOverride{}, OverridePolicies: []*policyv1alpha1.OverridePolicy{},
	}
	x := &workload.Explainable{Facts: f, Works: map[string]*workv1alpha1.Work{}, SeesMembers: true}
	dir := filepath.Join(capturedIn, name)
	decode(t, filepath.Join(dir, "template.json"), f.Template)
	f.Kind, _ = f.Template.WorkloadKind()
	if binding := (&workv1alpha2.ResourceBinding{}); decode(t, filepath.Join(dir, "binding.json"), binding) {
		f.Binding = binding
	}
	files, err := filepath.Glob(filepath.Join(dir, "*-*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		what, cluster, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".json"), "-")
		switch what {
		case "cluster":
			c := &clusterv1alpha1.Cluster{}
			decode(t, file, c)
			// What the clusters serve was not saved.
			c.Status.APIEnablements = member(cluster).Cluster.Status.APIEnablements
			f.Members[cluster] = workload.MemberOf(c)
		case "object":
			f.Objects[cluster] = &workload.Object{}
			decode(t, file, f.Objects[cluster])
		case "work":
			x.Works[cluster] = &workv1alpha1.Work{}
			decode(t, file, x.Works[cluster])
			workload.Record(f.Overrides, x.Works[cluster].Namespace, x.Works[cluster].Annotations)
		case "override":
			o := &policyv1alpha1.OverridePolicy{}
			decode(t, file, o)
			f.OverridePolicies = append(f.OverridePolicies, o)
		}
	}
	status := workload.Evaluate(*f)
	x.Status = &status
	return x
}

func decode(t *testing.T, file string, into any) bool {
	t.Helper()
	raw, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if err == nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		t.Fatal(err)
	}
	return true
}

// TestAgreesWithHealth compares the explanation of every captured workload with its health.
func TestAgreesWithHealth(t *testing.T) {
	entries, err := os.ReadDir(capturedIn)
	if err != nil {
		t.Fatal(err)
	}
	explained := 0
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		explained++
		t.Run(entry.Name(), func(t *testing.T) {
			x := captured(t, entry.Name())
			agrees(t, x, Explain(x))
			if at := natural(x); !slices.Contains(states[x.Status.Health], at) {
				t.Errorf("its stages alone are %s, and it is %s", at, x.Status.Health)
			}
			x.SeesMembers = false
			agrees(t, x, Explain(x))
		})
	}
	if explained < 30 {
		t.Errorf("only %d workloads were explained", explained)
	}
}

// natural is the state that follows from the stages, whatever the health.
func natural(x *workload.Explainable) State {
	in := inputsOf(x)
	steps := append([]Step{in.policy(), in.scheduling()}, in.placements()...)
	if in.Template.Deleting() {
		steps = steps[:1]
	}
	return steps[current(steps)].State
}

// agrees checks what holds for every explanation.
func agrees(t *testing.T, x *workload.Explainable, e *Explanation) {
	t.Helper()
	if !slices.Contains(states[x.Status.Health], e.State) {
		t.Errorf("it is %s, and its explanation %s", x.Status.Health, e.State)
	}
	if e.State == StateWaiting && x.Status.Health == workload.HealthHealthy && !x.Status.Suspended {
		t.Error("it is healthy and waits, and nothing is suspended")
	}
	if x.Status.Message != "" && e.Summary != x.Status.Message {
		t.Errorf("its health says %q, and its explanation %q", x.Status.Message, e.Summary)
	}
	stages := []Stage{StagePolicy, StageScheduling, StageOverride, StageDispatch, StageApply, StageRun}
	for i, s := range e.Steps {
		if s.Stage != stages[i] {
			t.Errorf("step %d is %s", i, s.Stage)
		}
		if s.Summary == "" || e.Summary == "" {
			t.Errorf("%s says nothing", s.Stage)
		}
		if s.Stage == e.Stage && e.State != StatePassed && x.Status.Message != "" && s.Summary != x.Status.Message {
			t.Errorf("the health says %q, and %s %q", x.Status.Message, s.Stage, s.Summary)
		}
		if s.State == StateNotReached && len(s.Reasons) > 0 {
			t.Errorf("%s is not reached and has reasons", s.Stage)
		}
		if s.State == StateFailed && len(s.Reasons) == 0 {
			t.Errorf("%s failed without a reason", s.Stage)
		}
		for _, r := range s.Reasons {
			if r.Code == "" || r.Message == "" {
				t.Errorf("%s has an empty reason: %+v", s.Stage, r)
			}
		}
	}
	if codes := codesAt(e, StagePolicy); slices.Contains(codes, string(PolicyNone)) && slices.Contains(codes, string(PolicyClaimPending)) {
		t.Errorf("no policy selects it, and one does: %v", codes)
	}
	words(t, x, e)
}

// words checks that what an explanation says about the clusters is what their placements say.
func words(t *testing.T, x *workload.Explainable, e *Explanation) {
	t.Helper()
	for i := range x.Status.Placements {
		p := &x.Status.Placements[i]
		said := p.Message == "" || !p.Scheduled || p.Health == workload.HealthHealthy || x.Facts.Template.Deleting()
		for _, s := range e.Steps {
			for _, r := range s.Reasons {
				said = said || (r.ClusterName != nil && *r.ClusterName == p.Cluster && (strings.Contains(p.Message, r.Message) || strings.HasPrefix(r.Message, p.Message)))
			}
		}
		if !said {
			t.Errorf("%s says %q, and no reason does", p.Cluster, p.Message)
		}
	}
}

// TestCaptured explains some of the captured workloads.
func TestCaptured(t *testing.T) {
	for _, tt := range []struct {
		name, reason string
		stage        Stage
		state        State
		// codes are those of the reasons of the stage, with their clusters.
		codes []string
	}{
		{"frontend", "a healthy workload has passed all stages", StageRun, StatePassed, nil},
		{"orphan", "no policy selects it", StagePolicy, StateFailed, []string{"POLICY_NONE"}},
		{"stuck", "its policy asks for a label that no cluster has", StageScheduling, StateFailed, []string{"NO_CLUSTER_FITS", "CLUSTER_AFFINITY m1", "CLUSTER_AFFINITY m2"}},
		{"too-large", "the replicas do not fit", StageScheduling, StateFailed, []string{"NOT_ENOUGH_RESOURCES"}},
		{"suspended-new", "nothing was sent", StageDispatch, StateWaiting, []string{"DISPATCH_SUSPENDED m1", "DISPATCH_SUSPENDED m2"}},
		{"suspended-one", "one cluster runs it", StageDispatch, StateWaiting, []string{"DISPATCH_SUSPENDED m2"}},
		{"suspended-later", "an earlier version runs", StageDispatch, StateWaiting, []string{"DISPATCH_SUSPENDED m1"}},
		{"conflict", "an object of the name is there", StageApply, StateFailed, []string{"APPLY_CONFLICT m2"}},
		{"quota", "pods are refused in m1", StageRun, StateFailed, []string{"REPLICAS_NOT_CREATED m1"}},
		{"starting", "pods wait for a node", StageRun, StateWaiting, []string{"ROLLOUT_PROGRESSING m1", "ROLLOUT_PROGRESSING m2"}},
		{"deadline", "the rollout took too long", StageRun, StateFailed, []string{"ROLLOUT_FAILED m1"}},
		{"job-failed", "the Job ran out of time", StageRun, StateFailed, []string{"JOB_FAILED m1"}},
		{"cron-failed", "the last run failed", StageRun, StateFailed, []string{"CRON_JOB_RUN_FAILED m1"}},
		{"deleting", "it is being deleted", StagePolicy, StateWaiting, []string{"TEMPLATE_DELETING"}},
		{"member-down", "m2 cannot be observed", StageRun, StateFailed, []string{"CLUSTER_NOT_READY m2"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Log(tt.reason)
			e := Explain(captured(t, tt.name))
			if e.Stage != tt.stage || e.State != tt.state {
				t.Errorf("it stands at %s %s, want %s %s", e.Stage, e.State, tt.stage, tt.state)
			}
			if got := codesAt(e, tt.stage); !slices.Equal(got, tt.codes) {
				t.Errorf("reasons %v, want %v", got, tt.codes)
			}
		})
	}
}

// codesAt are the codes of the reasons of a stage, with their clusters.
func codesAt(e *Explanation, stage Stage) []string {
	var codes []string
	for _, s := range e.Steps {
		for _, r := range s.Reasons {
			if s.Stage != stage {
				continue
			}
			code := string(r.Code)
			if r.ClusterName != nil {
				code += " " + *r.ClusterName
			}
			codes = append(codes, code)
		}
	}
	return codes
}
