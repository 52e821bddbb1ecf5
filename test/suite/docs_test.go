package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// document is a file of the repository.
func document(t *testing.T, path string) string {
	t.Helper()
	root, err := fleet.Root()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// blocks are the blocks of code of a language in a document.
func blocks(document, language string) []string {
	var all []string
	for _, found := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(document, -1) {
		all = append(all, strings.TrimSpace(found[1]))
	}
	return all
}

// TestReadmeShowsTheTestedQuery keeps the README, GraphiQL's first query and this
// suite from drifting apart.
func TestReadmeShowsTheTestedQuery(t *testing.T) {
	want := strings.TrimSpace(fleetQuery)
	if !slices.Contains(blocks(document(t, "README.md"), "graphql"), want) {
		t.Error("no graphql block of README.md is the query of test/suite/testdata/fleet.graphql")
	}
	if diff := cmp.Diff(want, readyMade(t, "10-fleet.graphql")); diff != "" {
		t.Errorf("the first query of GraphiQL is another one (-test/suite/testdata/fleet.graphql +GraphiQL):\n%s", diff)
	}
}

// TestGuideShowsTheReadyMadeTroubleQuery keeps the guide and GraphiQL's menu from
// drifting apart: both say that this finds what needs a look.
func TestGuideShowsTheReadyMadeTroubleQuery(t *testing.T) {
	if !slices.Contains(blocks(document(t, "docs/graphql.md"), "graphql"), readyMade(t, "20-trouble.graphql")) {
		t.Error("no graphql block of docs/graphql.md is GraphiQL's query 20-trouble.graphql")
	}
}

// readyMade is a query of GraphiQL's menu without the comments that are its title.
func readyMade(t *testing.T, name string) string {
	t.Helper()
	return strings.TrimSpace(regexp.MustCompile(`(?m)^#.*\n`).ReplaceAllString(document(t, "ui/graphiql/src/queries/"+name), ""))
}

// What is never twice the same in an answer: the identities of objects, and the
// ends of the names of pods.
var (
	uid     = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	podName = regexp.MustCompile(`^([a-z-]+-[0-9a-f]+)-[0-9a-z]{5}$`)
)

// masked replaces what is never twice the same.
func masked(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, inner := range v {
			v[key] = masked(inner)
		}
	case []any:
		for i, inner := range v {
			v[i] = masked(inner)
		}
	case string:
		return podName.ReplaceAllString(uid.ReplaceAllString(v, "some UID"), "$1-some pod")
	}
	return v
}

// TestReadmeShowsTheRealAnswer asks what the README asks, and compares the part of
// the answer that it prints, field by field.
func TestReadmeShowsTheRealAnswer(t *testing.T) {
	on := open(t)
	printed := blocks(document(t, "README.md"), "json")
	if len(printed) != 1 {
		t.Fatalf("README.md has %d blocks of JSON, the answer should be the only one", len(printed))
	}
	var want map[string]any
	if err := json.Unmarshal([]byte(printed[0]), &want); err != nil {
		t.Fatalf("the answer of README.md is no JSON: %v", err)
	}
	key := fmt.Sprint(want["kind"], " ", want["namespace"], "/", want["name"])
	if sampleHealth["alpha"][key] == "" {
		t.Fatalf("README.md shows %s, which is no sample application of alpha", key)
	}
	poll.Until(t, propagationTimeout, "the answer is the one that is printed", func(ctx context.Context) error {
		data, _, err := gql.Query[struct {
			Instances struct {
				Nodes []struct {
					Name      string
					Workloads struct{ Nodes []map[string]any }
				}
			}
		}](ctx, on.kairship, fleetQuery, nil)
		if err != nil {
			return err
		}
		for _, w := range data.Instances.Nodes[0].Workloads.Nodes {
			if fmt.Sprint(w["kind"], " ", w["namespace"], "/", w["name"]) != key {
				continue
			}
			if diff := cmp.Diff(masked(want), masked(w)); diff != "" {
				return fmt.Errorf("README.md says -, the answer says +:\n%s", diff)
			}
			return nil
		}
		return fmt.Errorf("%s is not in the answer", key)
	})
}

// TestDocumentsTellWhatTheQueryCosts keeps the number that is promised in words and
// the one that is measured together.
func TestDocumentsTellWhatTheQueryCosts(t *testing.T) {
	word := map[int]string{6: "six", 7: "seven", 8: "eight"}[costOfFleet]
	for path, sentence := range map[string]string{
		"README.md":       "query below is " + word + " requests to the index",
		"docs/graphql.md": word + ", for nine applications",
	} {
		if !strings.Contains(document(t, path), sentence) {
			t.Errorf("%s does not say %q", path, sentence)
		}
	}
}
