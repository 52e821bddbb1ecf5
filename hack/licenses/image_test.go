package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTextsOfPackages has the texts of the page's packages go along with those of modules.
func TestTextsOfPackages(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"package-lock.json": `{"packages": {"": {}, "node_modules/a": {"version": "1.0.0", "license": "MIT"}, "node_modules/b": {"version": "2.0.0", "license": "ISC"},
			"node_modules/c": {"version": "3.0.0", "license": "MIT"}, "node_modules/dev": {"version": "4.0.0", "license": "MIT", "dev": true}}}`,
		"node_modules/a/LICENSE": mit, "node_modules/b/package.json": "{}", "node_modules/dev/LICENSE": "of the build",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	packages, err := bundled(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	var texts bytes.Buffer
	writeTexts(&texts, packages)
	for want, reason := range map[string]string{
		"a 1.0.0\n" + strings.Repeat("=", 80) + "\n\nMIT License": "its text is in its folder",
		"ISC: its package.json says so":                           "it has no text",
	} {
		if !strings.Contains(texts.String(), want) {
			t.Errorf("%q is not there, though %s:\n%s", want, reason, &texts)
		}
	}
	for _, absent := range []string{"c 3.0.0", "of the build"} {
		if strings.Contains(texts.String(), absent) {
			t.Errorf("%q is there:\n%s", absent, &texts)
		}
	}
}

// TestImage holds the Dockerfile to what has to be in an image, and to images that a
// release can give by digest.
func TestImage(t *testing.T) {
	raw, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	build, final, found := strings.Cut(string(raw), "\nFROM scratch\n")
	if !found || strings.Contains(final, "\nFROM ") {
		t.Fatal("what runs is not made from scratch")
	}
	if !strings.Contains(final, "COPY --from=build /licenses /licenses\n") || !strings.Contains(build, "hack/licenses -texts /licenses/") {
		t.Error("the licences do not go along")
	}
	for line := range strings.Lines(build) {
		if fields := strings.Fields(line); len(fields) > 0 && fields[0] == "FROM" && !strings.Contains(line, "_IMAGE AS ") {
			t.Errorf("no release can give the digest of this image: %s", line)
		}
	}
	if strings.Contains(build, "# syntax=") {
		t.Error("the frontend is one image more, by a tag that moves")
	}
	ignored, err := os.ReadFile("../../.dockerignore")
	if err != nil {
		t.Fatal(err)
	}
	for _, needed := range []string{"!LICENSE\n", "!hack/licenses\n"} {
		if !strings.Contains(string(ignored), needed) {
			t.Errorf("the build does not get what it reads: %s", needed)
		}
	}
}
