package signin_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	clientauthv1 "k8s.io/client-go/pkg/apis/clientauthentication/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kairship-io/kairship/test/internal/fleet"
)

var link = regexp.MustCompile(`https://\S+`)

// plugin is kubectl's plugin with a kubeconfig and a cache of its own.
type plugin struct {
	t          *testing.T
	on         *fleet.Fleet
	program    string
	kubeconfig string
	cache      string
}

func newPlugin(t *testing.T, on *fleet.Fleet) *plugin {
	t.Helper()
	root, err := fleet.Root()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	p := &plugin{t: t, on: on, program: filepath.Join(folder, "kubectl-kairship"), kubeconfig: filepath.Join(folder, "config"), cache: filepath.Join(folder, "cache")}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", p.program, "./cmd/kubectl-kairship")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return p
}

// login runs the login, with a browser for the address that it writes; nil where none may be needed.
func (p *plugin) login(visit func(address string), args ...string) (string, error) {
	p.t.Helper()
	cmd := exec.CommandContext(p.t.Context(), p.program, append([]string{
		"login", "--issuer", p.on.IdentityURL, "--client-id", "kairship", "--issuer-ca-file", p.on.KairshipCAFile, "--listen-port", strconv.Itoa(p.on.PluginPort),
	}, args...)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+p.kubeconfig, "XDG_CACHE_HOME="+p.cache)
	var out bytes.Buffer
	cmd.Stdout = &out
	said, err := cmd.StderrPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	var all strings.Builder
	for lines := bufio.NewScanner(io.TeeReader(said, &all)); lines.Scan(); {
		if address := link.FindString(lines.Text()); address != "" && visit != nil {
			visit(address)
		}
	}
	if err := cmd.Wait(); err != nil {
		return all.String(), err
	}
	if visit == nil && all.Len() > 0 {
		p.t.Errorf("a person is asked again: %s", all.String())
	}
	return out.String(), nil
}

// TestPluginSignsIn signs alice in by kubectl's plugin at the fleet's provider: the token that kubectl then gets is hers,
// and is hers at Kairship.
func TestPluginSignsIn(t *testing.T) {
	on := fleet.Open(t)
	p, b := newPlugin(t, on), newBrowser(t, on, on.KairshipURL)
	out, err := p.login(func(address string) {
		form := b.open(address)
		if !action.MatchString(form.body) {
			t.Errorf("the provider has no form: HTTP %d at %s: %s", form.status, form.at, form.body)
			return
		}
		if got := b.submit(form, url.Values{"person": {"alice"}, "password": {"wrong"}}); got.status != http.StatusUnauthorized {
			t.Errorf("a wrong password is answered with HTTP %d", got.status)
		}
		if back := b.submit(form, url.Values{"person": {"alice"}, "password": {b.password("alice")}}); !strings.Contains(back.body, "go on in the terminal") {
			t.Errorf("the sign-in leads to %s: %s", back.at, back.body)
		}
	})
	if err != nil || out != "user kairship\n" {
		t.Fatalf("%v: %s", err, out)
	}
	config, err := clientcmd.LoadFromFile(p.kubeconfig)
	if err != nil || config.AuthInfos["kairship"] == nil {
		t.Fatalf("the kubeconfig has no such user: %v", err)
	}
	out, err = p.login(nil, "--exec-credential")
	var credential clientauthv1.ExecCredential
	if err != nil || json.Unmarshal([]byte(out), &credential) != nil || credential.Status == nil {
		t.Fatalf("%v: %s", err, out)
	}
	list := exec.CommandContext(t.Context(), p.program, "get", "instances", "-o", "name", "--server", on.KairshipURL, "--token", credential.Status.Token)
	list.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(p.cache, "none"))
	if got, err := list.CombinedOutput(); err != nil || string(got) != "instances/alpha\n" {
		t.Errorf("alice sees %s, %v", got, err)
	}
}
