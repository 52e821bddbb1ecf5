package build

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEdit(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		edit       edit
		want       string // of the file, or of the error when it begins with "error: "
	}{
		{"behind the anchor", "a\nb\n", edit{anchor: "a\n", after: "new\n"}, "a\nnew\nb\n"},
		{"in front of the anchor", "a\nb\n", edit{anchor: "b\n", before: "new\n"}, "a\nnew\nb\n"},
		{"the anchor is missing", "a\n", edit{anchor: "b", after: "x"}, "error: occurs 0 times"},
		{"the anchor is ambiguous", "b b", edit{anchor: "b", after: "x"}, "error: occurs 2 times"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "types.go")
			if err := os.WriteFile(file, []byte(tc.text), 0o644); err != nil {
				t.Fatal(err)
			}
			tc.edit.file = "types.go"
			err := tc.edit.apply(dir)
			got, readErr := os.ReadFile(file)
			if readErr != nil {
				t.Fatal(readErr)
			}
			if want, fails := strings.CutPrefix(tc.want, "error: "); fails {
				if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "types.go") {
					t.Errorf("error %v, want one that names the file and says %q", err, want)
				}
				if string(got) != tc.text {
					t.Errorf("a failed edit changed the file to %q", got)
				}
				return
			}
			if err != nil || string(got) != tc.want {
				t.Errorf("the file is %q (error %v), want %q", got, err, tc.want)
			}
		})
	}
}

func TestCopyTreeIsWritableAndWhole(t *testing.T) {
	src, dst := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	if err := os.MkdirAll(filepath.Join(src, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(src, "sub", "f.go")
	if err := os.WriteFile(file, []byte("package sub"), 0o444); err != nil { // as in the module cache
		t.Fatal(err)
	}
	if err := os.MkdirAll(dst, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dst, "left.go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := copyTree(src, dst); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dst, "left.go")); err == nil {
		t.Error("a file that an earlier copy left behind survived: it would be compiled")
	}
	info, err := os.Stat(filepath.Join(dst, "sub", "f.go"))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm()&0o200 == 0 {
		t.Error("the copy cannot be written, so it cannot be patched")
	}
}

func TestVersionFlags(t *testing.T) {
	got := versionFlags("example.com/version", moduleInfo{Version: "v1.35.4", Time: "2026-04-15T18:01:22Z"})
	for _, want := range []string{
		" -X example.com/version.gitVersion=v1.35.4",
		" -X example.com/version.gitMajor=1",
		" -X example.com/version.gitMinor=35",
		" -X example.com/version.gitTreeState=clean",
		" -X example.com/version.buildDate=2026-04-15T18:01:22Z",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
}

func TestRequiredVersion(t *testing.T) {
	gomod := filepath.Join(t.TempDir(), "go.mod")
	text := "module m\n\nrequire example.com/single v1.0.0\n\nrequire (\n\texample.com/a v1.2.3 // indirect\n\texample.com/a/b v0.1.0\n)\n\nreplace example.com/c => example.com/d v9.9.9\n"
	if err := os.WriteFile(gomod, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for module, want := range map[string]string{
		"example.com/single": "v1.0.0",
		"example.com/a":      "v1.2.3", // not that of the longer path
		"example.com/a/b":    "v0.1.0",
		"example.com/c":      "", // replaced, never required
	} {
		got, err := RequiredVersion(gomod, module)
		if got != want || (err != nil) != (want == "") {
			t.Errorf("RequiredVersion(%s) = %q, %v; want %q", module, got, err, want)
		}
	}
}
