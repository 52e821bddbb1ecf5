package fleet

import (
	"strings"
	"testing"
)

// TestProbeByCommand: a process is ready when its command says so, and the command's words are the reason when not.
func TestProbeByCommand(t *testing.T) {
	var f Fleet
	if err := f.probe(t.Context(), probe{command: []string{"true"}}); err != nil {
		t.Errorf("it is said not to be ready: %v", err)
	}
	err := f.probe(t.Context(), probe{command: []string{"sh", "-c", "echo rejecting connections; exit 1"}})
	if err == nil || !strings.Contains(err.Error(), "rejecting connections") {
		t.Errorf("got %v", err)
	}
}
