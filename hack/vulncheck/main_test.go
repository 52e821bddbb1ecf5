package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var today = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// database writes a vulnerability database as govulncheck reads it from a folder: one
// vulnerability, invented for the test, in what the command beside this one calls.
func database(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write := func(path string, content any) {
		raw, err := json.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	type m map[string]any
	const module, when = "github.com/google/licensecheck", "2026-01-01T00:00:00Z"
	write("index/db.json", m{"modified": when})
	write("index/modules.json", []m{{"path": module, "vulns": []m{{"id": "GO-2026-0001", "modified": when, "fixed": "9.9.9"}}}})
	write("ID/GO-2026-0001.json", m{
		"schema_version": "1.3.1", "id": "GO-2026-0001", "modified": when, "published": when, "summary": "Invented for a test", "details": "Invented for a test.",
		"affected": []m{{
			"package": m{"name": module, "ecosystem": "Go"}, "ranges": []m{{"type": "SEMVER", "events": []m{{"introduced": "0"}, {"fixed": "9.9.9"}}}},
			"ecosystem_specific": m{"imports": []m{{"path": module, "symbols": []string{"Scan"}}}},
		}},
	})
	return dir
}

// TestRun has the real govulncheck look at a real command, with a database of the test's.
func TestRun(t *testing.T) {
	dir := database(t)
	explain := func(text string) string {
		path := filepath.Join(t.TempDir(), "explained.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	t.Setenv("GOVULNDB", "file://"+dir)
	root := filepath.Join("..", "..")
	var out bytes.Buffer
	err := run(root, explain("[]"), []string{"./hack/licenses"}, today, &out)
	if err == nil || !strings.Contains(err.Error(), "GO-2026-0001: Invented for a test: github.com/google/licensecheck.Scan is called") || !strings.Contains(err.Error(), "fixed in v9.9.9") {
		t.Errorf("what is called: got %v", err)
	}
	if err := run(root, explain("[{id: GO-2026-0001, because: it is invented, until: 2026-12-31}]"), []string{"./hack/licenses"}, today, &out); err != nil || !strings.Contains(out.String(), "it is invented") {
		t.Errorf("what is explained: got %v and %q", err, out.String())
	}
	t.Setenv("GOVULNDB", "file:///does/not/exist")
	if err := run(root, explain("[]"), []string{"./hack/licenses"}, today, &out); err == nil || !strings.Contains(err.Error(), "GOVULNDB") {
		t.Errorf("without a database: got %v, want how to name one", err)
	}
}

func TestJudge(t *testing.T) {
	called := map[string]finding{"GO-1": {id: "GO-1", summary: "bad", module: "m", found: "v1", call: "m.F"}}
	for _, c := range []struct {
		reason string
		found  map[string]finding
		known  []explanation
		says   string // empty where nothing is wrong
	}{
		{"nothing is called", nil, nil, ""},
		{"something is", called, nil, "GO-1: bad: m.F is called, of m v1; fixed in no version yet"},
		{"it is explained", called, []explanation{{"GO-1", "no", "2026-11-21"}}, ""},
		{"it was explained until yesterday", called, []explanation{{"GO-1", "no", "2026-11-20"}}, "was explained until 2026-11-20"},
		{"what is explained is not found", nil, []explanation{{"GO-1", "no", "2026-12-31"}}, "GO-1 is not found any longer"},
		{"an explanation without a reason", called, []explanation{{"GO-1", "", "2026-12-31"}}, "needs because"},
		{"one without a day", called, []explanation{{"GO-1", "no", ""}}, "and until as"},
	} {
		var out bytes.Buffer
		err := judge(c.found, c.known, today, &out)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want %q", c.reason, err, c.says)
		}
	}
}

// TestFindings leaves out what is only required or imported.
func TestFindings(t *testing.T) {
	const report = `{"osv": {"id": "GO-1", "summary": "one"}}
{"finding": {"osv": "GO-1", "trace": [{"module": "m", "version": "v1"}]}}
{"finding": {"osv": "GO-1", "trace": [{"module": "m", "version": "v1", "package": "m/p"}]}}
{"osv": {"id": "GO-2", "summary": "two"}}
{"finding": {"osv": "GO-2", "fixed_version": "v2", "trace": [{"module": "m", "version": "v1", "package": "m/p", "function": "F"}, {"module": "us"}]}}`
	got, err := findings([]byte(report))
	if err != nil || len(got) != 1 || got["GO-2"] != (finding{id: "GO-2", summary: "two", module: "m", found: "v1", fixed: "v2", call: "m/p.F"}) {
		t.Errorf("got %+v, %v", got, err)
	}
}
