package projector

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/kairship-io/kairship/pkg/projection"
	"github.com/kairship-io/kairship/pkg/projection/projectiontest"
)

// customBinding is the binding of a custom resource in the instance alpha.
func customBinding(version, apiVersion, kind, name, status string) projectiontest.Object {
	text := fmt.Sprintf(`{"metadata":{"namespace":"shop","name":%q,"uid":"b","resourceVersion":%q,"creationTimestamp":"2026-01-02T03:04:05Z",
		"labels":{"propagationpolicy.karmada.io/permanent-id":"p1","other":"x"},"annotations":{"propagationpolicy.karmada.io/namespace":"shop","propagationpolicy.karmada.io/name":"web"}},
		"spec":{"replicas":4,"resource":{"apiVersion":%q,"kind":%q,"namespace":"shop","name":%q,"uid":"t","resourceVersion":"7"},"clusters":[{"name":"m1","replicas":3},{"name":"m2","replicas":1}]},
		"status":{"conditions":[{"type":"Scheduled","status":"True"}],"aggregatedStatus":%s}}`,
		strings.ToLower(name+"-"+kind), version, apiVersion, kind, name, status)
	return projectiontest.Object{
		Cluster: "k-alpha", Group: "work.karmada.io", Version: "v1alpha2", Resource: "resourcebindings", Namespace: "shop", Name: strings.ToLower(name + "-" + kind),
		UID: "b", ResourceVersion: version, Text: text,
	}
}

const (
	fine    = `[{"clusterName":"m1","applied":true,"health":"Healthy","status":{"readyReplicas":3}},{"clusterName":"m2","applied":true,"health":"Healthy","status":{"readyReplicas":1}}]`
	halfway = `[{"clusterName":"m1","applied":true,"health":"Healthy","status":{"readyReplicas":3}},{"clusterName":"m2","applied":true,"health":"Unhealthy"}]`
)

func customMembers(t *testing.T, w *world) {
	t.Helper()
	w.collect(t, "m1", "alpha", false, "m2", "alpha", false)
	for _, name := range []string{"m1", "m2"} {
		w.index.Save(t, projectiontest.Object{
			Cluster: "k-alpha", Group: "cluster.karmada.io", Version: "v1alpha1", Resource: "clusters", Name: name, UID: name, ResourceVersion: "1",
			Text: fmt.Sprintf(`{"metadata":{"name":%q},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`, name),
		})
	}
	w.index.Save(t, policyOf("shop", "web"))
	w.drain(t)
}

// TestCustom: the row of a custom workload follows from its binding, and from its template where the
// index has that.
func TestCustom(t *testing.T) {
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		w := newWorld(t, index)
		customMembers(t, w)
		key := projection.WorkloadKey{Instance: "alpha", Namespace: "shop", Name: "web", Kind: "Rollout.argoproj.io"}
		template := projectiontest.Object{
			Cluster: "k-alpha", Group: "argoproj.io", Version: "v1alpha1", Resource: "rollouts", Namespace: "shop", Name: "web", UID: "t", ResourceVersion: "7",
			Text: `{"apiVersion":"argoproj.io/v1alpha1","kind":"Rollout","metadata":{"namespace":"shop","name":"web","uid":"t","resourceVersion":"7","creationTimestamp":"2026-01-01T00:00:00Z",
				"labels":{"app":"web","propagationpolicy.karmada.io/permanent-id":"p1"},"annotations":{"propagationpolicy.karmada.io/namespace":"shop","propagationpolicy.karmada.io/name":"web"}},
				"spec":{"replicas":4,"schedule":{"not":"text"},"template":{"spec":{"containers":[{"name":"web","image":"registry/web:1"}]}}}}`,
		}
		changed := template
		changed.ResourceVersion, changed.Text = "8", strings.Replace(template.Text, `"app":"web"`, `"app":"shop"`, 1)
		labels := func(r *projection.Workload) string { return strings.Join(r.LabelKV, " ") }
		for _, step := range []struct {
			reason string
			do     func()
			is     func(*projection.Workload) bool
		}{
			{"a template without a binding is no workload", func() { index.Save(t, template) }, func(r *projection.Workload) bool { return r == nil }},
			{"it is deleted, and a binding of another comes", func() {
				index.Delete(t, template)
				index.Save(t, customBinding("1", "argoproj.io/v1alpha1", "Rollout", "web", "[]"))
			}, func(r *projection.Workload) bool {
				return r.Health == "PROGRESSING" && r.Desired == 4 && r.UID == "t" && r.ResourceVersion == "7" && labels(r) == "propagationpolicy.karmada.io/permanent-id=p1" &&
					r.PolicyName == "web" && r.PolicyNamespace == "shop" && strings.Join(r.Scheduled, " ") == "m1 m2" && !strings.Contains(string(r.Object), `"resource":`)
			}},
			{"both clusters are healthy", func() { index.Save(t, customBinding("2", "argoproj.io/v1alpha1", "Rollout", "web", fine)) },
				func(r *projection.Workload) bool { return r.Health == "HEALTHY" && r.Ready == 4 }},
			{"the index collects the kind", func() { index.Save(t, template) }, func(r *projection.Workload) bool {
				var object struct {
					Resource string `json:"resource"`
					Kind     string `json:"kind"`
				}
				err := json.Unmarshal(r.Object, &object)
				return err == nil && object.Resource == "rollouts" && object.Kind == "Rollout" && strings.HasPrefix(labels(r), "app=web") && strings.Join(r.Images, " ") == "registry/web:1"
			}},
			{"a label of the template changes alone", func() { index.Save(t, changed) }, func(r *projection.Workload) bool { return strings.HasPrefix(labels(r), "app=shop") }},
			{"one cluster is unhealthy", func() { index.Save(t, customBinding("3", "argoproj.io/v1alpha1", "Rollout", "web", halfway)) },
				func(r *projection.Workload) bool { return r.Health == "DEGRADED" && r.Ready == 3 }},
			{"another kind of the same name takes the binding", func() { index.Save(t, customBinding("4", "other.example.com/v1", "Rollout", "web", fine)) },
				func(r *projection.Workload) bool { return r == nil }},
			{"it has it again", func() { index.Save(t, customBinding("5", "argoproj.io/v1alpha1", "Rollout", "web", fine)) },
				func(r *projection.Workload) bool { return r.Health == "HEALTHY" }},
			{"the binding is deleted", func() { index.Delete(t, customBinding("5", "argoproj.io/v1alpha1", "Rollout", "web", fine)) },
				func(r *projection.Workload) bool { return r == nil }},
		} {
			step.do()
			w.drain(t)
			if got := w.row(t, key); !step.is(got) {
				t.Errorf("%s: the row is %+v", step.reason, got)
			}
			w.agrees(t, step.reason, 0)
		}
		if n := index.Number(t, "SELECT count(*) FROM kairship.workload"); n != 0 {
			t.Errorf("%d rows are left", n)
		}
	})
}

// TestNoCustom: bindings of other kinds than custom ones, and of other namespaces, make no rows.
func TestNoCustom(t *testing.T) {
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		w := newWorld(t, index)
		foreign := customBinding("1", "argoproj.io/v1alpha1", "Rollout", "web", fine)
		foreign.Text = strings.Replace(foreign.Text, `"kind":"Rollout","namespace":"shop"`, `"kind":"Rollout","namespace":"ops"`, 1)
		for _, o := range []projectiontest.Object{
			foreign, customBinding("1", "v1", "ConfigMap", "web", fine), customBinding("1", "networking.k8s.io/v1", "Ingress", "web", fine),
			customBinding("1", "autoscaling.karmada.io/v1alpha1", "FederatedHPA", "web", fine),
		} {
			index.Save(t, o)
		}
		w.drain(t)
		w.agrees(t, "no row", 0)
		if n := index.Number(t, "SELECT count(*) FROM kairship.workload"); n != 0 {
			t.Errorf("%d rows were made", n)
		}
	})
}

// TestCustomRepaired: rows that an earlier release removed, because it does not know them, come back
// with a rebuild and with the comparison.
func TestCustomRepaired(t *testing.T) {
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		w := newWorld(t, index)
		customMembers(t, w)
		index.Save(t, customBinding("1", "argoproj.io/v1alpha1", "Rollout", "web", fine))
		// Karmada names the binding of a Job of another group as that of a Job.
		index.Save(t, customBinding("1", "batch.volcano.sh/v1alpha1", "Job", "train", fine))
		w.drain(t)
		count := func() int { return index.Number(t, "SELECT count(*) FROM kairship.workload WHERE kind LIKE '%.%'") }
		if n := count(); n != 2 {
			t.Fatalf("%d rows", n)
		}
		index.Exec(t, "DELETE FROM kairship.workload")
		w.agrees(t, "the rows are missing", 1)
		index.Exec(t, "DELETE FROM kairship.workload")
		if err := w.DB.Rebuild(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.drain(t)
		if n := count(); n != 2 {
			t.Errorf("%d rows after a rebuild", n)
		}
	})
}
