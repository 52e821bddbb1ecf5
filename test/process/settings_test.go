package process

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/test/internal/fleet"
)

// TestSettings gives a process settings in every way, and reads in its log which are in
// effect.
func TestSettings(t *testing.T) {
	f := fleet.Open(t)
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte("# of the test\nlog-level: warn\nindex-timeout: 7s\nmax-subscriptions: 123\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KAIRSHIP_CONFIG", file)
	t.Setenv("KAIRSHIP_LOG_LEVEL", "debug")
	t.Setenv("KAIRSHIP_INDEX_TIMEOUT", "8s")
	t.Setenv("KAIRSHIP_INDEX_TIMEOUTS", "9s")
	p := f.Kairship(t, f.NewGateway(t), "--index-timeout=6s", "--metrics-bind-address=127.0.0.1:0")
	raw, err := os.ReadFile(p.Log)
	if err != nil {
		t.Fatal(err)
	}
	var start struct {
		Msg      string            `json:"msg"`
		Settings map[string]string `json:"settings"`
		Given    map[string]string `json:"given"`
	}
	first, rest, _ := strings.Cut(string(raw), "\n")
	if err := json.Unmarshal([]byte(first), &start); err != nil || start.Msg != "starting" {
		t.Fatalf("the log begins with %q, %v", first, err)
	}
	for name, want := range map[string][2]string{
		"index-timeout":     {"6s", "the command line"},
		"log-level":         {"debug", "KAIRSHIP_LOG_LEVEL"},
		"max-subscriptions": {"123", file + ":4"},
		"request-timeout":   {"10s", ""},
	} {
		if got := [2]string{start.Settings[name], start.Given[name]}; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if !strings.Contains(rest, "KAIRSHIP_INDEX_TIMEOUTS") {
		t.Error("a variable that is misspelt is not named")
	}
	serving := regexp.MustCompile(`"serving metrics","address":"([^"]+)"`).FindStringSubmatch(rest)
	if serving == nil {
		t.Fatalf("metrics are not served:\n%s", p.Tail(20))
	}
	response, err := http.Get("http://" + serving[1] + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	metrics, err := io.ReadAll(response.Body)
	if err != nil || !strings.Contains(string(metrics), `kairship_build_info{goversion="`+runtime.Version()+`"`) {
		t.Errorf("the metrics do not say which build it is: %v", err)
	}
}

// TestWrongSettings has both programs refuse to start, and say everything that is wrong.
func TestWrongSettings(t *testing.T) {
	f := fleet.Open(t)
	for program, c := range map[string]struct{ file, want string }{
		"kairship-apiserver": {
			"log-format: xml\nindex-qsp: 1\n",
			`5 settings are wrong:
  --client-ca-file: client certificates need TLS; give --tls-cert-file too (set by KAIRSHIP_CLIENT_CA_FILE)
  --kube-api-burst: must be at least 1, not 0 (set by the command line)
  --log-format: "xml" is neither json nor text (set by PATH:1)
  --probe-timeouts: there is no such flag
  PATH:2: there is no setting "index-qsp"; did you mean index-qps?
`,
		},
		"kairship-controller-manager": {
			"log-format: xml\nprobe-intervall: 1s\n",
			`5 settings are wrong:
  --kube-api-burst: must be at least 1, not 0 (set by the command line)
  --kube-api-burst: must not be less than --kube-api-qps (200) (set by the command line)
  --log-format: must be json or text, not "xml" (set by PATH:1)
  --probe-timeouts: there is no such flag; did you mean --probe-timeout?
  PATH:2: there is no setting "probe-intervall"; did you mean probe-interval?
`,
		},
	} {
		t.Run(program, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "config.yaml")
			if err := os.WriteFile(file, []byte(c.file), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), filepath.Join(f.Bin, program), "--config", file, "--kube-api-burst=0", "--probe-timeouts=1s")
			cmd.Env = append(os.Environ(), "KAIRSHIP_CLIENT_CA_FILE="+file)
			out, err := cmd.CombinedOutput()
			if err == nil {
				t.Fatal("it started")
			}
			want := fmt.Sprintf("%s: %ssee %s --help\n", program, strings.ReplaceAll(c.want, "PATH", file), program)
			if diff := cmp.Diff(want, string(out)); diff != "" {
				t.Errorf("what it says (-want +got):\n%s", diff)
			}
		})
	}
}
