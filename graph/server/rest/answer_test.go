package rest

import (
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

func TestBeside(t *testing.T) {
	failed := gqlerror.List{{Message: "away", Extensions: map[string]any{"code": "TIMEOUT"}}}
	for name, c := range map[string]struct {
		object string
		resp   graphql.Response
		want   string
	}{
		"nothing":                {`{"a":1}`, graphql.Response{}, `{"a":1}`},
		"an error":               {`{"a":null}`, graphql.Response{Errors: failed}, `{"a":null,"errors":[{"detail":"away","code":"TIMEOUT"}]}`},
		"an extension":           {`{"a":1}`, graphql.Response{Extensions: map[string]any{"warnings": []string{"w"}}}, `{"a":1,"extensions":{"warnings":["w"]}}`},
		"of an object with none": {`{}`, graphql.Response{Extensions: map[string]any{"w": 1}}, `{"extensions":{"w":1}}`},
	} {
		if got := beside([]byte(c.object), &c.resp); string(got) != c.want {
			t.Errorf("%s: got %s", name, got)
		}
	}
}
