package suite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// placed is what can be asked of where an object goes.
const placed = `policy { name } overridePolicies { name } binding { name clusters { name } } placements { clusterName scheduled evicting applied message overrides { policyName policyNamespace } memberCluster { name } }`

// propagatedConfigMap makes a ConfigMap and a Secret that a policy sends to m1, with an override, beside a
// ConfigMap that no policy claims. It returns their namespace.
func propagatedConfigMap(t *testing.T, on *target) string {
	t.Helper()
	w := &world{fleet: on.fleet, id: newID()}
	t.Cleanup(w.remove)
	ns := "suite-" + w.id + "-placed"
	selector := func(kind string) policyv1alpha1.ResourceSelector {
		return policyv1alpha1.ResourceSelector{APIVersion: "v1", Kind: kind, Name: "sent"}
	}
	w.create(t, created{"alpha", &corev1.Namespace{ObjectMeta: w.meta("", ns)}})
	w.create(t,
		created{"alpha", &policyv1alpha1.OverridePolicy{ObjectMeta: w.meta(ns, "changed"), Spec: policyv1alpha1.OverrideSpec{
			ResourceSelectors: []policyv1alpha1.ResourceSelector{selector("ConfigMap")},
			OverrideRules: []policyv1alpha1.RuleWithCluster{{Overriders: policyv1alpha1.Overriders{Plaintext: []policyv1alpha1.PlaintextOverrider{
				{Path: "/data/where", Operator: policyv1alpha1.OverriderOpReplace, Value: apiextensionsv1.JSON{Raw: []byte(`"m1"`)}},
			}}}},
		}}},
		created{"alpha", &policyv1alpha1.PropagationPolicy{ObjectMeta: w.meta(ns, "all"), Spec: policyv1alpha1.PropagationSpec{
			ResourceSelectors: []policyv1alpha1.ResourceSelector{selector("ConfigMap"), selector("Secret")},
			Placement:         policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m1"}}},
		}}})
	w.create(t, created{"alpha", &corev1.ConfigMap{ObjectMeta: w.meta(ns, "sent"), Data: map[string]string{"where": "nowhere"}}},
		created{"alpha", &corev1.ConfigMap{ObjectMeta: w.meta(ns, "kept")}}, created{"alpha", &corev1.Secret{ObjectMeta: w.meta(ns, "sent")}})
	return ns
}

// TestPlacementsOfResources: what is propagated says by which policy, and where it is, whatever its kind.
func TestPlacementsOfResources(t *testing.T) {
	on := open(t)
	ns := propagatedConfigMap(t, on)
	query := fmt.Sprintf(`{ instance(name: "alpha") {
		sent: resource(version: "v1", resource: "configmaps", namespace: %[1]q, name: "sent") { %[2]s }
		kept: resource(version: "v1", resource: "configmaps", namespace: %[1]q, name: "kept") { %[2]s }
		secret: resource(version: "v1", resource: "secrets", namespace: %[1]q, name: "sent") { freshness { source } binding { freshness { source } } policy { name } placements { clusterName applied } } } }`, ns, placed)
	type m = map[string]any
	const none = "kept"
	sent := m{
		"policy": m{"name": "all"}, "overridePolicies": []any{m{"name": "changed"}},
		"binding": m{"name": "sent-configmap", "clusters": []any{m{"name": "m1"}}},
		"placements": []any{m{
			"clusterName": "m1", "scheduled": true, "evicting": false, "applied": true, "message": nil,
			"overrides": []any{m{"policyName": "changed", "policyNamespace": ns}}, "memberCluster": m{"name": "m1"},
		}},
	}
	want := m{
		"sent": sent,
		none:   m{"policy": nil, "overridePolicies": []any{}, "binding": nil, "placements": []any{}},
		"secret": m{
			"freshness": m{"source": "LIVE"}, "binding": m{"freshness": m{"source": "INDEX"}},
			"policy": m{"name": "all"}, "placements": []any{m{"clusterName": "m1", "applied": true}},
		},
	}
	poll.Until(t, propagationTimeout, "the objects are where the policy sends them", func(ctx context.Context) error {
		data, _, err := gql.Query[struct{ Instance m }](ctx, on.kairship, query, nil)
		if err != nil {
			return err
		}
		if diff := cmp.Diff(want, data.Instance); diff != "" {
			return fmt.Errorf("(-want +got):\n%s", diff)
		}
		return nil
	})

	// As Karmada itself has it.
	var b workv1alpha2.ResourceBinding
	if err := on.fleet.Client(t, "alpha").Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "sent-configmap"}, &b); err != nil {
		t.Fatal(err)
	}
	var reported []any
	for _, item := range b.Status.AggregatedStatus {
		reported = append(reported, m{"clusterName": item.ClusterName, "health": string(item.Health)})
	}
	health, _ := gql.MustQuery[struct{ Instance m }](t, on.kairship, fmt.Sprintf(
		`{ instance(name: "alpha") { resource(version: "v1", resource: "configmaps", namespace: %q, name: "sent") { placements { clusterName health } } } }`, ns), nil)
	if diff := cmp.Diff(m{"resource": m{"placements": reported}}, health.Instance); diff != "" {
		t.Errorf("what the clusters report (-want +got):\n%s", diff)
	}

	t.Run("people", func(t *testing.T) {
		query := fmt.Sprintf(`{ instance(name: "alpha") { resource(version: "v1", resource: "configmaps", namespace: %q, name: "sent") { %s } } }`, ns, placed)
		whole := func(name string, may []rbacv1.PolicyRule, want any) {
			p := newPerson(t, on, may)
			data, _, err := gql.Query[m](t.Context(), p.Client, query, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, data["instance"]); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
		// Who has a role in the namespace sees all of it but the member clusters, which are the instance's.
		own := m{}
		for k, v := range sent {
			own[k] = v
		}
		own["placements"] = []any{m{
			"clusterName": "m1", "scheduled": true, "evicting": false, "applied": true, "message": nil,
			"overrides": []any{m{"policyName": "changed", "policyNamespace": ns}}, "memberCluster": nil,
		}}
		whole("a viewer of the namespace", viewerIn("alpha", ns), m{"resource": own})
		whole("a viewer of another namespace", viewerIn("alpha", "shop"), m{"resource": nil})
		whole("a viewer of another instance", viewerOf("beta"), nil)
	})
}

// TestAWorkloadIsPlacedAlikeAsResource: the two types give one answer about one object.
func TestAWorkloadIsPlacedAlikeAsResource(t *testing.T) {
	on := open(t)
	w := theWorld(t)
	w.propagated(t, on)
	const same = `policy { name } overridePolicies { name } binding { name } placements { clusterName scheduled evicting overrides { policyName } memberCluster { name } }
		explanation { stage state summary steps { stage state summary reasons { code message clusterName policy { name } override { name } pod { name } } } }`
	data, _ := gql.MustQuery[struct{ Instance map[string]any }](t, on.kairship, fmt.Sprintf(`{ instance(name: "alpha") {
		workload(kind: DEPLOYMENT, namespace: "shop", name: "frontend") { %[1]s }
		resource(group: "apps", version: "v1", resource: "deployments", namespace: "shop", name: "frontend") { %[1]s } } }`, same), nil)
	if diff := cmp.Diff(data.Instance["workload"], data.Instance["resource"]); diff != "" {
		t.Errorf("(-workload +resource):\n%s", diff)
	}
	if data.Instance["workload"] == nil {
		t.Error("there is no frontend")
	}

	query := `query($first: Int, $ns: String) { instance(name: "alpha") { resources(group: "apps", version: "v1", resource: "deployments", namespace: $ns, first: $first) { nodes { name ` + placed + ` } } } }`
	cost := func(first int) int {
		return warmCost(t, on.kairship, query, map[string]any{"first": first, "ns": w.many})
	}
	// The page, its policies, bindings, Works, override policies and member clusters.
	if one, many := cost(1), cost(fifty); many > one || one > 6 {
		t.Errorf("where one object is costs %d requests, where fifty are %d; want at most 6, and the same", one, many)
	}
}

// TestOwnerFindsWhatAnObjectMade asks for the ReplicaSets of a Deployment and the Jobs of a CronJob, by the
// UIDs that their placements show, and compares with what the member has.
func TestOwnerFindsWhatAnObjectMade(t *testing.T) {
	on := open(t)
	w := &world{fleet: on.fleet, id: newID()}
	t.Cleanup(w.remove)
	for _, tt := range []struct {
		reason, kind, namespace, name, group, plural string
		made                                         func() client.ObjectList
	}{
		{"a Deployment", "DEPLOYMENT", "shop", "frontend", "apps", "replicasets", func() client.ObjectList { return &appsv1.ReplicaSetList{} }},
		{"a CronJob", "CRON_JOB", "ops", "report", "batch", "jobs", func() client.ObjectList { return &batchv1.JobList{} }},
	} {
		poll.Until(t, propagationTimeout, "what it made is shown: "+tt.reason, func(ctx context.Context) error {
			data, _, err := gql.Query[struct {
				Instance struct {
					Workload struct {
						Placements []struct {
							ClusterName string
							Object      *struct{ UID string }
						}
					}
				}
			}](ctx, on.kairship, fmt.Sprintf(`{ instance(name: "alpha") { workload(kind: %s, namespace: %q, name: %q) { placements { clusterName object { uid } } } } }`, tt.kind, tt.namespace, tt.name), nil)
			if err != nil {
				return err
			}
			if len(data.Instance.Workload.Placements) == 0 {
				return errors.New("it is nowhere")
			}
			for _, p := range data.Instance.Workload.Placements {
				if p.Object == nil {
					return fmt.Errorf("it is not in %s", p.ClusterName)
				}
				all, err := listItems(ctx, w.fleet.Client(t, p.ClusterName), tt.made(), "")
				if err != nil {
					return err
				}
				want := []string{}
				for _, i := range all {
					if owner := metav1.GetControllerOf(i); owner != nil && string(owner.UID) == p.Object.UID {
						want = append(want, i.GetNamespace()+"/"+i.GetName())
					}
				}
				slices.Sort(want)
				got, count, err := resourceNames(ctx, on.kairship, resourcesIn(p.ClusterName, tt.group, tt.plural, fmt.Sprintf(`, first: 500, filter: {owner: [%q]}`, p.Object.UID), "{ totalCount nodes { namespace name } }"))
				if err != nil {
					return err
				}
				if diff := cmp.Diff(want, got); diff != "" || count != len(want) || len(want) == 0 && tt.plural == "replicasets" {
					return fmt.Errorf("%s of %s: %d in all, %s says -, Kairship says +:\n%s", tt.plural, tt.name, count, p.ClusterName, diff)
				}
			}
			return nil
		})
	}
}
