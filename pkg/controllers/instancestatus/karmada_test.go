package instancestatus

import (
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kairship-io/kairship/pkg/connection"
	"github.com/kairship-io/kairship/pkg/controllers/internal/connections"
	"github.com/kairship-io/kairship/pkg/controllers/internal/probe"
)

// TestKarmada asks servers that answer as control planes do in which something is
// missing.
func TestKarmada(t *testing.T) {
	now := time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC)
	lease := func(component string, ago time.Duration) string {
		return fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"leaseDurationSeconds":15,"renewTime":%q}}`, component, now.Add(-ago).Format("2006-01-02T15:04:05.000000Z07:00"))
	}
	leases := func(items ...string) string { return `{"items":[` + strings.Join(items, ",") + `]}` }
	const (
		groups = "/apis/cluster.karmada.io/v1alpha1"
		admits = "POST /apis/policy.karmada.io/v1alpha1/namespaces/default/propagationpolicies"
		kept   = "/apis/coordination.k8s.io/v1/namespaces/karmada-system/leases"
	)
	type answer struct {
		status int
		body   string
	}
	for _, c := range []struct {
		reason  string
		answers map[string]answer
		date    bool
		want    string
		says    []string
	}{
		{
			reason: "everything works, and no Lease shows the rest", want: "True/Serving",
			says: []string{"policies are admitted", "Not visible, because without a Lease that can be read: karmada-controller-manager, karmada-scheduler."},
		},
		{
			reason: "Leases tell that components run", date: true, want: "True/Serving",
			answers: map[string]answer{kept: {200, leases(lease("karmada-controller-manager", time.Second), lease("karmada-scheduler", 20*time.Second), lease("other", time.Hour))}},
			says:    []string{"Running by their Leases: karmada-controller-manager, karmada-scheduler."},
		},
		{
			reason: "a Lease that is not renewed shows that a component is down", date: true, want: "False/ComponentDown",
			answers: map[string]answer{kept: {200, leases(lease("karmada-scheduler", time.Minute))}},
			says:    []string{"karmada-scheduler has not renewed its Lease since 2031-02-03T04:04:06Z"},
		},
		{
			reason: "where the instance's time is not known Leases prove nothing", want: "True/Serving",
			answers: map[string]answer{kept: {200, leases(lease("karmada-scheduler", time.Minute))}},
		},
		{reason: "who may not read Leases goes without", answers: map[string]answer{kept: {403, ""}}, want: "True/Serving", says: []string{"Not visible"}},
		{reason: "a plain cluster is no instance", answers: map[string]answer{groups: {404, ""}}, want: "False/KarmadaMissing", says: []string{"it is no Karmada control plane"}},
		{
			reason: "the aggregated apiserver is part of it", want: "False/AggregationFailed", says: []string{"(FailedDiscoveryCheck)"},
			answers: map[string]answer{groups: {503, ""}, apiServicePath: {200, `{"status":{"conditions":[{"type":"Available","status":"False","reason":"FailedDiscoveryCheck"}]}}`}},
		},
		{
			reason: "an aggregated apiserver that is registered and not found is not missing", want: "False/AggregationFailed",
			answers: map[string]answer{groups: {404, ""}, apiServicePath: {200, `{"status":{"conditions":[{"type":"Available","status":"False","reason":"MissingEndpoints"}]}}`}},
		},
		{reason: "Karmada's CRDs are part of it", answers: map[string]answer{policyPath: {404, ""}}, want: "False/KarmadaMissing", says: []string{"policy.karmada.io"}},
		{reason: "the credentials may be too small", answers: map[string]answer{policyPath: {403, ""}}, want: "False/Refused", says: []string{"may not read"}},
		{
			reason: "the webhook is part of it", want: "False/WebhookFailed", says: []string{"karmada-webhook"},
			answers: map[string]answer{admits: {500, `{"message":"Internal error occurred: failed calling webhook \"x\""}`}},
		},
		{reason: "a webhook that says no answers", answers: map[string]answer{admits: {400, `{"message":"admission webhook denied the request"}`}}, want: "True/Serving"},
		{reason: "who may not write policies goes without", answers: map[string]answer{admits: {403, ""}}, want: "True/Serving"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header()["Date"] = nil
				if c.date {
					w.Header().Set("Date", now.Format(http.TimeFormat))
				}
				path := r.URL.Path
				if r.Method == http.MethodPost {
					path = "POST " + path
					if body, _ := io.ReadAll(r.Body); r.URL.Query().Get("dryRun") != "All" || len(body) == 0 {
						t.Errorf("%s is no dry run", r.URL)
					}
				}
				said, found := c.answers[path]
				if !found && path == apiServicePath {
					said.status = 404
				}
				if said.status == 0 {
					said = answer{200, "{}"}
				}
				w.WriteHeader(said.status)
				fmt.Fprint(w, said.body)
			}))
			defer server.Close()
			to := connection.Connection{
				Endpoint: server.URL, Token: "t",
				CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
			}
			conn, err := (&connections.Pool{}).Of(connections.Instance("alpha"), to)
			if err != nil {
				t.Fatal(err)
			}
			condition := (&Reconciler{}).karmada(t.Context(), "alpha", history{}, probe.NewAsker(conn), found{Began: now}).judge()
			if word := string(condition.Status) + "/" + condition.Reason; word != c.want {
				t.Errorf("got %s, want %s: %s", word, c.want, condition.Message)
			}
			if i := slices.IndexFunc(c.says, func(part string) bool { return !strings.Contains(condition.Message, part) }); i >= 0 {
				t.Errorf("the message does not say %q: %s", c.says[i], condition.Message)
			}
		})
	}
}
