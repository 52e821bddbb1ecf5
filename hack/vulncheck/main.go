// Command vulncheck runs govulncheck over Kairship's programs and fails on every known
// vulnerability that they call, unless explained.yaml says why it is no danger, and until
// when that is believed.
//
// It needs the Go vulnerability database: GOVULNDB may name a mirror of it, by https or
// as a folder (file:///path).
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

func main() {
	root := flag.String("root", ".", "folder of the repository")
	explained := flag.String("explained", "hack/vulncheck/explained.yaml", "file with the findings that are explained")
	flag.Parse()
	packages := flag.Args()
	if len(packages) == 0 {
		packages = []string{"./cmd/..."}
	}
	if err := run(*root, *explained, packages, time.Now(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "vulncheck:", err)
		os.Exit(1)
	}
}

func run(root, explained string, packages []string, now time.Time, out io.Writer) error {
	known, err := readExplanations(explained)
	if err != nil {
		return err
	}
	report, err := scan(root, packages)
	if err != nil {
		return err
	}
	found, err := findings(report)
	if err != nil {
		return err
	}
	return judge(found, known, now, out)
}

// scan is what govulncheck finds, as it writes it for programs.
func scan(root string, packages []string) ([]byte, error) {
	args := []string{"tool", "-modfile=tools/vuln/go.mod", "govulncheck", "-format=json"}
	if mirror := os.Getenv("GOVULNDB"); mirror != "" {
		args = append(args, "-db="+mirror)
	}
	args = append(args, packages...)
	cmd := exec.CommandContext(context.Background(), "go", args...) //nolint:gosec // Packages are ours to name.
	cmd.Dir = root
	var problems bytes.Buffer
	cmd.Stderr = &problems
	report, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("govulncheck could not look: %w\n%s\nIt needs the Go vulnerability database (https://vuln.go.dev): let this machine reach it, or name a mirror in GOVULNDB (https://… or file:///…)",
			err, strings.TrimSpace(problems.String()))
	}
	return report, nil
}

// finding is a vulnerability that is called.
type finding struct {
	id, summary, module, found, fixed, call string
}

// findings reads a report. Vulnerabilities of modules and packages of which nothing
// vulnerable is called are not among them.
func findings(report []byte) (map[string]finding, error) {
	summaries, called := map[string]string{}, map[string]finding{}
	for decoder := json.NewDecoder(bytes.NewReader(report)); ; {
		var message struct {
			OSV *struct {
				ID      string `json:"id"`
				Summary string `json:"summary"`
			} `json:"osv"`
			Finding *struct {
				OSV          string `json:"osv"`
				FixedVersion string `json:"fixed_version"`
				Trace        []struct {
					Module   string `json:"module"`
					Version  string `json:"version"`
					Package  string `json:"package"`
					Function string `json:"function"`
				} `json:"trace"`
			} `json:"finding"`
		}
		if err := decoder.Decode(&message); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("reading the report: %w", err)
		}
		if message.OSV != nil {
			summaries[message.OSV.ID] = message.OSV.Summary
		}
		if f := message.Finding; f != nil && len(f.Trace) > 0 && f.Trace[0].Function != "" {
			at := f.Trace[0]
			called[f.OSV] = finding{id: f.OSV, module: at.Module, found: at.Version, fixed: f.FixedVersion, call: at.Package + "." + at.Function}
		}
	}
	for id, f := range called {
		f.summary = summaries[id]
		called[id] = f
	}
	return called, nil
}

// explanation says why a vulnerability that is called is no danger.
type explanation struct {
	ID      string `json:"id"`
	Because string `json:"because"`
	// Until is the last day on which that is believed, as 2026-12-31.
	Until string `json:"until"`
}

func readExplanations(path string) ([]explanation, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all []explanation
	if err := yaml.UnmarshalStrict(raw, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return all, nil
}

// judge says everything that is wrong at once.
func judge(found map[string]finding, known []explanation, now time.Time, out io.Writer) error {
	var problems []error
	explained := map[string]bool{}
	for _, e := range known {
		until, err := time.Parse(time.DateOnly, e.Until)
		_, there := found[e.ID]
		switch {
		case err != nil || e.Because == "":
			problems = append(problems, fmt.Errorf("explained: %s needs because, and until as 2026-12-31", cmp.Or(e.ID, "an entry without id")))
		case !there:
			problems = append(problems, fmt.Errorf("explained: %s is not found any longer: take it out", e.ID))
		case now.After(until.AddDate(0, 0, 1)):
			problems = append(problems, fmt.Errorf("explained: %s was explained until %s: look again", e.ID, e.Until))
		default:
			explained[e.ID] = true
			fmt.Fprintf(out, "%s is called and explained until %s: %s\n", e.ID, e.Until, e.Because)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(found)) {
		if f := found[id]; !explained[id] {
			problems = append(problems, fmt.Errorf("%s: %s: %s is called, of %s %s; fixed in %s (https://pkg.go.dev/vuln/%s)",
				id, f.summary, f.call, f.module, f.found, cmp.Or(f.fixed, "no version yet"), id))
		}
	}
	if len(problems) == 0 {
		fmt.Fprintf(out, "no vulnerability is called that is not explained (%d explained)\n", len(explained))
	}
	return errors.Join(problems...)
}
