package server_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/kairship-io/kairship/graph/server"
	"github.com/kairship-io/kairship/graph/server/document"
)

func sha(document string) string {
	sum := sha256.Sum256([]byte(document))
	return hex.EncodeToString(sum[:])
}

// byHash is a request with a hash, and perhaps with the document.
func byHash(t *testing.T, document, hash string) string {
	t.Helper()
	body := map[string]any{"extensions": map[string]any{"persistedQuery": map[string]any{"version": 1, "sha256Hash": hash}}}
	if document != "" {
		body["query"] = document
	}
	return marshal(t, body)
}

// TestPersistedDocuments is the protocol of Apollo's automatic persisted queries.
func TestPersistedDocuments(t *testing.T) {
	const document = `{hello(name:"by hash")}`
	s := start(t, nil, nil)
	ask := func(body string) (reply, string) {
		r := s.do(t, call{body: body, accept: graphQLJSON})
		return r, codeOf(decode(t, r.body))
	}
	r, code := ask(byHash(t, "", sha(document)))
	if code != "PERSISTED_QUERY_NOT_FOUND" || !strings.Contains(r.body, `"message":"PersistedQueryNotFound"`) {
		t.Errorf("Apollo's clients look for the message and the code: %s", r.body)
	}
	if r, code = ask(byHash(t, document, sha("another"))); code != "INVALID" {
		t.Errorf("another document under the hash: %s", r.body)
	}
	if _, code = ask(byHash(t, "", sha("another"))); code != "PERSISTED_QUERY_NOT_FOUND" {
		t.Errorf("it was remembered under a hash that is not its own")
	}
	if r, _ = ask(byHash(t, document, sha(document))); !strings.Contains(r.body, "hello by hash") {
		t.Errorf("with both: %s", r.body)
	}
	if r, _ = ask(byHash(t, "", sha(document))); !strings.Contains(r.body, "hello by hash") {
		t.Errorf("by the hash alone: %s", r.body)
	}
	get := url.Values{"extensions": {`{"persistedQuery":{"version":1,"sha256Hash":"` + sha(document) + `"}}`}}
	if r := s.do(t, call{method: http.MethodGet, path: "/graphql?" + get.Encode(), accept: graphQLJSON}); !strings.Contains(r.body, "hello by hash") {
		t.Errorf("by GET: %s", r.body)
	}
	if r := s.do(t, call{method: http.MethodGet, path: "/graphql?documentId=sha256:" + sha(document), accept: graphQLJSON}); !strings.Contains(r.body, "hello by hash") {
		t.Errorf("by documentId: %s", r.body)
	}
	for _, tt := range []struct{ name, extension, why string }{
		{"version", `{"version":2,"sha256Hash":"a"}`, "there is one version"},
		{"no version", `{"sha256Hash":"a"}`, "it says what the hash is"},
		{"no hash", `{"version":1}`, "nothing is named"},
		{"kind", `"a"`, "no object"},
		{"kind of hash", `{"version":1,"sha256Hash":7}`, "no text"},
	} {
		if r, code := ask(`{"query":"{hello}","extensions":{"persistedQuery":` + tt.extension + `}}`); code != "INVALID" {
			t.Errorf("%s: %s: %s", tt.name, r.body, tt.why)
		}
	}
	if r, _ := ask(`{"query":"{hello}","extensions":{"persistedQuery":null}}`); r.status != http.StatusOK {
		t.Errorf("null is as good as missing: %s", r.body)
	}
}

func TestOnlyGoodDocumentsAreRemembered(t *testing.T) {
	s := start(t, nil, func(c *server.Config) { c.MaxDepth = 2; c.PersistedDocuments = 2 })
	ask := func(document, hash string) string {
		return codeOf(decode(t, s.do(t, call{body: byHash(t, document, hash), accept: graphQLJSON}).body))
	}
	for _, bad := range []string{"{", "{nope}", "{items{child{name}}}"} {
		ask(bad, sha(bad))
		if code := ask("", sha(bad)); code != "PERSISTED_QUERY_NOT_FOUND" {
			t.Errorf("%s was remembered: %s", bad, code)
		}
	}
	long := "{hello} #" + strings.Repeat("x", 20<<10)
	ask(long, sha(long))
	if code := ask("", sha(long)); code != "PERSISTED_QUERY_NOT_FOUND" {
		t.Error("a document of 20 kB was remembered: a thousand of the largest size must not fill the memory")
	}
	documents := make([]string, 3)
	for i := range documents {
		documents[i] = fmt.Sprintf("{a%d:hello}", i)
		if code := ask(documents[i], sha(documents[i])); code != "" {
			t.Fatal(code)
		}
	}
	if ask("", sha(documents[0])) != "PERSISTED_QUERY_NOT_FOUND" || ask("", sha(documents[2])) != "" {
		t.Error("of three documents, the two that were used last are remembered where there is room for two")
	}
}

func TestPersistedDocumentsSwitchedOff(t *testing.T) {
	s := start(t, nil, func(c *server.Config) { c.PersistedDocuments = -1 })
	r := s.do(t, call{body: byHash(t, "", sha("{hello}")), accept: graphQLJSON})
	if codeOf(decode(t, r.body)) != "PERSISTED_QUERY_NOT_SUPPORTED" || !strings.Contains(r.body, `"message":"PersistedQueryNotSupported"`) {
		t.Errorf("Apollo's clients stop asking when they read this: %s", r.body)
	}
}

func TestTrustedDocuments(t *testing.T) {
	const first, second = `query First{hello}`, `query Second{hello(name:"again")}`
	parse := func(text string) document.Trusted {
		list, err := document.ParseTrusted([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	current := parse(`{"` + sha(first) + `":` + marshal(t, first) + `}`)
	s := start(t, nil, func(c *server.Config) { c.TrustedDocuments = func() document.Trusted { return current } })
	ask := func(body string) string {
		r := s.do(t, call{body: body, accept: graphQLJSON})
		if r.status == http.StatusOK {
			return "served"
		}
		return codeOf(decode(t, r.body))
	}
	for _, tt := range []struct{ name, body, want, why string }{
		{"by its hash", byHash(t, "", sha(first)), "served", "it is in the list"},
		{"by documentId", `{"documentId":"sha256:` + sha(first) + `"}`, "served", "the same"},
		{"written out", `{"query":` + marshal(t, first) + `}`, "served", "it is the same document"},
		{"with both", byHash(t, first, sha(first)), "served", "as clients register it elsewhere"},
		{"another one", `{"query":"{hello}"}`, "FORBIDDEN", "it is not in the list"},
		{"a hash of another one", byHash(t, "", sha(second)), "FORBIDDEN", "and to send its text would not help"},
		{"another one with its hash", byHash(t, second, sha(second)), "FORBIDDEN", "clients register nothing here"},
		{"another one with the hash of one", byHash(t, second, sha(first)), "INVALID", "the hash is not its own"},
		{"introspection", `{"query":"{__schema{queryType{name}}}"}`, "FORBIDDEN", "it is not in the list"},
	} {
		if got := ask(tt.body); got != tt.want {
			t.Errorf("%s: %s, want %s: %s", tt.name, got, tt.want, tt.why)
		}
	}
	// As a file that is read again.
	current = parse(`{"format":"apollo-persisted-query-manifest","version":1,"operations":[{"id":"second","name":"Second","type":"query","body":` + marshal(t, second) + `}]}`)
	for body, want := range map[string]string{
		byHash(t, "", sha(first)):  "FORBIDDEN",
		byHash(t, "", sha(second)): "served",
		byHash(t, "", "second"):    "served",
		`{"documentId":"second"}`:  "served",
	} {
		if got := ask(body); got != want {
			t.Errorf("with another list, %s: %s, want %s", body, got, want)
		}
	}
}
