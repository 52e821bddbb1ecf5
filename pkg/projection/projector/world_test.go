package projector

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"

	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
	"github.com/kairship-io/kairship/pkg/projection/projectiontest"
)

// captured is one workload of a real fleet: the objects that the index has of it, in the
// instance alpha, and the state that follows from them.
type captured struct {
	key     projection.WorkloadKey
	objects map[string]projectiontest.Object
	members []projection.Collection
	facts   workload.Facts
	drifted bool
}

const capturedFolder = "../../fleet/workload/testdata"

func load(t *testing.T, name string) *captured {
	t.Helper()
	c := &captured{objects: map[string]projectiontest.Object{}, facts: workload.Facts{
		Members: map[string]workload.Member{}, Objects: map[string]*workload.Object{}, Overrides: map[string][]workload.AppliedOverride{},
		OverridePolicies: []*policyv1alpha1.OverridePolicy{},
	}}
	read := func(file string, into any) string {
		text, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(text, into)
		}
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	template := &workload.Object{}
	text := read(filepath.Join(capturedFolder, name, "template.json"), template)
	kind, _ := template.WorkloadKind()
	c.facts.Kind, c.facts.Template = kind, template
	c.key = projection.WorkloadKey{Instance: "alpha", Namespace: template.Namespace, Name: template.Name, Kind: string(kind)}
	own := index.Type{Group: kind.GVR().Group, Version: kind.GVR().Version, Resource: kind.GVR().Resource}
	add := func(what, cluster string, t index.Type, meta *metav1.ObjectMeta, text string) {
		c.objects[what] = projectiontest.Object{
			Cluster: cluster, Group: t.Group, Version: t.Version, Resource: t.Resource, Namespace: meta.Namespace, Name: meta.Name,
			UID: string(meta.UID), ResourceVersion: meta.ResourceVersion, Text: text,
		}
	}
	add("template", "k-alpha", own, &template.ObjectMeta, text)
	files, err := filepath.Glob(filepath.Join(capturedFolder, name, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		base := strings.TrimSuffix(filepath.Base(file), ".json")
		switch what, cluster, _ := strings.Cut(base, "-"); what {
		case "template":
		case "binding":
			c.facts.Binding = &workv1alpha2.ResourceBinding{}
			text := read(file, c.facts.Binding)
			add(base, "k-alpha", index.ResourceBindings, &c.facts.Binding.ObjectMeta, text)
		case "cluster":
			o := &clusterv1alpha1.Cluster{}
			text := read(file, o)
			c.facts.Members[o.Name] = workload.MemberOf(o)
			c.members = append(c.members, projection.Collection{Cluster: cluster, Instance: "alpha"})
			add(base, "k-alpha", index.MemberClusters, &o.ObjectMeta, text)
		case "object":
			o := &workload.Object{}
			text := read(file, o)
			c.facts.Objects[cluster] = o
			add(base, cluster, own, &o.ObjectMeta, text)
		case "work":
			o := &metav1.PartialObjectMetadata{}
			text := read(file, o)
			workload.Record(c.facts.Overrides, o.Namespace, o.Annotations)
			add(base, "k-alpha", index.Works, &o.ObjectMeta, text)
		case "override":
			o := &policyv1alpha1.OverridePolicy{}
			text := read(file, o)
			c.facts.OverridePolicies = append(c.facts.OverridePolicies, o)
			t := index.OverridePolicies
			if o.Namespace == "" {
				t = index.ClusterOverridePolicies
			}
			add(base, "k-alpha", t, &o.ObjectMeta, text)
		}
	}
	if ref := workload.PolicyRefOf(template); ref != nil && c.facts.Binding != nil {
		c.facts.Policy = claiming(ref, c.facts.Binding)
		text, err := json.Marshal(c.facts.Policy)
		if err != nil {
			t.Fatal(err)
		}
		of := index.PropagationPolicies
		if ref.ClusterScoped() {
			of = index.ClusterPropagationPolicies
		}
		add("policy", "k-alpha", of, &c.facts.Policy.ObjectMeta, string(text))
	}
	return c
}

// claiming is the policy that claimed a captured workload, as far as its binding has it: it was not captured.
func claiming(ref *workload.PolicyRef, b *workv1alpha2.ResourceBinding) *policyv1alpha1.PropagationPolicy {
	p := &policyv1alpha1.PropagationPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: ref.Namespace, Name: ref.Name, UID: "policy", ResourceVersion: "1"}}
	if b.Spec.Placement != nil {
		p.Spec.Placement = *b.Spec.Placement
	}
	return p
}

// change makes the object a later version, with a part of its text replaced.
func (c *captured) change(t *testing.T, what, before, after string) projectiontest.Object {
	t.Helper()
	o := c.objects[what]
	if !strings.Contains(o.Text, before) {
		t.Fatalf("%s has no %s", what, before)
	}
	o.Text, o.ResourceVersion = strings.ReplaceAll(o.Text, before, after), o.ResourceVersion+"0"
	c.objects[what] = o
	return o
}

// world is a database with a projector.
type world struct {
	*Projector
	index *projectiontest.Database
}

func newWorld(t *testing.T, index *projectiontest.Database) *world {
	t.Helper()
	w := &world{open(t, index), index}
	if err := w.DB.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.rebuildIfNeeded(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.drain(t)
	return w
}

func open(t *testing.T, index *projectiontest.Database) *Projector {
	t.Helper()
	db, err := projection.Open(index.DSN)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return &Projector{DB: db, Log: logr.Discard(), Metrics: NewMetrics()}
}

// save has the collector write a captured workload.
func (w *world) save(t *testing.T, c *captured) {
	t.Helper()
	if err := w.DB.SetCollections(t.Context(), c.members); err != nil {
		t.Fatal(err)
	}
	for _, o := range c.objects {
		w.index.Save(t, o)
	}
	w.drain(t)
}

// drain deals with all changes.
func (w *world) drain(t *testing.T) {
	t.Helper()
	if err := drain(t.Context(), w.Projector); err != nil {
		t.Fatal(err)
	}
}

func drain(ctx context.Context, p stepper) error {
	for {
		taken, err := p.Step(ctx)
		if err == nil && taken == 0 {
			taken, err = p.StepPods(ctx)
		}
		if projection.Overtaken(err) {
			continue
		}
		if err != nil || taken == 0 {
			return err
		}
	}
}

// row is a row of the projection; nil when there is none.
func (w *world) row(t *testing.T, key projection.WorkloadKey) *projection.Workload {
	t.Helper()
	var rows []projection.Workload
	err := untilFirst(t.Context(), w.DB.Round, func(s *projection.Snapshot) (*projection.Writes, error) {
		var err error
		rows, err = s.Workloads([]projection.WorkloadKey{key})
		return &projection.Writes{}, err
	})
	switch {
	case err != nil:
		t.Fatal(err)
	case len(rows) == 0:
		return nil
	}
	return &rows[0]
}

// differs is how the row differs from what follows from the facts; "" when it does not.
func (w *world) differs(t *testing.T, c *captured) string {
	t.Helper()
	want := rowOf(c.key, c.facts.Template, &c.facts, nil, func(*workload.Facts, *workload.Status) bool { return c.drifted })
	if got := w.row(t, c.key); got != nil {
		return cmp.Diff(want, *got, asJSON)
	}
	return "there is no row"
}

// is expects the row that follows from the facts.
func (w *world) is(t *testing.T, reason string, c *captured) {
	t.Helper()
	if diff := w.differs(t, c); diff != "" {
		t.Errorf("%s (-want +got):\n%s", reason, diff)
		return
	}
	w.agrees(t, reason, 0)
}

// agrees expects a number of rows that differ from what is computed now.
func (w *world) agrees(t *testing.T, reason string, want int) {
	t.Helper()
	got, err := w.Check(t.Context())
	if err != nil && !errors.Is(err, ErrBusy) || got != want {
		t.Errorf("%s: %d rows differ (%v), want %d", reason, got, err, want)
	}
}

// collect has the inventory know some clusters: name, instance, and whether it is stale.
func (w *world) collect(t *testing.T, all ...any) {
	t.Helper()
	var clusters []projection.Collection
	for i := 0; i < len(all); i += 3 {
		clusters = append(clusters, projection.Collection{Cluster: all[i].(string), Instance: all[i+1].(string), Stale: all[i+2].(bool)})
	}
	if err := w.DB.SetCollections(t.Context(), clusters); err != nil {
		t.Fatal(err)
	}
}

// asJSON compares JSON by what it says: PostgreSQL orders fields anew.
var asJSON = cmp.Transformer("JSON", func(text json.RawMessage) (v any) {
	if err := json.Unmarshal(text, &v); err != nil {
		return err.Error()
	}
	return v
})
