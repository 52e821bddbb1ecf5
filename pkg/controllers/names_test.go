package controllers_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers"
	"github.com/kairship-io/kairship/pkg/controllers/globalmanagementwebhook"
)

// withFolders are the names of what has a folder. The second queue of a controller
// has none, and is described with the first.
func withFolders() []string {
	names := slices.DeleteFunc(controllers.Names(), func(name string) bool { return name == controllers.Discovery })
	return append(names, globalmanagementwebhook.Name)
}

// TestNames finds a controller that has a folder and is not listed.
func TestNames(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var folders []string
	for _, entry := range entries {
		if entry.IsDir() && entry.Name() != "internal" {
			folders = append(folders, entry.Name())
		}
	}
	names := withFolders()
	if len(names) != len(folders) {
		t.Errorf("there are %d names for %d folders:\n%q\n%q", len(names), len(folders), names, folders)
	}
	for _, name := range names {
		if folder := strings.ReplaceAll(name, "-", ""); !slices.Contains(folders, folder) {
			t.Errorf("%s has no folder %s", name, folder)
		}
	}
	if !slices.IsSorted(controllers.Names()) {
		t.Errorf("the names are in no order: %q", controllers.Names())
	}
}

// TestEveryControllerIsDescribed wants to know of each controller what it watches,
// what it writes and what it needs.
func TestEveryControllerIsDescribed(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "controllers.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, finalizer := range []string{
		v1alpha1.VirtualClusterFinalizer, v1alpha1.ClusterIndexFinalizer, v1alpha1.ClusterImportFinalizer,
		v1alpha1.RoleBindingFinalizer, v1alpha1.InstanceAccessFinalizer, v1alpha1.LifecycleFinalizer,
	} {
		if !strings.Contains(string(text), "`"+finalizer+"`") {
			t.Errorf("docs/controllers.md does not say who writes the finalizer %s", finalizer)
		}
	}
	for _, name := range withFolders() {
		_, section, found := strings.Cut(string(text), "\n## `"+name+"`\n")
		if !found {
			t.Errorf("docs/controllers.md has no part about %s", name)
			continue
		}
		section, _, _ = strings.Cut(section, "\n## ")
		if number := regexp.MustCompile(`(?m)^\| workers \| \d+ \|$`); name != globalmanagementwebhook.Name && !number.MatchString(section) {
			t.Errorf("docs/controllers.md does not say how many workers %s has", name)
		}
		for _, part := range []string{"| watches", "| writes", "| needs", "| events", "| metrics"} {
			if !strings.Contains(section, part) {
				t.Errorf("docs/controllers.md does not say %q of %s", strings.TrimPrefix(part, "| "), name)
			}
		}
	}
}

// TestEveryQueueHasAName: how many workers a queue has can be chosen by its name, and
// there is no queue without one.
func TestEveryQueueHasAName(t *testing.T) {
	w := newWorld(t)
	chosen := map[string]int{}
	for i, name := range controllers.Names() {
		chosen[name] = 2 + i
	}
	startManagerWith(w, controllers.Settings{Workers: chosen, ProbeInterval: time.Hour, ProbeTimeout: 5 * time.Second})
	w.eventually("every queue has the workers that were chosen for it", func(context.Context) bool {
		return maps.Equal(chosen, workers(t))
	})
}

// workers returns the number of workers of each queue of this process, from the metrics.
func workers(t *testing.T) map[string]int {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, family := range families {
		if family.GetName() != "controller_runtime_max_concurrent_reconciles" {
			continue
		}
		for _, metric := range family.GetMetric() {
			found[metric.GetLabel()[0].GetValue()] = int(metric.GetGauge().GetValue())
		}
	}
	return found
}
