package resolvers

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/validator/rules"
)

// What the guide tells people to send is what the API takes, and it leaves no
// mutation out; policies have a guide of their own.
func TestMutationGuideIsTrue(t *testing.T) {
	text, err := os.ReadFile("../../docs/mutations.md")
	if err != nil {
		t.Fatal(err)
	}
	schema := loadSchema(t)
	blocks := regexp.MustCompile("(?s)```graphql\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(blocks) < 3 {
		t.Fatalf("the guide has %d examples", len(blocks))
	}
	for _, block := range blocks {
		if _, errs := gqlparser.LoadQueryWithRules(schema, block[1], rules.NewDefaultRules()); len(errs) > 0 {
			t.Errorf("%v:\n%s", errs, block[1])
		}
	}
	for _, field := range schema.Mutation.Fields {
		if !strings.HasSuffix(field.Name, "Policy") && !strings.Contains(string(text), "`"+field.Name+"`") {
			t.Errorf("the guide does not mention %s", field.Name)
		}
	}
}
