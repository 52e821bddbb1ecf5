package install

import (
	"regexp"
	"strings"
	"testing"
)

func TestBlock(t *testing.T) {
	page := guide{path: "page.md", text: "text\n\n```sh\nfirst command\n```\n\n1. A step:\n\n   ```yaml\n   kind: A\n   spec:\n     b: c\n   ```\n\n```yaml\nkind: B\n```\n"}
	for marks, want := range map[string]string{"kind: A": "kind: A\nspec:\n  b: c\n", "kind: B": "kind: B\n"} {
		if got, err := page.block("yaml", marks); err != nil || got != want {
			t.Errorf("%s: got %q, error %v", marks, got, err)
		}
	}
	for _, marks := range []string{"kind: C", "kind:"} {
		if got, err := page.block("yaml", marks); err == nil || !strings.Contains(err.Error(), "page.md") {
			t.Errorf("%s: got %q, error %v, want one that names the page", marks, got, err)
		}
	}
	if _, err := replace("a command", "another", "one"); err == nil {
		t.Error("a text that the page has no more is replaced without an error")
	}
}

// TestGuides finds every block that an installation carries out.
func TestGuides(t *testing.T) {
	const repository = "../../../.."
	for _, c := range []struct {
		path     []string
		language string
		marks    []string
	}{
		{[]string{"docs", "operations.md"}, "yaml", []string{"type: postgres", "database: clusterpedia"}},
		{[]string{"docs", "operations.md"}, "yaml", []string{"recoverableErrCodes"}},
		{[]string{"docs", "operations.md"}, "yaml", []string{"kind: Kustomization", "- clusterpedia/kustomize/"}},
		{[]string{"docs", "operations.md"}, "yaml", []string{"kind: Kustomization", "- karmada/operator/config/"}},
		{[]string{"docs", "operations.md"}, "sql", []string{"CREATE ROLE kairship LOGIN", "CREATE ROLE kairship_reader LOGIN"}},
		{[]string{"docs", "operations.md"}, "yaml", []string{"index:\n  collectorLease:", "instanceSecrets:"}},
		{[]string{"docs", "operations.md"}, "yaml", []string{"kairship-everything", "platform-admins"}},
		{[]string{"docs", "operations.md"}, "sh", []string{"helm upgrade kairship deploy/helm/kairship"}},
		{[]string{"docs", "operations.md"}, "sh", []string{chartCommand, "bundled.clusterpedia.enabled=true"}},
		{[]string{"README.md"}, "sh", []string{chartCommand}},
		{[]string{"deploy", "helm", "kairship", "README.md"}, "sh", []string{chartCommand}},
	} {
		page, err := readGuide(repository, c.path...)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := page.block(c.language, c.marks...); err != nil {
			t.Error(err)
		}
	}
}

// TestCollectorsTryTheSameAgain: the chart and a process fleet have the codes that the page tells an administrator.
func TestCollectorsTryTheSameAgain(t *testing.T) {
	codes := regexp.MustCompile(`recoverableErrCodes: \[(.*?)\]`)
	told := ""
	for _, path := range [][]string{
		{"docs", "operations.md"},
		{"deploy", "helm", "kairship", "templates", "bundled", "clusterpedia.yaml"},
		{"deploy", "local", "internal", "fleet", "files.go"},
	} {
		page, err := readGuide("../../../..", path...)
		if err != nil {
			t.Fatal(err)
		}
		found := codes.FindStringSubmatch(strings.ReplaceAll(page.text, `\"`, `"`))
		if found == nil {
			t.Fatalf("%s has no codes", page.path)
		}
		if told == "" {
			told = found[1]
		}
		if found[1] != told {
			t.Errorf("%s has the codes %s, and docs/operations.md %s", page.path, found[1], told)
		}
	}
}
