package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const mit = `MIT License

Copyright (c) 2026 Somebody

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation
files (the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy,
modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software
is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES
OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE
LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR
IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
`

func TestInFolder(t *testing.T) {
	for _, c := range []struct {
		reason string
		files  map[string]string
		want   []string
		texts  int
	}{
		{"a licence by its text", map[string]string{"LICENSE.md": mit, "main.go": "package main"}, []string{"MIT"}, 1},
		{"the same twice is one", map[string]string{"LICENSE": mit, "License.txt": mit}, []string{"MIT"}, 2},
		{"a notice goes along and is no licence", map[string]string{"COPYING": mit, "NOTICE": "by Somebody"}, []string{"MIT"}, 2},
		{"an unknown text", map[string]string{"LICENSE": "You may use it on Tuesdays."}, []string{"unknown (0 % of the text is known)"}, 1},
		{"none", map[string]string{"README": mit}, nil, 0},
	} {
		t.Run(c.reason, func(t *testing.T) {
			dir := t.TempDir()
			for name, content := range c.files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, err := inFolder(dir)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got.Licences); diff != "" || len(got.texts) != c.texts {
				t.Errorf("%d texts, licences (-want +got):\n%s", len(got.texts), diff)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		reason   string
		licences []string
		says     string // empty where it is accepted
	}{
		{"accepted", []string{"MIT", "Apache-2.0"}, ""},
		{"one of two may be chosen", []string{"(MIT OR GPL-3.0)"}, ""},
		{"both hold", []string{"MIT AND GPL-3.0"}, "MIT AND GPL-3.0 is not accepted"},
		{"copyleft", []string{"MIT", "AGPL-3.0"}, "AGPL-3.0 is not accepted"},
		{"unknown licences", []string{"unknown (10 % of the text is known)"}, "unknown"},
		{"none", nil, "no licence was found"},
	} {
		err := check([]part{{Name: "example.com/a", Version: "v1", Licences: c.licences}, {Name: "fine", Licences: []string{"MIT"}}})
		if (err == nil) != (c.says == "") || err != nil && (!strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "example.com/a v1")) {
			t.Errorf("%s: got %v, want %q", c.reason, err, c.says)
		}
	}
}

// TestTheRepository finds nothing that the policy does not accept.
func TestTheRepository(t *testing.T) {
	list, texts := filepath.Join(t.TempDir(), "list.md"), filepath.Join(t.TempDir(), "texts.txt")
	if err := run(filepath.Join("..", ".."), list, texts); err != nil {
		t.Fatal(err)
	}
	for path, parts := range map[string][]string{
		list:  {"| k8s.io/client-go | v", "| graphiql | 5", "| Go's standard library |  | BSD-3-Clause |"},
		texts: {"k8s.io/client-go v", "Redistributions in binary form", "Apache License"},
	} {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range parts {
			if !strings.Contains(string(raw), want) {
				t.Errorf("%s does not say %q", filepath.Base(path), want)
			}
		}
	}
}
