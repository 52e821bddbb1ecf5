package hostile

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// canary stands for a secret in what is written: a password, a token, a key.
const canary = "canary-hunter2.s3cr3t"

// TestRefusedWritesKeepSecrets sends mutations with secrets in them that are refused in
// every way: by Kairship, by the instance's validation, by a user without the right. Neither the
// answer nor any log of Kairship has one.
func TestRefusedWritesKeepSecrets(t *testing.T) {
	on := fleet.Open(t)
	encoded := base64.StdEncoding.EncodeToString([]byte(canary))
	const apply = `mutation($m:String!){applyManifests(input:{instance:"alpha",manifests:$m,dryRun:true}){applied results{action message error{code message argument fields{argument message}}}}}`
	secret := func(rest string) string {
		return "apiVersion: v1\nkind: Secret\nmetadata:\n  name: canary\n  namespace: default\n" + rest
	}
	const register = `mutation($k:String!){registerInstance(input:{instance:"canary",kubeconfig:$k,dryRun:true}){instance{name}}}`
	kubeconfig := func(user string) string {
		return "apiVersion: v1\nkind: Config\ncurrent-context: x\ncontexts: [{name: x, context: {cluster: x, user: x}}]\n" +
			"clusters: [{name: x, cluster: {server: 'https://127.0.0.1:1'}}]\nusers: [{name: x, user: " + user + "}]\n"
	}
	for _, tt := range []struct{ name, query, text, why string }{
		{"no YAML", apply, "password: [" + canary, "the parser quotes what it cannot read"},
		{"no YAML, in a tab", apply, secret("stringData:\n\tpassword: " + canary), "the same"},
		{"a secret of another shape", apply, secret("stringData: " + canary), "the decoder says what it found"},
		{"a secret with a number", apply, secret("stringData: {password: {a: " + canary + "}}"), "the same"},
		{"a secret that is not base64", apply, secret("data: {password: '" + canary + "'}"), "it says where the text is wrong"},
		{"a secret of another type", apply, secret("type: kubernetes.io/tls\nstringData: {password: " + canary + "}"), "a validation's error may quote the object"},
		{"a secret with a bad key", apply, secret("stringData: {'a/b': " + canary + "}"), "the key is named, not its value"},
		{"a docker config", apply, secret("type: kubernetes.io/dockerconfigjson\ndata: {.dockerconfigjson: " + encoded + "}"), "validation reports that it is no JSON"},
		{"unknown fields", apply, secret("stringdata: {password: " + canary + "}"), "strict decoding names fields, not values"},
		{"no kind", apply, "metadata: {name: x}\nstringData: {password: " + canary + "}", "there is nothing to send"},
		{"an unknown kind", apply, "apiVersion: x/v1\nkind: Canary\nmetadata: {name: x}\nspec: " + canary, "the instance has no such kind"},
		{"no kubeconfig", register, canary, "it is no YAML of one"},
		{"half a kubeconfig", register, "users: [{name: x, user: {token: " + canary, "the parser quotes what it cannot read"},
		{"a kubeconfig of another shape", register, kubeconfig(canary), "the decoder says what it found"},
		{"a kubeconfig with a token", register, kubeconfig("{token: " + canary + "}"), "there is no listener"},
		{"a kubeconfig with a password", register, kubeconfig("{username: x, password: " + canary + "}"), "it is not taken"},
		{"a kubeconfig with a key", register, kubeconfig("{client-key-data: " + encoded + ", client-certificate-data: " + encoded + "}"), "it is no key"},
		{"a kubeconfig with a program", register, kubeconfig("{exec: {apiVersion: client.authentication.k8s.io/v1, command: " + canary + ", args: [" + canary + "]}}"), "no program is run"},
	} {
		for _, person := range []string{"admin", "mallory"} {
			result, err := gql.New(on.KairshipURL, on.Token(t, person)).Do(t.Context(), gql.Request{
				Query: tt.query, Variables: map[string]any{"m": tt.text, "k": tt.text},
			})
			if err != nil {
				t.Errorf("%s as %s: %v", tt.name, person, err)
				continue
			}
			for _, leaked := range []string{canary, encoded} {
				if bytes.Contains(result.Body, []byte(leaked)) {
					t.Errorf("%s as %s: the answer has the secret: %s: %s", tt.name, person, tt.why, result.Body)
				}
			}
		}
	}
	logs, err := filepath.Glob(on.Logs + "/kairship-*.log")
	if err != nil || len(logs) == 0 {
		t.Fatalf("no logs: %v", err)
	}
	for _, name := range logs {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, leaked := range []string{canary, encoded} {
			if at := bytes.Index(raw, []byte(leaked)); at >= 0 {
				t.Errorf("%s has the secret: %s", filepath.Base(name), around(raw, at))
			}
		}
	}
}

// around is the line of a place in a text.
func around(raw []byte, at int) string {
	line := raw[bytes.LastIndexByte(raw[:at], '\n')+1:]
	if end := bytes.IndexByte(line, '\n'); end >= 0 {
		line = line[:end]
	}
	return fmt.Sprintf("%.500s", strings.TrimSpace(string(line)))
}
