package observe

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/kairship-io/kairship/test/internal/fleet"
)

// TestRulesNameWhatIsServed: every metric that the chart's rules and dashboard name is
// one that a program serves, or one whose rarity is explained.
func TestRulesNameWhatIsServed(t *testing.T) {
	const files = "../../deploy/helm/kairship/files/"
	cmd := exec.CommandContext(t.Context(), "go", "run", ".", "names", files+"alerts.yaml", files+"dashboard.json")
	cmd.Dir = "../../tools/prometheus"
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	_, text := fleet.Open(t).Leader(t)
	controllers, api := parse(t, []byte(text)), used(t)
	names := strings.Fields(string(out))
	for _, name := range names {
		for _, suffix := range []string{"_bucket", "_count", "_sum"} {
			name = strings.TrimSuffix(name, suffix)
		}
		if controllers[name] == nil && api[name] == nil && rare[name] == "" {
			t.Errorf("no program serves %s", name)
		}
	}
	t.Logf("%d metrics are named", len(names))
}
