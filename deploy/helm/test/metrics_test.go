package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// prometheus runs the tool that knows Prometheus' language.
func prometheus(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"run", "."}, args...)...)
	cmd.Dir = filepath.Join(root, "tools", "prometheus")
	var failed strings.Builder
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil {
		t.Log(failed.String())
	}
	return string(out), err
}

// files are absolute paths.
func files(t *testing.T, names ...string) []string {
	t.Helper()
	all := make([]string, len(names))
	for i, name := range names {
		path, err := filepath.Abs(name)
		if err != nil {
			t.Fatal(err)
		}
		all[i] = path
	}
	return all
}

// foreign are metrics of the libraries that both programs are made with.
var foreign = map[string]bool{
	"controller_runtime_reconcile_errors_total": true, "controller_runtime_reconcile_total": true, "leader_election_master_status": true,
	"workqueue_queue_duration_seconds": true, "process_cpu_seconds_total": true, "process_resident_memory_bytes": true,
}

// TestAlertsAndDashboardAskForWhatExists parses every expression, and looks for every
// metric in the tables that test/observe holds to what the programs serve: a panel
// about a metric of another name is empty, without an error.
func TestAlertsAndDashboardAskForWhatExists(t *testing.T) {
	guide, err := os.ReadFile(filepath.Join(root, "docs", "observability.md"))
	if err != nil {
		t.Fatal(err)
	}
	out, err := prometheus(t, append([]string{"names"}, files(t, filepath.Join(chart, "files", "alerts.yaml"), filepath.Join(chart, "files", "dashboard.json"))...)...)
	if err != nil {
		t.Fatal(err)
	}
	names := strings.Fields(out)
	if len(names) < 30 {
		t.Errorf("they ask for %d metrics only: %v", len(names), names)
	}
	for _, name := range names {
		for _, suffix := range []string{"_bucket", "_count", "_sum"} {
			name = strings.TrimSuffix(name, suffix)
		}
		if !foreign[name] && !strings.Contains(string(guide), "| `"+name+"` |") {
			t.Errorf("a page asks for %s, which docs/observability.md does not have", name)
		}
	}
}

// TestAlerts plays outages against the alerts.
func TestAlerts(t *testing.T) {
	if _, err := prometheus(t, append([]string{"test"}, files(t, "testdata/alerts.test.yaml", "testdata/alerts-slow.test.yaml")...)...); err != nil {
		t.Error(err)
	}
}

// TestEveryAlertIsExplained: who is woken finds what to do.
func TestEveryAlertIsExplained(t *testing.T) {
	guide, err := os.ReadFile(filepath.Join(root, "docs", "observability.md"))
	if err != nil {
		t.Fatal(err)
	}
	rules, err := os.ReadFile(filepath.Join(chart, "files", "alerts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(rules)) {
		for _, kind := range []string{"- alert: ", "labels: {slo: "} {
			if _, name, ok := strings.Cut(strings.TrimRight(line, "}\n"), kind); ok && !strings.Contains(string(guide), "`"+name+"`") {
				t.Errorf("docs/observability.md does not explain %s", name)
			}
		}
	}
}
