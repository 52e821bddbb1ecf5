package event_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/pkg/fleet/event"
	"github.com/kairship-io/kairship/pkg/fleet/fleettest"
	"github.com/kairship-io/kairship/pkg/index"
)

// seen is what an event says about when and how often.
type seen struct {
	Count       int
	First, Last *time.Time
	Source      string
}

// Reporters of events fill in one of two forms.
func TestEvents(t *testing.T) {
	at := func(minute int) string { return time.Date(2026, 1, 2, 3, minute, 0, 0, time.UTC).Format(time.RFC3339) }
	when := func(minute int) *time.Time {
		moment := time.Date(2026, 1, 2, 3, minute, 0, 0, time.UTC)
		return &moment
	}
	for _, tt := range []struct {
		name string
		body map[string]any
		want seen
		why  string
	}{
		{"old form", map[string]any{"count": 3, "firstTimestamp": at(1), "lastTimestamp": at(9), "source": map[string]any{"component": "kubelet"}}, seen{3, when(1), when(9), "kubelet"}, "counted by the reporter"},
		{"new form", map[string]any{"eventTime": "2026-01-02T03:05:00.000000Z", "reportingComponent": "karmada"}, seen{1, when(5), when(5), "karmada"}, "it happened once"},
		{
			"new form, again and again", map[string]any{"eventTime": "2026-01-02T03:05:00.000000Z", "series": map[string]any{"count": 7, "lastObservedTime": "2026-01-02T03:08:00.000000Z"}},
			seen{7, when(5), when(8), ""}, "the series counts",
		},
		{"both forms", map[string]any{"count": 1, "firstTimestamp": at(1), "lastTimestamp": at(2), "source": map[string]any{"component": "old"}, "reportingComponent": "new"}, seen{1, when(1), when(2), "new"}, "the new name is the better one"},
		{"nothing", map[string]any{}, seen{Count: 1}, "an event happened at least once; when is not known"},
	} {
		row := fleettest.Row(index.Events, "k-alpha", "shop", "web.1")
		row.Body = tt.body
		row.Body["involvedObject"] = map[string]any{"kind": "Pod", "name": "web"}
		row.Body["type"], row.Body["reason"], row.Body["message"] = "Warning", "BackOff", "again"
		e, err := event.New(fleettest.Object(t, row, index.Whole))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, seen{e.Count(), e.FirstSeen(), e.LastSeen(), e.Source()}); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", tt.name, tt.why, diff)
		}
		got := []any{e.Namespace(), e.Name(), e.Type(), e.Reason(), e.Message(), e.InvolvedKind(), e.InvolvedName(), e.InvolvedNamespace()}
		if diff := cmp.Diff([]any{"shop", "web.1", "Warning", "BackOff", "again", "Pod", "web", (*string)(nil)}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
