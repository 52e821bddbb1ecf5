package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/kairship-io/kairship/deploy/local/internal/fleet"
)

// A flag that is not given must stay unknown: its default would overwrite what the fleet remembers.
func TestOnlyGivenFlagsAreSettings(t *testing.T) {
	postgres, off := "postgres", false
	for _, tc := range []struct {
		args []string
		want fleet.Flags
	}{
		{nil, fleet.Flags{}},
		{[]string{"--db", "postgres"}, fleet.Flags{DB: &postgres}},
		{[]string{"--without-kairship=false"}, fleet.Flags{WithoutKairship: &off}},
	} {
		o, cmd := &options{}, &cobra.Command{}
		addSettings(cmd, o)
		if err := cmd.ParseFlags(tc.args); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, o.flags(cmd)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tc.args, diff)
		}
	}
}

func TestRepositoryIsFoundFromBelow(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	below := filepath.Join(root, "deploy", "local", "components", "kwok")
	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}
	for path, module := range map[string]string{
		filepath.Join(root, "go.mod"):  "module github.com/kairship-io/kairship\n",
		filepath.Join(below, "go.mod"): "module github.com/kairship-io/kairship/deploy/local/components/kwok\n", // not the root
	} {
		if err := os.WriteFile(path, []byte(module), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(below)
	if got, err := repository(); err != nil || got != root {
		t.Errorf("repository() = %s, %v; want %s", got, err, root)
	}
	t.Chdir(t.TempDir())
	if got, err := repository(); err == nil {
		t.Errorf("outside of a clone, repository() = %s", got)
	}
}
