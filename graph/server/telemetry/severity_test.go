package telemetry

import (
	"slices"
	"testing"

	"github.com/kairship-io/kairship/pkg/apierror"
)

// TestMostSevere finds every code in the order by which operations are counted.
func TestMostSevere(t *testing.T) {
	for _, code := range apierror.Codes() {
		if !slices.Contains(bySeverity, code) {
			t.Errorf("no place for %s: an operation that fails by it counts as %q", code, otherWord)
		}
		if got := mostSevere(map[apierror.Code]int{code: 1}); got != string(code) {
			t.Errorf("an operation with %s counts as %s", code, got)
		}
	}
	if len(bySeverity) != len(apierror.Codes()) {
		t.Errorf("%d codes have places, and there are %d", len(bySeverity), len(apierror.Codes()))
	}
	if got := mostSevere(map[apierror.Code]int{apierror.CodeInvalid: 3, apierror.CodeInternal: 1}); got != string(apierror.CodeInternal) {
		t.Errorf("an internal error among invalid input counts as %s", got)
	}
	if got := mostSevere(nil); got != noCode {
		t.Errorf("no error counts as %s", got)
	}
}
