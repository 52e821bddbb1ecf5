package globalmanagement

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// guide returns the page for programmers who implement the protocol without Go.
func guide(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/global-management.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// block is the first block of code of a language that contains a text.
func block(t *testing.T, page, language, containing string) string {
	t.Helper()
	for _, found := range regexp.MustCompile("(?s)```(\\w+)\n(.*?)```").FindAllStringSubmatch(page, -1) {
		if found[1] == language && strings.Contains(found[2], containing) {
			return found[2]
		}
	}
	t.Fatalf("the guide has no %s with %q", language, containing)
	return ""
}

// TestGuidesSignature verifies the request that the guide shows, with the secret
// that it names, and computes it in the way that it says.
func TestGuidesSignature(t *testing.T) {
	page := guide(t)
	text := block(t, page, "http", SignatureHeader)
	head, body, _ := strings.Cut(text, "\n\n")
	body = strings.TrimSuffix(body, "\n")
	request, err := http.ReadRequest(bufio.NewReader(strings.NewReader(strings.ReplaceAll(head, "\n", "\r\n") + fmt.Sprintf("\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body))))
	if err != nil {
		t.Fatal(err)
	}
	sent, err := io.ReadAll(request.Body)
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("With the secret `([^`]+)`").FindStringSubmatch(page)
	if named == nil {
		t.Fatal("the guide does not say what secret its example is signed with")
	}
	timestamp, signature := request.Header.Get(TimestampHeader), request.Header.Get(SignatureHeader)
	v := Verifier{Now: func() time.Time { return time.UnixMilli(1767225600000) }}
	if _, err := v.Verify([][]byte{[]byte(named[1])}, timestamp, signature, sent); err != nil {
		t.Errorf("the guide's signature: %v", err)
	}
	if request.URL.Path != EventsPath {
		t.Errorf("it is sent to %s", request.URL.Path)
	}
	var event Event
	if err := json.Unmarshal(sent, &event); err != nil {
		t.Fatal(err)
	}
	if err := event.Validate(); err != nil {
		t.Errorf("the guide's event: %v", err)
	}

	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("openssl is not installed, so the guide's command cannot be run")
	}
	command := exec.CommandContext(t.Context(), "sh", "-c", block(t, page, "sh", "openssl"))
	command.Env = append(os.Environ(), "timestamp="+timestamp, "body="+body, "secret="+named[1])
	out, err := command.CombinedOutput()
	if got := strings.TrimSpace(string(out)); err != nil || got != signature {
		t.Errorf("the guide's command says %q (%v), want %s", got, err, signature)
	}
}

func TestGuidesResync(t *testing.T) {
	var all Resync
	if err := json.Unmarshal([]byte(block(t, guide(t), "json", "asOf")), &all); err != nil {
		t.Fatal(err)
	}
	if err := all.Validate(); err != nil {
		t.Errorf("the guide's resync: %v", err)
	}
}

// TestGuideIsComplete looks for every name, word and limit of the protocol.
func TestGuideIsComplete(t *testing.T) {
	page := guide(t)
	for _, word := range []string{
		EventsPath, ResyncPath, TimestampHeader, SignatureHeader,
		string(Bound), string(Changed), string(Unbound), string(User), string(Group), string(Viewer), string(Editor), string(Admin),
		string(Stored), string(Duplicate), string(Superseded), string(Unchanged), string(Revoked), string(Kept), string(Refused), string(Failed),
		"eventID", "type", "bindingID", "sequence", "subject", "role", "instance", "namespaces", "asOf", "bindings",
	} {
		if !strings.Contains(page, "`"+word+"`") && !strings.Contains(page, "`POST "+word+"`") {
			t.Errorf("the guide does not explain %s", word)
		}
	}
	for _, limit := range []string{
		fmt.Sprintf("up to %d KiB", MaxEventBytes>>10), fmt.Sprintf("up to %d MiB", MaxResyncBytes>>20), fmt.Sprintf("up to %d characters", MaxIDLength),
		fmt.Sprintf("at least %d bytes", MinSecretBytes), fmt.Sprintf("up to %.0f minutes", DefaultTolerance.Minutes()),
	} {
		if !strings.Contains(page, limit) {
			t.Errorf("the guide does not say %q", limit)
		}
	}
}
