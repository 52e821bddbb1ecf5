package document_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/kairship-io/kairship/graph/server/document"
)

func sha(document string) string {
	sum := sha256.Sum256([]byte(document))
	return hex.EncodeToString(sum[:])
}

func TestParseTrustedRefuses(t *testing.T) {
	const format = `"format":"apollo-persisted-query-manifest","version":1`
	for _, tt := range []struct{ name, text, says string }{
		{"nothing", ``, "no JSON object"},
		{"no documents", `{}`, "has no documents"},
		{"no operations", `{` + format + `,"operations":[]}`, "has no documents"},
		{"another format", `{"format":"x","version":1,"operations":[]}`, "not of the format"},
		{"another hash", `{"` + sha("{a}") + `":"{b}"}`, "has another hash: " + sha("{b}")},
		{"no text", `{"a":""}`, "without a text"},
		{"no string", `{"a":{}}`, "is not a string"},
		{"no document", `{"a":"{hunter2"}`, `under "a" does not parse`},
		{"an id twice", `{` + format + `,"operations":[{"id":"a","body":"{x}"},{"id":"a","body":"{y}"}]}`, `have the id "a"`},
	} {
		_, err := document.ParseTrusted([]byte(tt.text))
		if err == nil || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want %q and nothing of a document", tt.name, err, tt.says)
		}
	}
}
