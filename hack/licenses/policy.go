package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// accepted are the licences that something in the programs may have, with what they ask
// for. A licence that is not here is refused until somebody has read it.
var accepted = map[string]string{
	"0BSD":         "nothing",
	"Apache-2.0":   "its text and NOTICE go with the programs",
	"BSD-2-Clause": "its text goes with the programs",
	"BSD-3-Clause": "its text goes with the programs",
	"ISC":          "its text goes with the programs",
	"MIT":          "its text goes with the programs",
	"MPL-2.0":      "changed files would have to be published; we change none",
	"PSF-2.0":      "its text goes with the programs",
}

// declared are the licences of modules that have no file with them, with why that is
// believed. A file that appears goes before it.
var declared = map[string]struct{ licence, because string }{
	"github.com/clusterpedia-io/api":       {"Apache-2.0", "a part of Clusterpedia, published from its repository, whose LICENSE it is under"},
	"github.com/clusterpedia-io/client-go": {"Apache-2.0", "a part of Clusterpedia; its generated files say so in their heads"},
}

// certain is how much of a text has to be that of known licences, in percent. The rest
// are names and years.
const certain = 75

var (
	licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|unlicense)`)
	noticeFile  = regexp.MustCompile(`(?i)^notice`)
)

// inFolder reads the licences in the root of a module.
func inFolder(dir string) (part, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return part{}, err
	}
	var found part
	for _, entry := range entries {
		licence := licenceFile.MatchString(entry.Name())
		if entry.IsDir() || !licence && !noticeFile.MatchString(entry.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return part{}, err
		}
		found.texts = append(found.texts, text)
		if licence {
			found.Licences = append(found.Licences, identify(text)...)
		}
	}
	slices.Sort(found.Licences)
	found.Licences = slices.Compact(found.Licences)
	return found, nil
}

// identify tells which licences a text is.
func identify(text []byte) []string {
	coverage := licensecheck.Scan(text)
	if coverage.Percent < certain {
		return []string{fmt.Sprintf("unknown (%.0f %% of the text is known)", coverage.Percent)}
	}
	var found []string
	for _, match := range coverage.Match {
		if !match.IsURL { // It names where the text is, which is there.
			found = append(found, match.ID)
		}
	}
	return found
}

// check refuses what the policy does not accept, all of it at once.
func check(parts []part) error {
	var problems []error
	for _, p := range parts {
		if len(p.Licences) == 0 {
			problems = append(problems, fmt.Errorf("%s %s: no licence was found", p.Name, p.Version))
		}
		for _, licence := range p.Licences {
			if !acceptable(licence) {
				problems = append(problems, fmt.Errorf("%s %s: %s is not accepted: read what it asks for, and add it to hack/licenses/policy.go or leave the module out", p.Name, p.Version, licence))
			}
		}
	}
	return errors.Join(problems...)
}

// acceptable takes also a choice between licences, as npm writes it, when one of them is
// accepted, and several that hold together when all are.
func acceptable(licence string) bool {
	licence = strings.Trim(licence, "()")
	if choice := strings.Split(licence, " OR "); len(choice) > 1 {
		return slices.ContainsFunc(choice, acceptable)
	}
	for each := range strings.SplitSeq(licence, " AND ") {
		if accepted[cmp.Or(strings.TrimSpace(each), "none")] == "" {
			return false
		}
	}
	return true
}
