package operation

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestJudge(t *testing.T) {
	began := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	under := finding{steps: []Step{{Name: StepWritten, State: StepDone}, {Name: StepScheduled, State: StepRunning}}, waits: "it waits"}
	done := finding{steps: []Step{{Name: StepWritten, State: StepDone}}}
	overriding := []Object{{Group: "policy.karmada.io", Version: "v1alpha1", Resource: "overridepolicies", Kind: "OverridePolicy", Name: "one", ResourceVersion: "7"}}
	in := func(reason string, final bool) finding {
		return finding{steps: under.steps, trouble: &trouble{reason, "why", final}}
	}
	type look struct {
		after time.Duration
		see   finding
		state State
		wait  time.Duration
	}
	for _, tt := range []struct {
		name  string
		looks []look
		wrote []Object
	}{
		{"it is done", []look{{0, done, Succeeded, 0}}, nil},
		{"it is under way", []look{{time.Minute, under, Running, longest - time.Minute}}, nil},
		{"it takes too long", []look{{longest, under, Failed, 0}}, nil},
		{"it is over for good", []look{{0, in("DELETED", true), Failed, 0}}, nil},
		{"trouble that passes", []look{
			{0, in("UNSCHEDULED", false), Running, patience},
			{patience - time.Second, in("UNSCHEDULED", false), Running, time.Second},
			{patience, under, Running, longest - patience},
			{patience + time.Second, in("UNSCHEDULED", false), Running, patience},
		}, nil},
		{"trouble that lasts", []look{
			{0, in("UNSCHEDULED", false), Running, patience},
			{patience, in("UNSCHEDULED", false), Failed, 0},
		}, nil},
		{"other trouble begins anew", []look{
			{0, in("UNSCHEDULED", false), Running, patience},
			{patience, in("NOT_APPLIED", false), Running, patience},
		}, nil},
		{"trouble in the end", []look{{longest - time.Second, in("UNSCHEDULED", false), Running, time.Second}}, nil},
		{"override policies have to settle", []look{
			{0, done, Running, settling},
			{settling - time.Second, done, Running, time.Second},
			{settling, done, Succeeded, 0},
		}, overriding},
		{"a break begins the settling anew", []look{
			{0, done, Running, settling},
			{time.Second, under, Running, longest - time.Second},
			{settling, done, Running, settling},
			{2 * settling, done, Succeeded, 0},
		}, overriding},
	} {
		t.Run(tt.name, func(t *testing.T) {
			j := judge{id: "id", op: Operation{Kind: KindJoinCluster, Instance: "alpha", Began: began, Objects: tt.wrote}}
			for _, l := range tt.looks {
				p, wait := j.next(l.see, began.Add(l.after))
				if p.State != l.state || wait != l.wait {
					t.Errorf("after %s: %s, look again after %s; want %s, %s", l.after, p.State, wait, l.state, l.wait)
				}
				if (p.State == Failed) != (p.Reason != nil) {
					t.Errorf("after %s: %s with reason %v", l.after, p.State, p.Reason)
				}
				if failed := states(p.Steps)[StepScheduled] == StepFailed; failed != (p.State == Failed) {
					t.Errorf("after %s: %s with steps %v", l.after, p.State, p.Steps)
				}
			}
		})
	}
}

func TestSequence(t *testing.T) {
	got := states(sequence(one(StepWritten, true, ""), one(StepCredentials, false, "why"), one(StepRegistered, false, "x"), counted(StepReady, 0, 0)))
	want := map[StepName]StepState{StepWritten: StepDone, StepCredentials: StepRunning, StepRegistered: StepPending, StepReady: StepPending}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
