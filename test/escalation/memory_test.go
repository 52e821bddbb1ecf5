package escalation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

const (
	// atOnce is how many operations one user has under way, and rounds how often.
	atOnce, rounds = 64, 3
	// bigObjects of bigText bytes are what can be read in each instance.
	bigObjects, bigText = 64, 20 << 10
	// toSpare is how much of the memory limit must be left, in percent.
	toSpare = 30
)

// bigNamespace makes objects in an instance that are worth attacking, and waits until
// the index has them.
func bigNamespace(t *testing.T, on *fleet.Fleet, instance string) string {
	t.Helper()
	c, name := on.Client(t, instance), fmt.Sprintf("escalation-%d", os.Getpid())
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := c.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.IgnoreNotFound(c.Delete(context.Background(), namespace)); err != nil {
			t.Error(err)
		}
	})
	for i := range bigObjects {
		// Lines, as of a configuration: text of one letter would be compressed away.
		text := strings.Repeat(fmt.Sprintf("setting-%d: \"value\"\n", i), bigText/20)
		o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: fmt.Sprint("big-", i)}, Data: map[string]string{"text": text}}
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	admin := gql.New(on.KairshipURL, on.Token(t, "admin"))
	poll.Until(t, time.Minute, "the index has the objects", func(ctx context.Context) error {
		answer, _, err := gql.Query[struct {
			Instance struct{ Resources struct{ TotalCount int } }
		}](ctx, admin, `query($i: String!, $n: String!) { instance(name: $i) { resources(version: "v1", resource: "configmaps", namespace: $n, filter: {nameContains: "big-"}) { totalCount } } }`,
			map[string]any{"i": instance, "n": name})
		if err == nil && answer.Instance.Resources.TotalCount != bigObjects {
			err = fmt.Errorf("%d of %d", answer.Instance.Resources.TotalCount, bigObjects)
		}
		return err
	})
	return name
}

// manifests is an operation that reads whole objects under many names: each list is
// another one to the caches of the operation, and each object is in it several times.
func manifests(instance, namespace string, aliases, copies int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "query Attack { instance(name: %q) {", instance)
	for i := range aliases {
		fmt.Fprintf(&b, ` a%d: resources(version: "v1", resource: "configmaps", namespace: %q, first: %d) { nodes {`, i, namespace, bigObjects+i)
		for j := range copies {
			fmt.Fprintf(&b, " m%d: manifest", j)
		}
		b.WriteString("} }")
	}
	b.WriteString("}}")
	return b.String()
}

// memoryLimit is that of the apiserver's container in the chart.
func memoryLimit(t *testing.T) int64 {
	t.Helper()
	root, err := fleet.Root()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(root, "deploy", "helm", "kairship", "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var values struct {
		APIServer struct {
			Resources struct {
				Limits struct{ Memory resource.Quantity }
			}
		} `json:"apiserver"`
	}
	if err := yaml.Unmarshal(raw, &values); err != nil || values.APIServer.Resources.Limits.Memory.IsZero() {
		t.Fatalf("the chart has no memory limit: %v", err)
	}
	return values.APIServer.Resources.Limits.Memory.Value()
}

// peak begins to measure the memory of the apiserver. The result is the most that it
// occupied since.
func peak(t *testing.T, on *fleet.Fleet) func() int64 {
	t.Helper()
	pid := on.PID(t, "kairship-apiserver")
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0); err != nil {
		t.Fatal(err)
	}
	p, err := procfs.NewProc(pid)
	if err != nil {
		t.Fatal(err)
	}
	return func() int64 {
		status, err := p.NewStatus()
		if err != nil || status.VmHWM == 0 {
			t.Fatalf("the apiserver does not run: %v", err)
		}
		return int64(status.VmHWM)
	}
}

// attacker is the client of a user who sends much. It opens a connection for each request: among many, some are opened
// and used only later, when a request may meet their end (ReadHeaderTimeout); a client does not send a POST again then,
// because it may have been executed.
func attacker() *http.Client {
	return &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
}

// attack has one user send as much as possible at once, while another one asks for
// little. It returns how often each code was the answer; "" is an answer with data.
func attack(t *testing.T, on *fleet.Fleet, send func(context.Context) string, other *gql.Client) map[string]int {
	t.Helper()
	limit, mostOf := memoryLimit(t), peak(t, on)
	var (
		mu    sync.Mutex
		codes = map[string]int{}
		all   sync.WaitGroup
	)
	for range atOnce {
		all.Go(func() {
			for range rounds {
				code := send(t.Context())
				mu.Lock()
				codes[code]++
				mu.Unlock()
			}
		})
	}
	over := make(chan struct{})
	go func() { all.Wait(); close(over) }()
	served := 0
	for going := true; going; {
		result, err := other.Do(t.Context(), gql.Request{Query: `{ viewer { username } instances { nodes { name state } } workloads(first: 5) { nodes { name health } } }`})
		if err != nil || result.Status != http.StatusOK || len(result.Errors) > 0 {
			t.Errorf("another user is not served: %+v, %v", result, err)
		} else {
			served++
		}
		select {
		case <-over:
			going = false
		default:
		}
	}
	most := mostOf()
	t.Logf("%d operations: %v; another user was served %d times; the process had %d MiB at most, the limit is %d MiB", atOnce*rounds, codes, served, most>>20, limit>>20)
	if most > limit*(100-toSpare)/100 {
		t.Errorf("the process had %d MiB: less than %d %% of the limit of %d MiB were left", most>>20, toSpare, limit>>20)
	}
	if served == 0 {
		t.Error("another user was never served")
	}
	return codes
}

func sum(codes map[string]int, of ...string) int {
	n := 0
	for _, code := range of {
		n += codes[code]
	}
	return n
}

// TestManifestsOfOneViewer has a viewer ask for whole objects again and again.
func TestManifestsOfOneViewer(t *testing.T) {
	on := fleet.Open(t)
	namespace := bigNamespace(t, on, "beta")
	bob, admin := gql.New(on.KairshipURL, on.Token(t, "bob")), gql.New(on.KairshipURL, on.Token(t, "admin"))
	bob.HTTP = attacker()
	send := func(query string) func(context.Context) string {
		return func(ctx context.Context) string {
			result, err := bob.Do(ctx, gql.Request{Query: query})
			switch {
			case err != nil:
				return err.Error()
			case len(result.Errors) == 0:
				return ""
			case result.Errors[0].Extensions.Code == "RATE_LIMITED" && (result.Status != http.StatusTooManyRequests || result.Header.Get("Retry-After") == ""):
				return fmt.Sprintf("RATE_LIMITED with HTTP %d, Retry-After %q", result.Status, result.Header.Get("Retry-After"))
			}
			return result.Errors[0].Extensions.Code
		}
	}
	for _, tt := range []struct {
		name            string
		aliases, copies int
		// some are served, if not all.
		served bool
	}{
		{"one list", 1, 1, true},
		{"one list, each object many times", 1, 20, true},
		{"one list, each object too many times", 1, 200, false},
		{"many lists", 240, 1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			query := manifests("beta", namespace, tt.aliases, tt.copies)
			if code := send(query)(t.Context()); (code == "") != tt.served || !tt.served && code != "QUERY_TOO_COMPLEX" {
				t.Fatalf("one operation alone: %q", code)
			}
			codes := attack(t, on, send(query), admin)
			// INDEX_UNAVAILABLE is for what waited in vain for its turn at the index, TIMEOUT for what came to the end of
			// its time on a busy machine.
			refused := sum(codes, "QUERY_TOO_COMPLEX", "RATE_LIMITED", "INDEX_UNAVAILABLE", "TIMEOUT")
			if refused+codes[""] != atOnce*rounds {
				t.Errorf("refused otherwise than with a code of a limit: %v", codes)
			}
			if tt.copies > 1 && refused == 0 || !tt.served && refused != atOnce*rounds {
				t.Errorf("%d of %d were refused", refused, atOnce*rounds)
			}
			if code := send(`{ viewer { username } }`)(t.Context()); code != "" {
				t.Errorf("the user is not served afterwards: %s", code)
			}
		})
	}
}

// TestListsOfTheIndex has an editor read lists of whole objects from the index through
// the native API.
func TestListsOfTheIndex(t *testing.T) {
	on := fleet.Open(t)
	namespace := bigNamespace(t, on, "alpha")
	token := on.Token(t, "alice")
	c := attacker()
	send := func(ctx context.Context) string {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, on.KairshipURL+"/instances/alpha/proxy/api/v1/namespaces/"+namespace+"/configmaps?source=index", http.NoBody)
		if err != nil {
			return err.Error()
		}
		r.Header.Set("Authorization", "Bearer "+token)
		resp, err := c.Do(r)
		if err != nil {
			return err.Error()
		}
		defer func() { _ = resp.Body.Close() }()
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			return err.Error()
		}
		code := resp.Header.Get("Kairship-Error-Code")
		if code == "" && resp.StatusCode != http.StatusOK || code == "RATE_LIMITED" && resp.Header.Get("Retry-After") == "" {
			return fmt.Sprintf("HTTP %d %s", resp.StatusCode, code)
		}
		return code
	}
	poll.Until(t, time.Minute, "one request alone is served", func(ctx context.Context) error {
		if code := send(ctx); code != "" {
			return errors.New(code)
		}
		return nil
	})
	codes := attack(t, on, send, gql.New(on.KairshipURL, on.Token(t, "bob")))
	if codes[""] == 0 || sum(codes, "", "RATE_LIMITED", "INDEX_UNAVAILABLE") != atOnce*rounds {
		t.Errorf("want some served and the others refused with the code of a limit: %v", codes)
	}
}
