package observe

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/test/internal/fleet"
)

// measured starts a Kairship whose metrics a test reads.
func measured(t *testing.T, flags ...string) (w *world, metrics string) {
	t.Helper()
	w = &world{Fleet: fleet.Open(t)}
	w.Process = w.Kairship(t, w.NewGateway(t), append([]string{"--metrics-bind-address=127.0.0.1:0", "--metrics-operation-names=Known"}, flags...)...)
	t.Cleanup(w.Stop)
	return w, metricsOf(t, w.Process)
}

// TestLabelsStayBounded: whatever a client makes up, it makes no series of it.
func TestLabelsStayBounded(t *testing.T) {
	w, address := measured(t)
	admin, alice := w.Token(t, "admin"), w.Token(t, "alice")
	post := func(token, document string) {
		body, err := json.Marshal(map[string]any{"query": document})
		if err != nil {
			t.Fatal(err)
		}
		w.send(t, http.MethodPost, "/graphql", token, string(body), nil)
	}
	// made is everything that a client makes up, once.
	made := func(i int) {
		post(admin, fmt.Sprintf(`query Name%d { instance(name: "no-such-%d") { name } }`, i, i))
		post(admin, fmt.Sprintf(`mutation Name%d { deleteNamespace(input: {instance: "no-such-%d", name: "n%d", dryRun: true}) { consistencyToken } }`, i, i, i))
		post(admin, fmt.Sprintf(`{ field%d }`, i))
		post(fmt.Sprint("token", i), `{ viewer { username } }`)
		w.send(t, http.MethodGet, fmt.Sprintf("/instances/no-such-%d/proxy/api/v1/pods", i), alice, "", nil)
		w.send(t, http.MethodGet, fmt.Sprintf("/instances/alpha/proxy/apis/group%d/v1/kinds%d", i, i), alice, "", nil)
		w.send(t, fmt.Sprintf("METHOD%d", i), "/graphql", admin, "", nil)
		w.send(t, fmt.Sprintf("METHOD%d", i), "/instances/alpha/proxy/", alice, "", nil)
		w.send(t, http.MethodGet, fmt.Sprintf("/nothing/%d", i), admin, "", nil)
	}
	made(0)
	before := series(scrape(t, address))
	const times = 1000
	for i := 1; i <= times; i++ {
		made(i)
	}
	after := scrape(t, address)
	if d := cmp.Diff(before, series(after)); d != "" {
		t.Errorf("%d times made up, series are others (-before +after):\n%s", times, d)
	}
	sum := 0
	for _, n := range before {
		sum += n
	}
	t.Logf("%d series of Kairship's own", sum)
	if labels := labelsOf(after["kairship_graphql_operations_total"]); !slices.Contains(labels, "operation") {
		t.Errorf("labels %v: this test proves less than it says", labels)
	}
}

// TestListedNamesAreCounted: what an administrator lists is told apart.
func TestListedNamesAreCounted(t *testing.T) {
	w, address := measured(t)
	for _, name := range []string{"Known", "Unknown"} {
		w.operation(t, "admin", `query `+name+` { viewer { username } }`, nil, nil)
	}
	response, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	raw := new(strings.Builder)
	if err := response.Write(raw); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{`operation="Known"`: true, `operation="other"`: true, "Unknown": false} {
		if strings.Contains(raw.String(), text) != want {
			t.Errorf("metrics say %s: %t", text, !want)
		}
	}
}
