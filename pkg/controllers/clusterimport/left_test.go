package clusterimport

import (
	"fmt"
	"strings"
	"testing"
)

// TestWhatWasLeftFitsIntoAnEvent checks that the list of objects that could not be removed is cut
// to the size that Kubernetes allows for an event.
func TestWhatWasLeftFitsIntoAnEvent(t *testing.T) {
	s := &scope{}
	if got := s.behind(); got != "" {
		t.Errorf("nothing was left, and it says %q", got)
	}
	for i := range 100 {
		s.leftWorkBehind(fmt.Sprintf("web-%d", i), strings.Repeat("it does not answer ", i))
	}
	s.leftBehindf("the service accounts")
	got := s.behind()
	if len(got) > 700 {
		t.Errorf("it has %d characters: %s", len(got), got)
	}
	for _, part := range []string{" Left behind: the service accounts; ", `Work "web-0"`, " more."} {
		if !strings.Contains(got, part) {
			t.Errorf("it does not say %q: %s", part, got)
		}
	}
	named := strings.Count(got, "Work ")
	if !strings.HasSuffix(got, fmt.Sprintf("; and %d more.", 100-named)) {
		t.Errorf("it names %d and counts the rest wrongly: %s", named, got)
	}
	few := &scope{}
	few.leftBehindf("this")
	few.leftBehindf("that")
	if got := few.behind(); got != " Left behind: this; that." {
		t.Errorf("it says %q", got)
	}
}
