package resolvers

import (
	"os"
	"regexp"
	"testing"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/validator/rules"
)

// What the guide to policies tells people to send is what the API takes.
func TestPolicyGuideIsValid(t *testing.T) {
	text, err := os.ReadFile("../../docs/policies.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```graphql\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(blocks) < 3 {
		t.Fatalf("the guide has %d examples", len(blocks))
	}
	for _, block := range blocks {
		if _, errs := gqlparser.LoadQueryWithRules(loadSchema(t), block[1], rules.NewDefaultRules()); len(errs) > 0 {
			t.Errorf("%v:\n%s", errs, block[1])
		}
	}
}
