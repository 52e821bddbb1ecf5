package grpc

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/kairship-io/kairship/internal/longtest"
	"github.com/kairship-io/kairship/test/internal/fleet"
)

// example is a call that the guide shows.
type example struct{ program, body, method string }

var (
	inShell = regexp.MustCompile("(?s)```sh\n(.*?)```")
	inGo    = regexp.MustCompile("(?s)```go\n(.*?)```")
	called  = regexp.MustCompile(`^(grpcurl|buf curl|curl) .*-d '(.*)' .*kairship\.v1\.Kairship/(\w+)$`)
)

// examples are those of the guide.
func examples(t *testing.T) (all []example, goCode []string) {
	t.Helper()
	text := string(read(t, "docs/grpc.md"))
	for _, block := range inShell.FindAllStringSubmatch(text, -1) {
		for line := range strings.Lines(strings.ReplaceAll(block[1], "\\\n", "")) {
			of := called.FindStringSubmatch(strings.TrimSpace(line))
			if of == nil {
				t.Fatalf("this is no call of a method: %s", line)
			}
			all = append(all, example{of[1], of[2], of[3]})
		}
	}
	for _, block := range inGo.FindAllStringSubmatch(text, -1) {
		goCode = append(goCode, block[1])
	}
	if len(all) < 4 || len(goCode) == 0 {
		t.Fatalf("the guide has %d examples", len(all))
	}
	return all, goCode
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	root, err := fleet.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestGuide calls what the guide shows, and expects answers that are not empty.
func TestGuide(t *testing.T) {
	f := fleet.Open(t)
	conn := dial(t, f)
	all, _ := examples(t)
	for _, e := range all {
		request, answer := message(t, e.method+"Request"), message(t, e.method+"Response")
		if err := protojson.Unmarshal([]byte(e.body), request); err != nil {
			t.Errorf("%s: %v", e.body, err)
			continue
		}
		if err := conn.Invoke(t.Context(), service+e.method, request, answer, as(t, f, "alice")); err != nil {
			t.Errorf("%s %s: %v", e.method, e.body, err)
			continue
		}
		if proto.Size(answer) < 20 {
			t.Errorf("%s %s finds nothing: %v", e.method, e.body, answer)
		}
	}
}

// TestGuideByConnect sends the same as JSON, by which any HTTP client speaks Connect.
func TestGuideByConnect(t *testing.T) {
	f := fleet.Open(t)
	all, _ := examples(t)
	for _, e := range all {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.KairshipURL+service+e.method, strings.NewReader(e.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+f.Token(t, "alice"))
		r.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		var object struct {
			Result map[string]any `json:"result"`
		}
		err = json.NewDecoder(answer.Body).Decode(&object)
		answer.Body.Close()
		if err != nil || answer.StatusCode != http.StatusOK || len(object.Result) == 0 {
			t.Errorf("%s %s: %d, %v", e.method, e.body, answer.StatusCode, err)
		}
	}
}

// TestGuideByGrpcurl runs grpcurl, which knows the methods by reflection.
func TestGuideByGrpcurl(t *testing.T) {
	longtest.Only(t, "building grpcurl takes half a minute")
	f := fleet.Open(t)
	u, err := url.Parse(f.KairshipURL)
	if err != nil {
		t.Fatal(err)
	}
	root, err := fleet.Root()
	if err != nil {
		t.Fatal(err)
	}
	grpcurl := func(person string, args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "go", append([]string{
			"tool", "-modfile=tools/grpc/go.mod", "grpcurl", "-plaintext", "-H", "Authorization: Bearer " + f.Token(t, person),
		}, args...)...)
		cmd.Dir = root
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := grpcurl("alice", u.Host, "list"); err != nil || !strings.Contains(out, "kairship.v1.Kairship") {
		t.Errorf("list: %v: %s", err, out)
	}
	if out, err := grpcurl("alice", u.Host, "list", "kairship.v1.Kairship"); err != nil || strings.Count(out, "\n") < 100 || !strings.Contains(out, "ExplainWorkload") {
		t.Errorf("list of methods: %v: %s", err, out)
	}
	all, _ := examples(t)
	for _, e := range all {
		if e.program != "grpcurl" {
			continue
		}
		if out, err := grpcurl("alice", "-d", e.body, u.Host, "kairship.v1.Kairship/"+e.method); err != nil || !strings.Contains(out, `"result"`) {
			t.Errorf("%s: %v: %s", e.method, err, out)
		}
	}
	if out, err := grpcurl("mallory", "-d", `{"instance": "alpha"}`, u.Host, "kairship.v1.Kairship/GetInstance"); err == nil || !strings.Contains(out, "NotFound") {
		t.Errorf("mallory: %v: %s", err, out)
	}
}

// TestGuideCompiles compares the guide's Go with the example of the client, which is compiled.
func TestGuideCompiles(t *testing.T) {
	_, code := examples(t)
	flat := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	compiled := flat(string(read(t, "pkg/client/example_test.go")))
	for _, text := range code {
		if !strings.Contains(compiled, flat(text)) {
			t.Errorf("pkg/client/example_test.go has not:\n%s", text)
		}
	}
}

// TestGuideByBuf runs buf curl by each protocol; it knows the methods by reflection.
func TestGuideByBuf(t *testing.T) {
	longtest.Only(t, "building buf takes a minute")
	f := fleet.Open(t)
	root, err := fleet.Root()
	if err != nil {
		t.Fatal(err)
	}
	buf := func(person, protocol, method, body string) (string, error) {
		authorization := "Authorization: Bearer " + f.Token(t, person)
		cmd := exec.CommandContext(t.Context(), "go", "tool", "-modfile=tools/buf/go.mod", "buf", "curl", "--http2-prior-knowledge", "--protocol", protocol,
			"--reflect-header", authorization, "-H", authorization, "-d", body, f.KairshipURL+service+method)
		cmd.Dir = root
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	all, _ := examples(t)
	n := 0
	for _, e := range all {
		if e.program != "buf curl" {
			continue
		}
		for _, protocol := range []string{"connect", "grpc", "grpcweb"} {
			n++
			if out, err := buf("alice", protocol, e.method, e.body); err != nil || !strings.Contains(out, `"result"`) {
				t.Errorf("%s by %s: %v: %s", e.method, protocol, err, out)
			}
			if out, err := buf("mallory", protocol, e.method, e.body); err == nil || !strings.Contains(out, "not_found") {
				t.Errorf("mallory by %s: %v: %s", protocol, err, out)
			}
		}
	}
	if n == 0 {
		t.Error("the guide has no example of buf")
	}
}
