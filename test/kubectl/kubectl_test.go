// Package kubectl tests the plugin of kubectl against a running fleet: it runs what the guide shows, and asks as each person.
package kubectl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

func TestMain(m *testing.M) { os.Exit(fleet.Main(m)) }

// build builds the plugin once.
var build = sync.OnceValues(func() (string, error) {
	root, err := fleet.Root()
	if err != nil {
		return "", err
	}
	folder, err := os.MkdirTemp("", "kubectl-kairship")
	if err != nil {
		return "", err
	}
	fleet.AtEnd(func() { _ = os.RemoveAll(folder) })
	program := filepath.Join(folder, "kubectl-kairship")
	cmd := exec.Command("go", "build", "-o", program, "./cmd/kubectl-kairship")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the plugin: %w: %s", err, out)
	}
	return program, nil
})

// manifests add a label to a workload.
const manifests = `apiVersion: apps/v1
kind: Deployment
metadata: {name: frontend, namespace: shop, labels: {from: the-guide}}
`

// result is what the plugin wrote.
type result struct {
	out, failed string
	code        int
}

// run runs the plugin as a person.
func run(t *testing.T, f *fleet.Fleet, person string, args ...string) result {
	t.Helper()
	program, err := build()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "manifests.yaml"), []byte(manifests), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if !slices.Contains(args, "--token") {
		args = append(args, "--token", f.Token(t, person))
	}
	cmd := exec.CommandContext(ctx, program, append(args, "--server", f.KairshipURL)...)
	cmd.Dir, cmd.Env = folder, []string{"HOME=" + folder, "PATH=" + os.Getenv("PATH")}
	var out, failed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &failed
	err = cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return result{out.String(), failed.String(), exit.ExitCode()}
	}
	if err != nil {
		t.Fatal(err)
	}
	return result{out: out.String(), failed: failed.String()}
}

// TestGuide runs the examples of the guide.
func TestGuide(t *testing.T) {
	f := fleet.Open(t)
	root, err := fleet.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "docs", "kubectl.md"))
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		for line := range strings.Lines(block[1]) {
			example, ok := strings.CutPrefix(strings.TrimSpace(line), "kubectl kairship ")
			if !ok {
				continue
			}
			ran++
			got := run(t, f, "alice", strings.Fields(example)...)
			differs := strings.HasPrefix(example, "diff") || strings.HasPrefix(example, "preview")
			if got.code != 0 && (!differs || got.code != 1) || got.out == "" {
				t.Errorf("%s: %d: %s%s", example, got.code, got.out, got.failed)
			}
		}
	}
	if got := run(t, f, "alice", "diff", "-i", "alpha", "-f", "manifests.yaml"); got.code != 1 || !strings.Contains(got.out, "+ \"the-guide\"") {
		t.Errorf("the diff: %d: %s%s", got.code, got.out, got.failed)
	}
	if ran < 15 {
		t.Errorf("the guide has %d examples", ran)
	}
}

// TestGetAnswersAsGraphQL lists workloads as each person, by the plugin and by GraphQL.
func TestGetAnswersAsGraphQL(t *testing.T) {
	f := fleet.Open(t)
	for _, person := range []string{"admin", "alice", "bob", "mallory"} {
		type list struct {
			Workloads struct {
				Nodes []struct {
					Instance        struct{ Name string }
					Namespace, Name string
				}
			}
		}
		want, _ := gql.MustQuery[list](t, gql.New(f.KairshipURL, f.Token(t, person)), `{ workloads(first: 500) { nodes { instance { name } namespace name } } }`, nil)
		var wanted []string
		for _, w := range want.Workloads.Nodes {
			wanted = append(wanted, w.Instance.Name+" "+w.Namespace+" "+w.Name)
		}
		var found []string
		if got := run(t, f, person, "get", "workloads", "-o", "json"); got.out != "" {
			var answer struct {
				Items []struct {
					Instance struct {
						Name string `json:"name"`
					} `json:"instance"`
					Namespace string `json:"namespace"`
					Name      string `json:"name"`
				} `json:"items"`
			}
			if err := json.Unmarshal([]byte(got.out), &answer); err != nil {
				t.Fatalf("%s: %v: %s", person, err, got.out)
			}
			for _, w := range answer.Items {
				found = append(found, w.Instance.Name+" "+w.Namespace+" "+w.Name)
			}
		}
		slices.Sort(wanted)
		slices.Sort(found)
		if !slices.Equal(wanted, found) {
			t.Errorf("%s gets %v, and by GraphQL %v", person, found, wanted)
		}
	}
}

// TestRefusals asks and changes as who may not.
func TestRefusals(t *testing.T) {
	f := fleet.Open(t)
	for _, person := range []string{"bob", "mallory"} {
		for _, args := range [][]string{
			{"why", "deployment/stuck", "-i", "alpha", "-n", "shop"},
			{"why", "deployment/stuck"},
			{"tree", "deployment/frontend", "-i", "alpha", "-n", "shop"},
			{"diff", "-i", "alpha", "-f", "manifests.yaml"},
			{"apply", "-i", "alpha", "-f", "manifests.yaml"},
			{"rollout", "restart", "deployment/frontend", "-i", "alpha", "-n", "shop"},
			{"move", "deployment/frontend", "-i", "alpha", "-n", "shop", "--from", "m1", "--to", "m2"},
			{"wait", "deployment/frontend", "-i", "alpha", "-n", "shop"},
			{"logs", "deployment/frontend", "-i", "alpha", "-n", "shop"},
			{"get", "propagationpolicies", "-i", "alpha"},
		} {
			got := run(t, f, person, args...)
			empty := got.code == 0 && got.out == ""
			if got.code != 2 && !empty {
				t.Errorf("%s: %v: %d: %s%s", person, args, got.code, got.out, got.failed)
			}
		}
	}
	if got := run(t, f, "alice", "get", "workloads", "--token", "wrong"); got.code != 2 || !strings.Contains(got.failed, "UNAUTHENTICATED") {
		t.Errorf("a wrong token: %d: %s", got.code, got.failed)
	}
}

// TestExitCodes asks for what is not well, and waits for what does not come.
func TestExitCodes(t *testing.T) {
	f := fleet.Open(t)
	for code, args := range map[int][]string{
		0: {"wait", "deployment/frontend", "-n", "shop"},
		1: {"wait", "deployment/stuck", "-n", "shop", "--timeout", "1s"},
		2: {"wait", "deployment/nothing", "-n", "shop", "--timeout", "1s"},
	} {
		if got := run(t, f, "alice", args...); got.code != code {
			t.Errorf("%v: %d: %s%s", args, got.code, got.out, got.failed)
		}
	}
	if got := run(t, f, "alice", "problems", "--exit-code"); got.code != 1 {
		t.Errorf("problems: %d: %s", got.code, got.failed)
	}
	if got := run(t, f, "alice", "rollout", "status", "deployment/stuck"); got.code != 1 {
		t.Errorf("rollout status: %d: %s", got.code, got.failed)
	}
}

// TestWatch goes on after the first table, until it is ended.
func TestWatch(t *testing.T) {
	f := fleet.Open(t)
	program, err := build()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, program, "get", "workloads", "-n", "shop", "-w", "--server", f.KairshipURL, "--token", f.Token(t, "alice"))
	cmd.Env = []string{"HOME=" + t.TempDir()}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	var out syncBuffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	poll.True(t, 20*time.Second, "the first table", func() bool { return strings.Contains(out.String(), "frontend") })
	time.Sleep(time.Second) // It follows now.
	cancel()
	if err := cmd.Wait(); err != nil && cmd.ProcessState.ExitCode() != 0 {
		t.Errorf("%v: %s", err, out.String())
	}
}

// syncBuffer is written by a process while a test reads it.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// TestKubeconfigMerge adds contexts for the instances that a person sees, and only those.
func TestKubeconfigMerge(t *testing.T) {
	f := fleet.Open(t)
	source := filepath.Join(f.Dir, "kubeconfig", "people", "alice-alpha.yaml")
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	program, err := build()
	if err != nil {
		t.Fatal(err)
	}
	// Its address is that of the passthrough, over TLS.
	if out, err := exec.CommandContext(t.Context(), program, "kubeconfig", "merge", "--kubeconfig", path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	config, err := clientcmd.LoadFromFile(path)
	if err != nil {
		t.Fatal(err)
	}
	added := config.Contexts["kairship-alpha"]
	if added == nil || added.AuthInfo != "alice" || config.Clusters["kairship-alpha"] == nil || !strings.Contains(config.Clusters["kairship-alpha"].Server, "/instances/alpha/") {
		t.Errorf("got %v", config.Contexts)
	}
	if config.Contexts["kairship-beta"] != nil || config.CurrentContext != "alpha" {
		t.Errorf("got %v, current %s", config.Contexts, config.CurrentContext)
	}
}
