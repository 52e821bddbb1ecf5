package webhook

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kairship-io/kairship/test/internal/fleet"
)

// TestGuide runs the last commands of the guide as a person does who has no SDK.
func TestGuide(t *testing.T) {
	s := begin(t)
	for _, program := range []string{"bash", "curl", "openssl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed", program)
		}
	}
	root, err := fleet.Root()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "global-management.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)```bash\n(.*?)```").FindStringSubmatch(string(page))
	if found == nil || !strings.Contains(found[1], "fleet=.local\n") {
		t.Fatal("the guide has no commands for the local fleet")
	}
	script := strings.Replace(found[1], "fleet=.local\n", "fleet='"+s.fleet.Dir+"'\n", 1)
	id := s.prefix + "guide"
	script = strings.ReplaceAll(script, `"bindingID":"try"`, `"bindingID":"`+id+`"`)
	out, err := exec.CommandContext(t.Context(), "bash", "-euc", script).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	answers := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(answers) != 2 || !strings.Contains(answers[0], `"result":"stored"`) || !strings.Contains(answers[1], `"result":"stored"`) {
		t.Errorf("the commands print:\n%s", out)
	}
	if is := s.stored("guide").Spec; !is.Revoked || is.Source.Sequence != 2 || is.Subject.Name != "mallory" {
		t.Errorf("the binding ends as %+v", is)
	}
}
