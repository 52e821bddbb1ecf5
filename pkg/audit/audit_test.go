package audit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/pkg/audit"
)

// written is the line that is written of an operation, where alpha and beta exist.
func written(t *testing.T, note func(*audit.Record), op audit.Operation) (string, map[string]any) {
	t.Helper()
	var out bytes.Buffer
	// The level is one at which nothing else would be written.
	log := &audit.Log{
		Logger: slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelError})),
		Exists: func(_ context.Context, name string) bool {
			return name == "alpha" || name == "beta" || strings.HasPrefix(name, "many-")
		},
	}
	ctx, record := audit.With(t.Context())
	if audit.From(ctx) != record {
		t.Fatal("the context has another record")
	}
	note(audit.From(ctx))
	log.Write(ctx, record, op)
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil || strings.Count(out.String(), "\n") != 1 {
		t.Fatalf("want one line, got %v:\n%s", err, &out)
	}
	delete(line, "time")
	return out.String(), line
}

func TestLine(t *testing.T) {
	op := audit.Operation{User: "alice", Via: "graphql", Name: "Fleet", Type: "query", Status: 200, Duration: 1500 * time.Microsecond, Outcome: "partial"}
	for _, tt := range []struct {
		name string
		note func(*audit.Record)
		want map[string]any
		why  string
	}{
		{name: "nothing noted", note: func(*audit.Record) {}, want: map[string]any{"decision": "allowed", "instances": []any{}, "instanceCount": 0.0}},
		{
			name: "two instances", note: func(r *audit.Record) { r.Permit("beta", "alpha"); r.Permit("alpha") },
			want: map[string]any{"decision": "allowed", "instances": []any{"alpha", "beta"}, "instanceCount": 2.0},
		},
		{
			name: "one refused", note: func(r *audit.Record) { r.Permit("alpha"); r.Refuse("beta") },
			want: map[string]any{"decision": "denied", "instances": []any{"alpha"}, "instanceCount": 1.0, "refused": []any{"beta"}},
		},
		{
			name: "names of nothing", note: func(r *audit.Record) { r.Permit("hunter2"); r.Refuse("hunter2") },
			want: map[string]any{"decision": "denied", "instances": []any{}, "instanceCount": 0.0},
			why:  "who may see all instances is let to any name, and a name may be anything",
		},
		{
			name: "refused what belongs to no instance", note: func(r *audit.Record) { r.Refuse("") },
			want: map[string]any{"decision": "denied", "instances": []any{}, "instanceCount": 0.0},
		},
		{
			name: "undecided", note: func(r *audit.Record) { r.Refuse("beta"); r.Fail() },
			want: map[string]any{"decision": "undecided", "instances": []any{}, "instanceCount": 0.0, "refused": []any{"beta"}},
			why:  "what was not decided weighs more: the refusal may be no more than that",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text, line := written(t, tt.note, op)
			maps.Copy(tt.want, map[string]any{
				"level": "INFO", "msg": "audit", "user": "alice", "via": "graphql", "operation": "Fleet", "type": "query", "status": 200.0, "durationMs": 1.5, "outcome": "partial",
			})
			if d := cmp.Diff(tt.want, line); d != "" {
				t.Errorf("(-want +got): %s\n%s", tt.why, d)
			}
			if strings.Contains(text, "hunter2") {
				t.Errorf("the line has what is no instance's name: %s", text)
			}
		})
	}
}

func TestErrorsAreCounted(t *testing.T) {
	_, line := written(t, func(*audit.Record) {}, audit.Operation{Errors: map[string]int{"NOT_FOUND": 2}})
	if d := cmp.Diff(map[string]any{"NOT_FOUND": 2.0}, line["errors"]); d != "" {
		t.Error(d)
	}
}

func TestLineOfAThousandInstancesStaysShort(t *testing.T) {
	text, line := written(t, func(r *audit.Record) {
		var wg sync.WaitGroup
		for i := range 1000 {
			wg.Go(func() { r.Permit(fmt.Sprintf("many-%04d", i)) })
		}
		wg.Wait()
	}, audit.Operation{})
	if n := line["instanceCount"]; n != 1000.0 || len(text) > 1500 {
		t.Errorf("%v instances in %d bytes, want 1000 in at most 1500", n, len(text))
	}
}

func TestOutsideOfAnOperationNothingIsNoted(*testing.T) {
	r := audit.From(context.Background())
	r.Permit("alpha")
	r.Refuse("beta")
	r.Fail()
}

// TestInclude: what is noted of an operation that was executed for another one is noted of both.
func TestInclude(t *testing.T) {
	_, of := audit.With(t.Context())
	of.Permit("alpha")
	of.Refuse("beta")
	if of.Names() != 2 {
		t.Errorf("%d names", of.Names())
	}
	_, line := written(t, func(r *audit.Record) { r.Include(of); r.Include(nil) }, audit.Operation{User: "alice"})
	got := map[string]any{"decision": line["decision"], "instances": line["instances"], "refused": line["refused"]}
	if d := cmp.Diff(map[string]any{"decision": "denied", "instances": []any{"alpha"}, "refused": []any{"beta"}}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	var none *audit.Record
	none.Include(of)
}
