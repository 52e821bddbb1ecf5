package flags

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

// values are what a program of the tests has read.
type values struct {
	Letter  string
	Switch  bool
	Pause   time.Duration
	Number  int
	List    []string
	Workers map[string]int
}

func program(into *values) Program {
	return Program{
		Name: "kairship-test", Version: "v1.2.3", Purpose: "does nothing.",
		Groups: []Group{
			NewGroup("First", func(f *pflag.FlagSet) {
				f.StringVar(&into.Letter, "second-letter", "b", "a `letter`")
				f.DurationVar(&into.Pause, "pause", time.Minute, "time between two looks")
				f.IntVar(&into.Number, "number", 7, "how many; a text that is so long that it does not fit into one line of the help is broken where a word ends")
			}),
			NewGroup("Second", func(f *pflag.FlagSet) {
				f.BoolVar(&into.Switch, "a", false, "before it in the alphabet, after it in the help")
				f.StringSliceVar(&into.List, "list", nil, "some words")
				f.StringToIntVar(&into.Workers, "workers", nil, "how many, as `name=number,...`")
			}),
		},
		Validate: func(p *Problems) {
			p.Checkf(into.Number > 0, "--number: must be more than 0, not %d", into.Number)
			p.Checkf(into.Letter != "" || into.Pause == 0, "--second-letter and --pause: give both or neither")
		},
	}
}

func write(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPrecedence(t *testing.T) {
	defaults := values{Letter: "b", Pause: time.Minute, Number: 7}
	with := func(change func(*values)) values {
		v := defaults
		change(&v)
		return v
	}
	for _, c := range []struct {
		reason string
		args   []string
		env    []string
		file   string
		want   values
		given  map[string]string // FILE stands for the file's path
	}{
		{reason: "defaults stay", want: defaults, given: map[string]string{}},
		{
			reason: "a flag is read", args: []string{"--second-letter=z", "--a"},
			want: with(func(v *values) { v.Letter, v.Switch = "z", true }), given: map[string]string{"second-letter": "the command line", "a": "the command line"},
		},
		{
			reason: "the environment is read", env: []string{"KAIRSHIP_SECOND_LETTER=y", "KAIRSHIP_A=true", "PATH=/bin"},
			want:  with(func(v *values) { v.Letter, v.Switch = "y", true }),
			given: map[string]string{"second-letter": "KAIRSHIP_SECOND_LETTER", "a": "KAIRSHIP_A"},
		},
		{
			reason: "the file is read, in YAML's types", file: "# settings\nsecond-letter: x\npause: 5s\nnumber: 12\na: true\nlist: [one, two]\nworkers:\n  first: 1\n  second: 2\n",
			want: values{Letter: "x", Switch: true, Pause: 5 * time.Second, Number: 12, List: []string{"one", "two"}, Workers: map[string]int{"first": 1, "second": 2}},
			given: map[string]string{
				"second-letter": "FILE:2", "pause": "FILE:3", "number": "FILE:4", "a": "FILE:5", "list": "FILE:6", "workers": "FILE:7",
			},
		},
		{
			reason: "a flag goes before the environment, that before the file, that before the default",
			args:   []string{"--second-letter=z"}, env: []string{"KAIRSHIP_SECOND_LETTER=y", "KAIRSHIP_PAUSE=3s"}, file: "second-letter: x\npause: 5s\nnumber: 12\n",
			want:  with(func(v *values) { v.Letter, v.Pause, v.Number = "z", 3*time.Second, 12 }),
			given: map[string]string{"second-letter": "the command line", "pause": "KAIRSHIP_PAUSE", "number": "FILE:3"},
		},
		{
			reason: "a list is taken from one place and not joined of several", args: []string{"--list=a", "--list=b"}, env: []string{"KAIRSHIP_WORKERS=env=1"},
			file:  "list: [c]\nworkers: {file: 2}\n",
			want:  with(func(v *values) { v.List, v.Workers = []string{"a", "b"}, map[string]int{"env": 1} }),
			given: map[string]string{"list": "the command line", "workers": "KAIRSHIP_WORKERS"},
		},
		{reason: "a list's words may have commas", file: "list: [\"a,b\", c]\n", want: with(func(v *values) { v.List = []string{"a,b", "c"} }), given: map[string]string{"list": "FILE:1"}},
		{reason: "a switch that is on in the file is switched off by a flag", args: []string{"--a=false"}, file: "a: true\n", want: defaults, given: map[string]string{"a": "the command line"}},
		{reason: "an empty variable is one that is not given", env: []string{"KAIRSHIP_SECOND_LETTER="}, file: "second-letter: x\n", want: with(func(v *values) { v.Letter = "x" }), given: map[string]string{"second-letter": "FILE:1"}},
		{reason: "an empty file says nothing", file: "# nothing\n", want: defaults, given: map[string]string{}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			args, path := c.args, ""
			if c.file != "" {
				path = write(t, c.file)
				args = append(args, "--config", path)
			}
			var got values
			s, err := program(&got).Parse(args, c.env, &bytes.Buffer{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("values (-want +got):\n%s", diff)
			}
			for name, place := range c.given {
				c.given[name] = strings.Replace(place, "FILE", path, 1)
			}
			if diff := cmp.Diff(c.given, s.Given()); diff != "" {
				t.Errorf("places (-want +got):\n%s", diff)
			}
		})
	}
}

func TestConfigFromEnvironment(t *testing.T) {
	var got values
	first, second := write(t, "number: 1\n"), write(t, "number: 2\n")
	s, err := program(&got).Parse(nil, []string{"KAIRSHIP_CONFIG=" + first}, &bytes.Buffer{})
	if err != nil || got.Number != 1 || s.File != first {
		t.Errorf("got %d of %v, and %v", got.Number, s, err)
	}
	if _, err := program(&got).Parse([]string{"--config=" + second}, []string{"KAIRSHIP_CONFIG=" + first}, &bytes.Buffer{}); err != nil || got.Number != 2 {
		t.Errorf("got %d and %v: the flag goes before the environment", got.Number, err)
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		reason string
		args   []string
		env    []string
		file   string
		want   []string // the lines; FILE stands for the file's path
	}{
		{
			reason: "an unknown flag is named, with what was probably meant", args: []string{"--second-leter=z"},
			want: []string{"one setting is wrong:", "  --second-leter: there is no such flag; did you mean --second-letter?"},
		},
		{
			reason: "all unknown flags are, with or without a value", args: []string{"--third", "value", "--fourth", "--fifth=5", "--number=0"},
			want: []string{
				"4 settings are wrong:", "  --fifth: there is no such flag", "  --fourth: there is no such flag",
				"  --number: must be more than 0, not 0 (set by the command line)", "  --third: there is no such flag",
			},
		},
		{reason: "an argument is refused", args: []string{"start"}, want: []string{"one setting is wrong:", `  "start" is not a flag, and there is nothing else to give`}},
		{
			reason: "what cannot be read and what is refused are told together, with their places",
			args:   []string{"--a=perhaps"}, env: []string{"KAIRSHIP_PAUSE=5"}, file: "\nnumber: -1\nworkers: {first: many}\n",
			want: []string{
				"4 settings are wrong:",
				`  --a: must be true or false, not "perhaps" (set by the command line)`,
				"  --number: must be more than 0, not -1 (set by FILE:2)",
				`  --pause: must be a duration with its unit, such as 500ms, 30s or 1m30s, not "5" (set by KAIRSHIP_PAUSE)`,
				`  --workers: must be name=number,name=number, not "first=many" (set by FILE:3)`,
			},
		},
		{
			reason: "a problem of two settings says where both come from", args: []string{"--second-letter="},
			want: []string{"one setting is wrong:", "  --second-letter and --pause: give both or neither (--second-letter is set by the command line; --pause is the default, 1m)"},
		},
		{
			reason: "a key that is no setting is most likely misspelt", file: "number: 1\nsecondLetter: x\nnumbr: 2\nconfig: other.yaml\n",
			want: []string{
				"3 settings are wrong:", `  FILE:2: there is no setting "secondLetter"; did you mean second-letter?`,
				`  FILE:3: there is no setting "numbr"; did you mean number?`, `  FILE:4: there is no setting "config"`,
			},
		},
		{
			reason: "a key given twice is ambiguous", file: "number: 1\nnumber: 2\n",
			want: []string{"one setting is wrong:", `  FILE:2: "number" is given already, at FILE:1; leave one of them out`},
		},
		{
			reason: "a value of another shape is refused", file: "number: [1]\nlist: {a: b}\nworkers: [a]\npause:\n",
			want: []string{
				"4 settings are wrong:", "  FILE:1: number: must be one value, not a list or a mapping", "  FILE:2: list: must be a list of texts",
				"  FILE:3: workers: must be names and values, such as {name: value}",
				`  FILE:4: pause: has no value; leave the line out for the default, or write "" for an empty one`,
			},
		},
		{reason: "settings are a mapping", file: "- number\n", want: []string{"one setting is wrong:", "  --config: FILE: line 1: must be settings such as `log-level: debug`, one on each line"}},
		{reason: "there is one document", file: "number: 1\n---\nnumber: 2\n", want: []string{"one setting is wrong:", "  --config: FILE: line 2: a second document begins; all settings belong into one"}},
		{reason: "what is no YAML is refused by line", file: "number: 1\n  a: b\n", want: []string{"one setting is wrong:", "  --config: FILE: not YAML: yaml: line 2: mapping values are not allowed in this context"}},
		{reason: "a password in a URL is not repeated", args: []string{"--pause=https://user:password@example.com/"}, want: []string{
			"one setting is wrong:", `  --pause: must be a duration with its unit, such as 500ms, 30s or 1m30s, not "https://[hidden]@example.com/" (set by the command line)`,
		}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			args, path := c.args, "FILE"
			if c.file != "" {
				path = write(t, c.file)
				args = append(args, "--config="+path)
			}
			_, err := program(&values{}).Parse(args, c.env, &bytes.Buffer{})
			if err == nil {
				t.Fatal("it is accepted")
			}
			got := strings.ReplaceAll(err.Error(), path, "FILE")
			if diff := cmp.Diff(strings.Join(append(c.want, "see kairship-test --help"), "\n"), got); diff != "" {
				t.Errorf("the error (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("a file that is not there is named", func(t *testing.T) {
		_, err := program(&values{}).Parse([]string{"--config=/does/not/exist"}, nil, &bytes.Buffer{})
		if err == nil || !strings.Contains(err.Error(), "--config: open /does/not/exist") {
			t.Errorf("got %v", err)
		}
	})
}

// TestIgnored checks that a misspelt variable is reported, and those that Kubernetes creates for
// Services are not.
func TestIgnored(t *testing.T) {
	s, err := program(&values{}).Parse(nil, []string{
		"KAIRSHIP_SECOND_LETER=z", "KAIRSHIP_NUMBER=1", "KAIRSHIP_APISERVER_SERVICE_HOST=10.0.0.1", "KAIRSHIP_APISERVER_SERVICE_PORT_HTTPS=443",
		"KAIRSHIP_APISERVER_PORT=tcp://10.0.0.1:443", "KAIRSHIP_APISERVER_PORT_443_TCP_ADDR=10.0.0.1", "HOME=/",
	}, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"KAIRSHIP_SECOND_LETER"}, s.Ignored); diff != "" {
		t.Errorf("ignored (-want +got):\n%s", diff)
	}
}

func TestValues(t *testing.T) {
	s, err := program(&values{}).Parse([]string{"--second-letter=https://user:password@example.com"}, []string{"KAIRSHIP_WORKERS=a=1"}, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"second-letter": "https://[hidden]@example.com", "pause": "1m0s", "number": "7", "a": "false", "list": "[]", "workers": "[a=1]"}
	if diff := cmp.Diff(want, s.Values()); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

func TestHelp(t *testing.T) {
	var out bytes.Buffer
	if _, err := program(&values{}).Parse([]string{"--number=0", "-h"}, nil, &out); !errors.Is(err, ErrPrinted) {
		t.Fatalf("got error %v, want that for help", err)
	}
	want := `kairship-test does nothing.

Usage:
  kairship-test [flags]

Each setting is a flag; a variable of the environment, under the name at its right; and a key of the
YAML file that --config (or KAIRSHIP_CONFIG) names, like the flag without its dashes. A flag goes
before the environment, the environment before the file, the file before the default. Durations have
units: 500ms, 30s, 1m30s.

First:
  --second-letter letter                                                      KAIRSHIP_SECOND_LETTER
        a letter (default b)
  --pause duration                                                                    KAIRSHIP_PAUSE
        time between two looks (default 1m)
  --number number                                                                    KAIRSHIP_NUMBER
        how many; a text that is so long that it does not fit into one line of the help is broken
        where a word ends (default 7)

Second:
  --a                                                                                     KAIRSHIP_A
        before it in the alphabet, after it in the help
  --list list                                                                          KAIRSHIP_LIST
        some words
  --workers name=number,...                                                         KAIRSHIP_WORKERS
        how many, as name=number,...

Command line:
  --config file                                                                      KAIRSHIP_CONFIG
        file with settings, in YAML: the names of flags without the dashes, and their values
  --version
        print the version and exit
  -h, --help
        print this help and exit
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("the help (-want +got):\n%s", diff)
	}
}

func TestVersion(t *testing.T) {
	var out bytes.Buffer
	if _, err := program(&values{}).Parse([]string{"--version"}, nil, &out); !errors.Is(err, ErrPrinted) || out.String() != "kairship-test v1.2.3\n" {
		t.Errorf("got %q and %v", out.String(), err)
	}
}

func TestReference(t *testing.T) {
	var out bytes.Buffer
	program(&values{}).Reference(&out)
	want := "\n### Second\n\n| setting | takes | default | |\n| --- | --- | --- | --- |\n" +
		"| `a`<br>`KAIRSHIP_A` | true or false | `false` | before it in the alphabet, after it in the help |\n"
	if !strings.Contains(out.String(), want) {
		t.Errorf("got:\n%s", out.String())
	}
}
