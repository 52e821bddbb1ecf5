package observe

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/kairship-io/kairship/test/internal/fleet"
)

var update = flag.Bool("update", false, "write the tables of metrics into docs/observability.md")

const (
	guide = "../../docs/observability.md"
	// begin and end mark a table that TestMetricsAreDocumented writes.
	begin, end = "<!-- metrics of %s -->", "<!-- end of metrics -->"
)

// used is what the metrics of a Kairship say that has done everything once.
func used(t *testing.T) map[string]*dto.MetricFamily {
	t.Helper()
	w, address := measured(t, "--slow-operation-threshold=1ns")
	w.operation(t, "admin", readme(t), nil, nil)
	w.operation(t, "admin", "{ nope }", nil, nil)
	w.send(t, http.MethodGet, "/instances/alpha/proxy/api/v1/namespaces/shop/configmaps", w.Token(t, "alice"), "", nil)
	w.operation(t, "alice", `mutation { restartWorkload(input: {instance: "alpha", kind: DEPLOYMENT, namespace: "shop", name: "frontend", dryRun: true}) { consistencyToken } }`, nil, nil)
	w.written(t)
	w.follow(t)
	return scrape(t, address)
}

// written makes a namespace, reads it with its consistency token, and removes it.
func (w *world) written(t *testing.T) {
	t.Helper()
	// One of the same name may still be on its way out.
	name := fmt.Sprintf("observed-%d", time.Now().UnixNano())
	got := w.operation(t, "alice", `mutation { createNamespace(input: {instance: "alpha", name: "`+name+`"}) { consistencyToken } }`, nil, nil)
	_, token, ok := strings.Cut(got.body, `"consistencyToken":"`)
	if !ok {
		t.Fatalf("no consistency token: %s", got.body)
	}
	token, _, _ = strings.Cut(token, `"`)
	w.operation(t, "alice", `{ instance(name: "alpha") { namespaces { totalCount } } }`, nil, map[string]string{"Kairship-Consistency-Token": token})
	w.operation(t, "alice", `mutation { deleteNamespace(input: {instance: "alpha", name: "`+name+`"}) { consistencyToken } }`, nil, nil)
}

// follow has a subscription that goes on for as long as the test.
func (w *world) follow(t *testing.T) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+w.Address+"/graphql", strings.NewReader(`{"query":"subscription { memberClusterChanged { type } }"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Authorization", "Bearer "+w.Token(t, "admin"))
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	for lines := bufio.NewScanner(response.Body); ; {
		if !lines.Scan() || strings.Contains(lines.Text(), `"errors"`) {
			t.Fatalf("nothing is followed: %v, %s", lines.Err(), lines.Text())
		}
		if strings.Contains(lines.Text(), "SYNCED") {
			return
		}
	}
}

// rare are metrics that are not there until something happened that this test does
// not bring about.
var rare = map[string]string{
	"kairship_managed_instances":                             "there are none in this fleet",
	"kairship_instance_credentials_expire_timestamp_seconds": "the fleet's credentials do not end",
	"kairship_global_management_requests_total":              "the platform has not called this replica",
	"kairship_cluster_import_duration_seconds":               "the leader has imported nothing since it began",
	"kairship_cluster_join_transitions_total":                "nor joined anything",
	"kairship_persisted_documents_lookups_total":             "no client has sent a hash",
	"kairship_file_reload_failing":                           "no setting of this fleet names a file that is read again",
	"kairship_file_reloads_total":                            "no file has changed",
	"kairship_orphaned_works_finished_total":                 "Karmada has left none",
}

// TestMetricsAreDocumented compares the tables with what the programs serve.
func TestMetricsAreDocumented(t *testing.T) {
	_, text := fleet.Open(t).Leader(t)
	leading := parse(t, []byte(text))
	for program, served := range map[string]map[string]*dto.MetricFamily{"kairship-apiserver": used(t), "kairship-controller-manager": leading} {
		want := tableOf(served)
		raw, err := os.ReadFile(guide)
		if err != nil {
			t.Fatal(err)
		}
		mark := fmt.Appendf(nil, begin, program)
		before, rest, found := bytes.Cut(raw, mark)
		got, after, closed := bytes.Cut(rest, []byte(end))
		if !found || !closed {
			t.Fatalf("%s has no table of the metrics of %s", guide, program)
		}
		for row := range strings.SplitSeq(string(got), "\n") {
			// It is not there now, and its row is kept as it was written.
			if name := nameIn(row); rare[name] != "" && served[name] == nil {
				want = withRow(want, row)
			}
		}
		if *update {
			content := slices.Concat(before, mark, []byte("\n"+want), []byte(end), after)
			if err := os.WriteFile(guide, content, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		compare(t, program, strings.TrimSpace(string(got)), strings.TrimSpace(want))
	}
}

// compare reports which rows differ.
func compare(t *testing.T, program, got, want string) {
	t.Helper()
	documented, served := strings.Split(got, "\n"), strings.Split(want, "\n")
	for _, row := range served {
		if !slices.Contains(documented, row) {
			t.Errorf("%s serves what its table does not have (run with -update): %s", program, row)
		}
	}
	for _, row := range documented {
		if !slices.Contains(served, row) {
			t.Errorf("the table of %s has what it does not serve: %s", program, row)
		}
	}
}

// nameIn is the metric that a row is about.
func nameIn(row string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(row, "| `"), "`")
	return name
}

// withRow adds a row to a table in its place.
func withRow(table, row string) string {
	rows := strings.Split(strings.TrimSpace(table), "\n")
	const head = 2
	body := slices.Concat(rows[head:], []string{row})
	slices.Sort(body)
	return strings.Join(slices.Concat(rows[:head:head], body), "\n") + "\n"
}

// tableOf is the table of Kairship's own metrics.
func tableOf(served map[string]*dto.MetricFamily) string {
	var rows []string
	for name, m := range served {
		if !strings.HasPrefix(name, "kairship_") {
			continue
		}
		labels := "–"
		if names := labelsOf(m); len(names) > 0 {
			labels = "`" + strings.Join(names, "`, `") + "`"
		}
		rows = append(rows, fmt.Sprintf("| %#q | %s | %s | %s |", name, strings.ToLower(m.GetType().String()), labels, m.GetHelp()))
	}
	slices.Sort(rows)
	return "| metric | kind | labels | |\n| --- | --- | --- | --- |\n" + strings.Join(rows, "\n") + "\n"
}
