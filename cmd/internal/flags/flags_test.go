package flags

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

func program(into *string) Program {
	return Program{Name: "kairship-test", Purpose: "does nothing.", Groups: []Group{
		NewGroup("First", func(f *pflag.FlagSet) { f.StringVar(into, "second-letter", "b", "a `letter`") }),
		NewGroup("Second", func(f *pflag.FlagSet) { f.Bool("a", false, "before it in the alphabet, after it in the help") }),
	}}
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		reason string
		args   []string
		want   string
		says   string // of the error; empty when there is none
	}{
		{reason: "defaults stay", want: "b"},
		{reason: "a flag is read", args: []string{"--second-letter=z", "--a"}, want: "z"},
		{reason: "an unknown flag is named, with the way to the help", args: []string{"--third"}, want: "b", says: "unknown flag: --third; see kairship-test --help"},
		{reason: "an argument is refused", args: []string{"start"}, want: "b", says: `"start" is not a flag`},
	} {
		t.Run(c.reason, func(t *testing.T) {
			var got string
			err := program(&got).Parse(c.args, &bytes.Buffer{})
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("got error %v, want one that says %q", err, c.says)
			}
		})
	}
}

func TestHelp(t *testing.T) {
	var into string
	var out bytes.Buffer
	if err := program(&into).Parse([]string{"--help"}, &out); !errors.Is(err, pflag.ErrHelp) {
		t.Fatalf("got error %v, want that for help", err)
	}
	want := `kairship-test does nothing.

Usage:
  kairship-test [flags]

First:
      --second-letter letter   a letter (default "b")

Second:
      --a   before it in the alphabet, after it in the help
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("the help (-want +got):\n%s", diff)
	}
}

func TestProblems(t *testing.T) {
	var none Problems
	none.Checkf(true, "--a: is fine")
	none.File("--b", "")
	none.File("--c", t.TempDir())
	none.NamespacedName("--d", "kairship-system/key")
	if err := none.Err(); err != nil {
		t.Errorf("nothing is wrong, and yet: %v", err)
	}
	var some Problems
	some.Checkf(false, "--b: must be more than %d", 0)
	some.File("--a", "/does/not/exist")
	err := some.Err()
	want := "these flags cannot be used:\n--a: stat /does/not/exist: no such file or directory\n--b: must be more than 0"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestNamespacedName(t *testing.T) {
	for _, value := range []string{"", "key", "/key", "kairship-system/", "a/b/c"} {
		var p Problems
		p.NamespacedName("--d", value)
		if p.Err() == nil {
			t.Errorf("%q passes for namespace/name", value)
		}
	}
}

func TestCheckAddress(t *testing.T) {
	for address, ok := range map[string]bool{
		":8080": true, "127.0.0.1:0": true, "[::1]:443": true, "localhost:65535": true,
		"8080": false, ":65536": false, ":-1": false, ":http": false, "": false,
	} {
		if err := CheckAddress(address); (err == nil) != ok {
			t.Errorf("%q: %v, want ok = %t", address, err, ok)
		}
	}
}

func TestLoopback(t *testing.T) {
	for host, want := range map[string]bool{"localhost": true, "127.0.0.1": true, "127.8.8.8": true, "::1": true, "": false, "0.0.0.0": false, "10.0.0.1": false, "example.org": false} {
		if got := Loopback(host); got != want {
			t.Errorf("%q: got %t", host, got)
		}
	}
}
