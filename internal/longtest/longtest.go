// Package longtest tells tests that have a long form whether to take it.
package longtest

import (
	"os"
	"testing"
)

// variable is what `make test-long` sets.
const variable = "KAIRSHIP_LONG"

// On reports whether tests are to take their long form.
func On() bool { return os.Getenv(variable) != "" }

// Only leaves a test to the long form, and says why.
func Only(t testing.TB, why string) {
	t.Helper()
	if !On() {
		t.Skip(why + "; " + variable + "=1 runs it")
	}
}

// Step is how far apart the cases of a test lie that has very many of one sort: the
// long form takes each, the short one every third.
func Step() int {
	if On() {
		return 1
	}
	return 3
}
