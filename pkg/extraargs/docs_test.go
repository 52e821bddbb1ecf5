package extraargs

import (
	"os"
	"strings"
	"testing"
)

// TestDocumented: the page lists every flag that is permitted.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/instance-lifecycle.md")
	if err != nil {
		t.Fatal(err)
	}
	for component, flags := range permitted {
		for _, flag := range flags {
			if !strings.Contains(string(text), "`"+flag+"`") {
				t.Errorf("docs/instance-lifecycle.md does not list %s of %s", flag, component)
			}
		}
	}
}
