package controllers_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers"
	"github.com/kairship-io/kairship/pkg/controllers/globalmanagementwebhook"
)

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
	names := append(controllers.Names(), globalmanagementwebhook.Name)
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
	for _, name := range append(controllers.Names(), globalmanagementwebhook.Name) {
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
