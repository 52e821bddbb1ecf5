package main

import (
	"cmp"
	"crypto/sha256"
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
// for. A licence that is not here is refused until it was read.
var accepted = map[string]string{
	"0BSD":         "nothing",
	"Apache-2.0":   "its text and NOTICE go with the programs",
	"BSD-2-Clause": "its text goes with the programs",
	"BSD-3-Clause": "its text goes with the programs",
	"ISC":          "its text goes with the programs",
	"MIT":          "its text goes with the programs",
	"MPL-2.0":      "changed files would have to be published; we change none",
	"PSF-2.0":      "its text goes with the programs",
	"Unlicense":    "nothing; its authors dedicated the work to the public domain",
	publicDomain:   "nothing",
}

// publicDomain is what the authors gave up all rights to.
const publicDomain = "Public-Domain"

// understood are texts that no tool identifies and that a person has read, by their
// SHA-256, with what was found. Another version of a text is to be read again.
var understood = map[string]struct {
	licences []string
	because  string
}{
	"f597097efe3d97021f89170746bd3a0fb9a8b6fb26b82043ed68a4e0283bee6c": {
		[]string{"BSD-2-Clause", "BSD-3-Clause", "MIT", publicDomain},
		"modernc.org/libc lists what it was made of: Go under BSD-3-Clause, go-netdb and Nixpkgs under MIT, and musl under MIT with parts under BSD-2-Clause, BSD-3-Clause or in the public domain",
	},
	"8438c9c89b849131ead81d5435cb97fcf052df5b0b286dda8a2d4c29e6cb3fd0": {
		[]string{publicDomain}, "modernc.org/sqlite is made of SQLite, whose authors dedicated it to the public domain",
	},
	"5ae5bee3072a841376451b48d8cfcec7188e10543926d5870828d36c8a750dc5": {
		nil, "modernc.org/memory says where the picture of its page is from, which is not in the programs",
	},
	"a1d1adec3ba691ef6e377a78bbe9e9e2501f2f4a1723d08857da1ac6564e4fed": {
		nil, "github.com/opencontainers/go-digest has its documentation, which is not in the programs, under CC-BY-SA-4.0",
	},
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

// identify returns which licences a text is.
func identify(text []byte) []string {
	if known, is := understood[fmt.Sprintf("%x", sha256.Sum256(text))]; is {
		return known.licences
	}
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
