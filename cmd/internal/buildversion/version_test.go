package buildversion

import "testing"

func TestChoose(t *testing.T) {
	for name, test := range map[string]struct {
		reason, linked, built, want string
	}{
		"Release":  {"what the linker was told wins", "v1.2.3", "v0.0.0-20260101000000-0123456789ab", "v1.2.3"},
		"Clone":    {"a build in a clone knows its commit", "", "v0.0.0-20260101000000-0123456789ab+dirty", "v0.0.0-20260101000000-0123456789ab+dirty"},
		"GoRun":    {"the go command's (devel) says nothing", "", "(devel)", unknown},
		"NoModule": {"a build without module information", "", "", unknown},
	} {
		t.Run(name, func(t *testing.T) {
			if got := choose(test.linked, test.built); got != test.want {
				t.Errorf("%s: got %s, want %s", test.reason, got, test.want)
			}
		})
	}
}
