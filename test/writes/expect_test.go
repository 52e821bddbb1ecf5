package writes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// previewed is what the tests read of a preview.
type previewed struct {
	Fingerprint    string
	Claimed, Moved int
}

// policyPreview previews a change of the scene's policy, until ready accepts the preview: the index lags.
func (s *policyScene) policyPreview(t *testing.T, k policyKind, change string, spec map[string]any, ready func(previewed) bool) string {
	t.Helper()
	in := map[string]any{"change": change, "name": s.name(k), "spec": spec}
	if k.namespaced {
		in["namespace"] = s.namespace
	}
	var found previewed
	poll.Until(t, within, "the preview is as expected", func(ctx context.Context) error {
		r, err := s.alice.Do(ctx, gql.Request{
			Query:     `query($input: PolicyPreviewInput!) { instance(name: "alpha") { policyPreview(input: $input) { fingerprint claimed moved } } }`,
			Variables: map[string]any{"input": in},
		})
		if err != nil || len(r.Errors) > 0 {
			return errors.Join(err, fmt.Errorf("%v", r.Errors))
		}
		var data struct {
			Instance struct{ PolicyPreview previewed }
		}
		if err := json.Unmarshal(r.Data, &data); err != nil { //nolint:musttag // The names differ in case only.
			return err
		}
		if found = data.Instance.PolicyPreview; !ready(found) {
			return fmt.Errorf("it is %+v", found)
		}
		return nil
	})
	return found.Fingerprint
}

// A change of a policy is made when it does what its preview says, and refused when it would do something else.
func TestPoliciesDoWhatIsExpected(t *testing.T) {
	t.Parallel()
	for _, k := range []policyKind{pp, cpp} {
		t.Run(k.name, func(t *testing.T) {
			s := newPolicyScene(t)
			s.cleanUp(t, k)
			create := s.input(k, map[string]any{"spec": s.to("m1")})
			claims := func(p previewed) bool { return p.Claimed == 1 }
			right := s.policyPreview(t, k, "CREATE", s.to("m1"), claims)
			other := s.policyPreview(t, k, "CREATE", s.to("m2"), claims)
			refusedWrite(t, s.alice, "create", k, with(create, "expect", "none"), "INVALID", "input.expect")
			refusedWrite(t, s.alice, "create", k, with(create, "expect", other), "CONFLICT", "input.expect")
			s.unchanged(t, k, nil)
			mustWrite(t, s.alice, "create", k, with(create, "expect", right))
			s.color(t, "m1", "blue")

			moves := func(p previewed) bool { return p.Moved == 1 }
			right = s.policyPreview(t, k, "UPDATE", s.to("m2"), moves)
			update := func() map[string]any {
				return s.input(k, map[string]any{"spec": s.to("m2"), "resourceVersion": s.stored(t, k).GetResourceVersion()})
			}
			refusedWrite(t, s.alice, "update", k, with(update(), "expect", other), "CONFLICT", "input.expect")
			mustWrite(t, s.alice, "update", k, with(update(), "expect", right))
			s.color(t, "m2", "blue")

			remove := s.input(k, map[string]any{"allowInUse": true})
			refusedWrite(t, s.alice, "delete", k, with(remove, "expect", right), "CONFLICT", "input.expect")
			// The index may have the binding without its last change.
			poll.Until(t, within, "the policy is deleted", func(context.Context) error {
				right = s.policyPreview(t, k, "DELETE", nil, func(previewed) bool { return true })
				if p, r := write(t, s.alice, "delete", k, with(remove, "expect", right)); p == nil {
					return fmt.Errorf("%v", r.Errors)
				}
				return nil
			})
		})
	}
}

// A member cluster is cordoned and tainted when that does what its preview says.
func TestMemberClustersDoWhatIsExpected(t *testing.T) {
	alice := person(t, "alice")
	taints := []any{map[string]any{"key": "expect", "value": "", "effect": "NoExecute"}}
	lossPreview := func(arguments string) string {
		t.Helper()
		r := alice.Must(t, gql.Request{Query: `{ instance(name: "alpha") { clusterLossPreview(` + arguments + `) { fingerprint } } }`})
		var data struct {
			Instance struct{ ClusterLossPreview previewed }
		}
		if err := json.Unmarshal(r.Data, &data); err != nil || len(r.Errors) > 0 { //nolint:musttag // The names differ in case only.
			t.Fatal(err, r.Errors)
		}
		return data.Instance.ClusterLossPreview.Fingerprint
	}
	cordon := map[string]any{"instance": "alpha", "name": "m2", "dryRun": true}
	taint := func() map[string]any {
		return map[string]any{"instance": "alpha", "name": "m2", "dryRun": true, "taints": taints, "resourceVersion": karmadaCluster(t, "m2").ResourceVersion}
	}
	other := lossPreview(`clusters: ["m1"]`)
	refused(t, alice, "cordonMemberCluster", but(cordon, "expect", other), "CONFLICT", "input.expect")
	refused(t, alice, "cordonMemberCluster", but(cordon, "expect", strings.Repeat("0", 32)), "INVALID", "input.expect")
	refused(t, alice, "updateMemberCluster", but(taint(), "expect", other), "CONFLICT", "input.expect")
	refused(t, alice, "updateMemberCluster", but(taint(), "expect", other, "taints", nil), "INVALID", "input.expect")
	// Other tests change what is in the cluster.
	poll.Until(t, within, "both do what is expected", func(context.Context) error {
		_, one := mutate[memberPayload](t, alice, "cordonMemberCluster", but(cordon, "expect", lossPreview(`clusters: ["m2"]`)), memberFields)
		_, two := mutate[memberPayload](t, alice, "updateMemberCluster",
			but(taint(), "expect", lossPreview(`clusters: ["m2"], mode: NO_EXECUTE_TAINT, taints: [{key: "expect", effect: "NoExecute"}]`)), memberFields)
		if len(one)+len(two) > 0 {
			return fmt.Errorf("%v %v", one, two)
		}
		return nil
	})
}
