package fleet

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/deploy/local/internal/topology"
)

func TestResolve(t *testing.T) {
	remembered := Settings{PortBase: 17400, DB: Postgres, WithoutKairship: true, PediaClusters: true}
	for _, tc := range []struct {
		name       string
		remembered *Settings
		flags      Flags
		want       Settings
		err        string
	}{
		{name: "nothing given, nothing remembered", want: DefaultSettings()},
		{name: "a fleet that exists needs no flags", remembered: &remembered, want: remembered},
		{name: "a flag wins over what is remembered", remembered: &remembered, flags: Flags{DB: new(SQLite)},
			want: Settings{PortBase: 17400, DB: SQLite, WithoutKairship: true, PediaClusters: true}},
		{name: "with Kairship its controllers register the clusters", remembered: &remembered, flags: Flags{WithoutKairship: new(false)},
			want: Settings{PortBase: 17400, DB: Postgres}},
		{name: "the operator is a matter of taste", remembered: &remembered, flags: Flags{Operator: new(true)},
			want: Settings{PortBase: 17400, DB: Postgres, WithoutKairship: true, Operator: true, PediaClusters: true}},
		{name: "both would register them", flags: Flags{PediaClusters: new(true)}, err: "--without-kairship"},
		{name: "a fleet cannot move", remembered: &remembered, flags: Flags{PortBase: new(18400)}, err: "down --purge"},
		{name: "the same base is no move", remembered: &remembered, flags: Flags{PortBase: new(17400)}, want: remembered},
		{name: "an unknown database", flags: Flags{DB: new("mysql")}, err: `"mysql"`},
		{name: "ports that do not exist", flags: Flags{PortBase: new(70000)}, err: "--port-base 70000"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := resolve(tc.remembered, tc.flags)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("error %v, want one that says %q", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestStateIsRemembered(t *testing.T) {
	paths := topology.Paths{Root: t.TempDir()}
	if state, err := loadState(paths); state != nil || err != nil {
		t.Fatalf("an empty folder holds the fleet %v (%v)", state, err)
	}
	want := State{Settings: DefaultSettings(), Steps: map[string]string{"alpha/setup": "abc"}}
	if err := want.save(paths); err != nil {
		t.Fatal(err)
	}
	got, err := loadState(paths)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
