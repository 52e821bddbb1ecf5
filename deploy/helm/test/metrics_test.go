package test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

var metricNames = regexp.MustCompile(`kairship_[a-z_]+`)

// TestAlertsAndDashboardAskForWhatExists finds each metric's name in the code that
// makes it: a panel about a metric of another name is empty, and nobody notices.
func TestAlertsAndDashboardAskForWhatExists(t *testing.T) {
	code := metricsCode(t)
	for _, file := range []string{"alerts.yaml", "dashboard.json"} {
		content, err := os.ReadFile(filepath.Join(chart, "files", file))
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(content, &map[string]any{}); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		names := metricNames.FindAllString(string(content), -1)
		if len(names) < 5 {
			t.Errorf("%s asks for %d metrics of Kairship only: are they called otherwise?", file, len(names))
		}
		for _, name := range names {
			if !known(code, name) {
				t.Errorf("%s asks for %s, which no code makes", file, name)
			}
		}
	}
}

// known tells that the code has the name, whole or, as most of it is put together,
// what follows kairship and the subsystem.
func known(code, name string) bool {
	name = regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(name, "")
	_, rest, _ := strings.Cut(strings.TrimPrefix(name, "kairship_"), "_")
	return strings.Contains(code, `"`+name+`"`) || rest != "" && strings.Contains(code, `"`+rest+`"`)
}

// metricsCode is all code about metrics.
func metricsCode(t *testing.T) string {
	t.Helper()
	var code strings.Builder
	for _, pattern := range []string{"pkg/*/*metrics.go", "pkg/controllers/*.go", "pkg/*/*/*metrics.go", "graph/*/*metrics.go"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("no code about metrics at %s: %v", pattern, err)
		}
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			code.Write(content)
		}
	}
	return code.String()
}
