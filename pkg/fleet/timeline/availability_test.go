package timeline

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kairship-io/kairship/pkg/projection"
)

// TestAvailable computes availabilities from histories on a line of minutes; now is minute 100.
func TestAvailable(t *testing.T) {
	zero := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	minute := func(n int) time.Time { return zero.Add(time.Duration(n) * time.Minute) }
	entry := func(at int, change projection.HistoryChange, cluster, before, after string) projection.HistoryEntry {
		return projection.HistoryEntry{Entry: projection.Entry{Change: change, Cluster: cluster, Before: before, After: after}, At: float64(minute(at).Unix())}
	}
	for _, tt := range []struct {
		reason   string
		current  map[string]string
		entries  []projection.HistoryEntry
		from, to int
		// want is healthy/observed minutes of the whole, then of each cluster.
		want string
	}{
		{"nothing changed", map[string]string{"": "HEALTHY", "m1": "HEALTHY"}, nil, 40, 100, "60/60 m1:60/60"},
		{"nothing changed, and it is degraded", map[string]string{"": "DEGRADED"}, nil, 40, 100, "0/60"},
		{"it was degraded for ten minutes", map[string]string{"": "HEALTHY"}, []projection.HistoryEntry{
			entry(70, projection.HealthChanged, "", "DEGRADED", "HEALTHY"), entry(60, projection.HealthChanged, "", "HEALTHY", "DEGRADED"),
		}, 40, 100, "50/60"},
		{"what is after the range counts for its end", map[string]string{"": "DEGRADED"}, []projection.HistoryEntry{
			entry(90, projection.HealthChanged, "", "HEALTHY", "DEGRADED"),
		}, 40, 80, "40/40"},
		{"it came in the range", map[string]string{"": "HEALTHY", "m1": "HEALTHY"}, []projection.HistoryEntry{
			entry(60, projection.HealthChanged, "", "PROGRESSING", "HEALTHY"), entry(60, projection.HealthChanged, "m1", "PROGRESSING", "HEALTHY"),
			entry(50, projection.HealthChanged, "m1", "", "PROGRESSING"), entry(50, projection.HealthChanged, "", "", "PROGRESSING"), entry(50, projection.Created, "", "", ""),
		}, 0, 100, "40/50 m1:40/50"},
		{"it moved from m1 to m2", map[string]string{"": "HEALTHY", "m2": "HEALTHY"}, []projection.HistoryEntry{
			entry(80, projection.HealthChanged, "m1", "HEALTHY", ""), entry(70, projection.HealthChanged, "m2", "", "HEALTHY"),
		}, 50, 100, "50/50 m1:30/30 m2:30/30"},
		{"it was deleted and created again", map[string]string{"": "HEALTHY"}, []projection.HistoryEntry{
			entry(80, projection.HealthChanged, "", "", "HEALTHY"), entry(80, projection.Created, "", "", ""), entry(60, projection.Disappeared, "", "DEGRADED", ""), entry(30, projection.HealthChanged, "", "HEALTHY", "DEGRADED"),
		}, 20, 100, "30/60"},
		{"nothing was observed", map[string]string{"": "HEALTHY"}, []projection.HistoryEntry{entry(95, projection.HealthChanged, "", "", "HEALTHY")}, 20, 90, "0/0"},
	} {
		got := available(tt.entries, tt.current, minute(tt.from), minute(tt.to), minute(100))
		text := []string{fmt.Sprintf("%v/%v", got.Healthy.Minutes(), got.Observed.Minutes())}
		for _, c := range got.Clusters {
			text = append(text, fmt.Sprintf("%s:%v/%v", c.ClusterName, c.Healthy.Minutes(), c.Observed.Minutes()))
		}
		if is := strings.Join(text, " "); is != tt.want {
			t.Errorf("%s: got %q, want %q", tt.reason, is, tt.want)
		}
		if (got.Ratio() == nil) != (got.Observed == 0) {
			t.Errorf("%s: the ratio is %v", tt.reason, got.Ratio())
		}
	}
}
