package suite

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kairship-io/kairship/internal/poll"
	kairshipv1alpha1 "github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// previewArguments are those that TestPreviews sends. The spec is that of the mutations, which test/writes sends.
var previewArguments = []string{
	"Instance.policyPreview(input.change)", "Instance.policyPreview(input.namespace)", "Instance.policyPreview(input.name)",
	"Instance.policyPreview(input.assume.policyPreemption)", "Instance.policyPreview(input.assume.noExecuteEviction)",
	"Instance.clusterLossPreview(clusters)", "Instance.clusterLossPreview(mode)",
	"Instance.clusterLossPreview(taints.key)", "Instance.clusterLossPreview(taints.value)", "Instance.clusterLossPreview(taints.effect)",
	"Instance.clusterLossPreview(assume.policyPreemption)", "Instance.clusterLossPreview(assume.noExecuteEviction)",
	"PolicyPreview.items(first)", "PolicyPreview.items(effects)", "ClusterLossPreview.items(first)", "ClusterLossPreview.items(effects)",
}

// TestPreviews asks for previews about the sample applications, each argument with and without effect.
func TestPreviews(t *testing.T) {
	t.Parallel()
	on := open(t)
	const item = `kind name effect unplaced policyAfter { namespace name } placementsAfter { clusterName replicas } removedFrom workload { name }`
	toM2 := `change: UPDATE, namespace: "shop", name: "frontend", spec: {resourceSelectors: [{apiVersion: "apps/v1", kind: "Deployment", name: "frontend"}], placement: {clusterAffinity: {clusterNames: ["m2"]}}}`
	for _, tt := range []struct {
		why, field string
		// has and not are texts of the answer; codes are its errors.
		has, not, code string
	}{
		{"a deletion", `policyPreview(input: {change: DELETE, namespace: "shop", name: "frontend"}) { lost items { ` + item + ` } }`, `"lost":1,"items":[{"kind":"Deployment","name":"frontend","effect":"LOST"`, "", ""},
		{"another cluster", `policyPreview(input: {` + toM2 + `}) { moved removed items { ` + item + ` } }`, `"moved":1,"removed":1,"items":[{"kind":"Deployment","name":"frontend","effect":"RESCHEDULED"`, `"unplaced":true`, ""},
		{"its workload", `policyPreview(input: {` + toM2 + `}) { items { ` + item + ` } }`, `"removedFrom":["m1"],"workload":{"name":"frontend"}`, "", ""},
		{"only some effects", `policyPreview(input: {` + toM2 + `}) { items(effects: [LOST]) { ` + item + ` } }`, `"items":[]`, "", ""},
		{"too many", `policyPreview(input: {` + toM2 + `}) { items(first: 501) { ` + item + ` } }`, "", "", "INVALID"},
		{"without the feature gate", `policyPreview(input: {` + toM2 + `}) { assumptions }`, "PolicyPreemption of karmada-controller-manager is disabled", "", ""},
		{"with it", `policyPreview(input: {` + toM2 + `, assume: {policyPreemption: true, noExecuteEviction: true}}) { assumptions }`, "PolicyPreemption of karmada-controller-manager is enabled", "", ""},
		{"a policy of no namespace", `policyPreview(input: {change: DELETE, name: "node-agents"}) { items { ` + item + ` } }`, `"name":"agent","effect":"LOST"`, "", ""},
		{"a policy that is not there", `policyPreview(input: {change: DELETE, namespace: "shop", name: "none-such"}) { lost }`, "", "", "NOT_FOUND"},
		{"a policy that is there", `policyPreview(input: {` + strings.Replace(toM2, "UPDATE", "CREATE", 1) + `}) { lost }`, "", "", "ALREADY_EXISTS"},
		{"a change without spec", `policyPreview(input: {change: UPDATE, namespace: "shop", name: "frontend"}) { lost }`, "", "", "INVALID"},

		{"a cordoned cluster keeps what it has", `clusterLossPreview(clusters: ["m1"]) { moved items(first: 1, effects: [UNCHANGED]) { ` + item + ` } }`, `"moved":0,"items":[{`, "", ""},
		{"by default nothing is evicted", `clusterLossPreview(clusters: ["m1"], mode: NO_EXECUTE_TAINT) { evicted moved assumptions }`, `"evicted":0,"moved":0`, "", ""},
		{"eviction", `clusterLossPreview(clusters: ["m1"], mode: NO_EXECUTE_TAINT, assume: {noExecuteEviction: true, policyPreemption: false}) { items(first: 500, effects: [EVICTED]) { ` + item + ` } }`, `"name":"frontend","effect":"EVICTED"`, "", ""},
		{"a taint that evicts nothing", `clusterLossPreview(clusters: ["m1"], mode: NO_EXECUTE_TAINT, taints: [{key: "a", value: "b", effect: "NoSchedule"}], assume: {noExecuteEviction: true}) { evicted }`, `"evicted":0`, "", ""},
		{"taints of another mode", `clusterLossPreview(clusters: ["m1"], taints: [{key: "a", value: "b", effect: "NoSchedule"}]) { evicted }`, "", "", "INVALID"},
		{"not ready", `clusterLossPreview(clusters: ["m1"], mode: UNREADY) { evicted moved }`, `"evicted":0,"moved":0`, "", ""},
		{"removal", `clusterLossPreview(clusters: ["m1"], mode: REMOVAL) { items(first: 500) { ` + item + ` } }`, `"kind":"Deployment","name":"frontend","effect":"RESCHEDULED"`, "", ""},
		{"a cluster of another instance", `clusterLossPreview(clusters: ["m3"]) { moved }`, "", "", "INVALID"},
	} {
		r := on.as(t, "alice").Must(t, gql.Request{Query: `{ instance(name: "alpha") { ` + tt.field + ` } }`})
		code := ""
		if len(r.Errors) > 0 {
			code = r.Errors[0].Extensions.Code
		}
		if data := string(r.Data); code != tt.code || !strings.Contains(data, tt.has) || tt.not != "" && strings.Contains(data, tt.not) {
			t.Errorf("%s: got %s %s, want %s %q", tt.why, code, r.Body, tt.code, tt.has)
		}
	}
}

// TestPreviewsInOneNamespace asks as an editor of shop in alpha: a policy of shop has the same preview as for an editor of
// the instance, though neither the member clusters nor the policies without a namespace can be read.
func TestPreviewsInOneNamespace(t *testing.T) {
	on := open(t)
	shopper := newPerson(t, on, nil)
	bindingIn(t, on, shopper, kairshipv1alpha1.RoleEditor, "alpha", "shop")
	const answer = `{ fingerprint claimed lost takenOver handedOver moved removed unplaced assumptions
		items { kind namespace name effect policyBefore { namespace name } policyAfter { namespace name } placementsBefore { clusterName replicas } placementsAfter { clusterName replicas } removedFrom unplaced message workload { name } } }`
	preview := func(input string) gql.Request {
		return gql.Request{Query: `{ instance(name: "alpha") { policyPreview(input: {` + input + `}) ` + answer + ` } }`}
	}
	const selects = `resourceSelectors: [{apiVersion: "apps/v1", kind: "Deployment"}]`
	poll.Until(t, propagationTimeout, "the instance lets the editor try a change", func(ctx context.Context) error {
		r, err := shopper.Do(ctx, preview(`change: DELETE, namespace: "shop", name: "frontend"`))
		if err == nil && len(r.Errors) > 0 {
			err = fmt.Errorf("got %s", r.Body)
		}
		return err
	})
	for _, input := range []string{
		`change: DELETE, namespace: "shop", name: "frontend"`,
		`change: UPDATE, namespace: "shop", name: "frontend", spec: {` + selects + `, placement: {clusterAffinity: {clusterNames: ["m2"]}}}`,
		`change: UPDATE, namespace: "shop", name: "frontend", spec: {` + selects + `, placement: {clusterAffinity: {clusterNames: ["none-such"]}}}`,
		`change: CREATE, namespace: "shop", name: "all", spec: {priority: 9, preemption: ALWAYS, resourceSelectors: [{apiVersion: "apps/v1", kind: "Deployment", name: "frontend"}], placement: {}}, assume: {policyPreemption: true}`,
	} {
		poll.Until(t, time.Minute, "the preview is the same for both", func(ctx context.Context) error {
			own, err := shopper.Do(ctx, preview(input))
			if err != nil {
				return err
			}
			whole, err := on.as(t, "alice").Do(ctx, preview(input))
			if err == nil && (len(own.Errors) > 0 || string(own.Data) != string(whole.Data)) {
				err = fmt.Errorf("%s:\n%s\n%s", input, own.Body, whole.Body)
			}
			return err
		})
	}
	for _, tt := range []struct{ field, code string }{
		{`policyPreview(input: {change: DELETE, namespace: "ops", name: "stuck"}) { lost }`, "FORBIDDEN"},
		{`policyPreview(input: {change: CREATE, namespace: "ops", name: "new", spec: {` + selects + `, placement: {}}}) { claimed }`, "FORBIDDEN"},
		{`policyPreview(input: {change: DELETE, name: "node-agents"}) { lost }`, "FORBIDDEN"},
		{`policyPreview(input: {change: CREATE, name: "new", spec: {` + selects + `, placement: {}}}) { claimed }`, "FORBIDDEN"},
		{`clusterLossPreview(clusters: ["m1"]) { moved }`, "FORBIDDEN"},
	} {
		r := shopper.Must(t, gql.Request{Query: `{ instance(name: "alpha") { ` + tt.field + ` } }`})
		if len(r.Errors) != 1 || r.Errors[0].Extensions.Code != tt.code {
			t.Errorf("%s: got %s, want %s", tt.field, r.Body, tt.code)
		}
	}
}

// TestPreviewsCostTheSame checks that the requests of a preview do not follow the number of objects.
func TestPreviewsCostTheSame(t *testing.T) {
	t.Parallel()
	on := open(t)
	preview := func(n int) int {
		namespace := manyDeployments(t, on, n)
		query := fmt.Sprintf(`{ instance(name: "alpha") { policyPreview(input: {change: CREATE, namespace: %q, name: "none-such", spec: {
			resourceSelectors: [{apiVersion: "apps/v1", kind: "Deployment"}], placement: {clusterAffinity: {clusterNames: ["m2"]}}
		}}) { claimed items(first: 500) { workload { name } } } } }`, namespace)
		poll.Until(t, time.Minute, "the index has the Deployments", func(context.Context) error {
			if r := on.as(t, "admin").Must(t, gql.Request{Query: query}); !strings.Contains(string(r.Data), fmt.Sprintf(`"claimed":%d,`, n)) {
				return fmt.Errorf("%.200s", r.Body)
			}
			return nil
		})
		return coldCost(t, on.kairship, query, nil)
	}
	few, many := preview(1), preview(50)
	if few != many {
		t.Errorf("%d requests for few objects, %d for many", few, many)
	}
}
