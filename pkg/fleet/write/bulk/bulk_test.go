package bulk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/fleet/write/workloads"
)

func TestCheck(t *testing.T) {
	three := 3
	for _, tt := range []struct {
		reason string
		in     Input
		kinds  []workload.Kind
		wrong  string
	}{
		{"the kinds that can be scaled", Input{Action: ActionScale, Replicas: &three}, []workload.Kind{workload.KindDeployment, workload.KindStatefulSet}, ""},
		{"Jobs are not run again unless they are named", Input{Action: ActionRestart}, []workload.Kind{workload.KindDeployment, workload.KindStatefulSet, workload.KindDaemonSet}, ""},
		{"Jobs that are named", Input{Action: ActionRestart, Filter: workload.Filter{Kinds: []workload.Kind{workload.KindJob}}}, []workload.Kind{workload.KindJob}, ""},
		{"all are deleted", Input{Action: ActionDelete}, workload.Kinds(), ""},
		{"a kind that cannot be scaled", Input{Action: ActionScale, Replicas: &three, Filter: workload.Filter{Kinds: []workload.Kind{workload.KindDeployment, workload.KindJob}}}, nil, "input.filter.kinds[1]"},
		{"custom workloads by the enum", Input{Action: ActionDelete, Filter: workload.Filter{Kinds: []workload.Kind{workload.KindCustom}}}, nil, "input.filter.kinds[0]"},
		{"custom workloads by name", Input{Action: ActionDelete, Filter: workload.Filter{CustomKinds: []string{"Rollout.argoproj.io"}}}, nil, "input.filter.customKinds"},
		{"scaling to nothing said", Input{Action: ActionScale}, nil, "input.replicas"},
		{"images that nothing needs", Input{Action: ActionRestart, Images: []workloads.Image{{Container: "a", Image: "b"}}}, nil, "input.images"},
		{"labels that nothing needs", Input{Action: ActionDelete, RemoveLabels: []string{"a"}}, nil, "input.labels"},
		{"no label", Input{Action: ActionLabel}, nil, "input.labels"},
		{"more than all may fail", Input{Action: ActionDelete, MaxFailedPercent: 101}, nil, "input.maxFailedPercent"},
	} {
		f, err := tt.in.check()
		switch {
		case tt.wrong == "" && (err != nil || !slices.Equal(f.Kinds, tt.kinds)):
			t.Errorf("%s: got %v, %v", tt.reason, f.Kinds, err)
		case tt.wrong != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.wrong+": ")):
			t.Errorf("%s: got %v, want an error at %s", tt.reason, err, tt.wrong)
		}
	}
}

// The fingerprint stands for what is done, and with which workloads.
func TestFingerprint(t *testing.T) {
	three, four := 3, 4
	web := target{Instance: "alpha", Kind: workload.KindDeployment, Namespace: "shop", Name: "web", UID: "1"}
	again := web
	again.UID = "2"
	first := Input{Action: ActionScale, Replicas: &three}
	want := first.fingerprint([]target{web})
	for _, tt := range []struct {
		reason  string
		in      Input
		targets []target
		same    bool
	}{
		{"the same", Input{Action: ActionScale, Replicas: &three, DryRun: true, MaxFailedPercent: 50}, []target{web}, true},
		{"more replicas", Input{Action: ActionScale, Replicas: &four}, []target{web}, false},
		{"another action", Input{Action: ActionDelete}, []target{web}, false},
		{"other labels", Input{Action: ActionLabel, Labels: []object.Pair{{Key: "a", Value: "b"}}}, []target{web}, false},
		{"another object of the name", first, []target{again}, false},
		{"one more", first, []target{web, again}, false},
		{"none", first, nil, false},
	} {
		if got := tt.in.fingerprint(tt.targets); (got == want) != tt.same {
			t.Errorf("%s: got %q, and %q was made first", tt.reason, got, want)
		}
	}
	if err := (&Input{}).expected(want, 1); !apierror.Is(err, apierror.CodeInvalid) {
		t.Errorf("without what is expected: %v", err)
	}
	for reason, in := range map[string]*Input{"a change": {Expect: new(string)}, "a dry run": {Expect: new(string), DryRun: true}} {
		if err := in.expected(want, 1); !apierror.Is(err, apierror.CodeConflict) {
			t.Errorf("%s that expects something else: %v", reason, err)
		}
	}
	if err := (&Input{DryRun: true}).expected(want, 1); err != nil {
		t.Errorf("a dry run: %v", err)
	}
	if err := (&Input{Expect: &want}).expected(want, 1); err != nil {
		t.Errorf("what is expected: %v", err)
	}
}

// No more are begun than may fail, and a dry run tries all.
func TestStopsAtFailures(t *testing.T) {
	refused := apierror.New(apierror.CodeForbidden, "no")
	for _, tt := range []struct {
		reason         string
		percent, total int
		dryRun         bool
		fails          func(name string) error
		changed        int
		// Those that are under way when too many have failed are finished.
		least, most int
	}{
		{"all go well", 0, 30, false, func(string) error { return nil }, 30, 0, 0},
		{"the first ends it, but for those under way", 0, 100, false, func(string) error { return refused }, 0, 1, atOnce},
		{"a tenth may fail", 10, 200, false, func(string) error { return refused }, 0, 21, 20 + atOnce},
		{"all may fail", 100, 60, false, func(string) error { return refused }, 0, 60, 60},
		{"a dry run", 0, 60, true, func(string) error { return refused }, 0, 60, 60},
		{"few fail", 10, 60, false, func(name string) error {
			if strings.HasSuffix(name, "7") {
				return refused
			}
			return nil
		}, 54, 6, 6},
	} {
		r := &run{in: Input{MaxFailedPercent: tt.percent, DryRun: tt.dryRun}, p: &Payload{Total: tt.total}}
		var begun sync.WaitGroup
		begun.Add(min(atOnce, tt.total))
		var mu sync.Mutex
		started := 0
		r.change = func(_ context.Context, w workloads.Target) (*workloads.Payload, error) {
			mu.Lock()
			started++
			first := started <= atOnce
			mu.Unlock()
			if first {
				begun.Done()
				begun.Wait()
			}
			if err := tt.fails(w.Name); err != nil {
				return nil, err
			}
			return &workloads.Payload{}, nil
		}
		targets := make([]target, tt.total)
		for i := range targets {
			targets[i].Name = fmt.Sprintf("web-%d", i)
		}
		if err := r.all(t.Context(), targets); err != nil {
			t.Fatalf("%s: %v", tt.reason, err)
		}
		if p := r.p; p.Changed != tt.changed || p.Failed < tt.least || p.Failed > tt.most || p.Changed+p.Failed+p.Skipped != tt.total {
			t.Errorf("%s: %d changed, %d failed, %d skipped", tt.reason, p.Changed, p.Failed, p.Skipped)
		}
		for i, result := range r.p.Results {
			if result.Name != targets[i].Name || result.Outcome == "" || (result.Outcome == OutcomeFailed) != (result.Error != nil) {
				t.Errorf("%s: the result of %s is %+v", tt.reason, targets[i].Name, result)
			}
		}
	}
}

// An error of Kairship's own is no result, and a caller who leaves begins no more.
func TestErrorsOfOurs(t *testing.T) {
	wrong := errors.New("a mistake")
	r := &run{p: &Payload{Total: 1}, change: func(context.Context, workloads.Target) (*workloads.Payload, error) { return nil, wrong }}
	if err := r.all(t.Context(), make([]target, 1)); !errors.Is(err, wrong) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r = &run{p: &Payload{Total: 2}, change: r.change}
	if err := r.all(ctx, make([]target, 2)); err != nil || r.p.Skipped != 2 {
		t.Errorf("got %v, %+v", err, r.p)
	}
}
