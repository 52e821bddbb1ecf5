package projected

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/consistency"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
	"github.com/kairship-io/kairship/pkg/requeststats"
)

// withCustom is a built world with the custom workloads x, which the index does not collect, and y.
func withCustom(t *testing.T) *world {
	t.Helper()
	w := built(t)
	var rows []projection.Workload
	for name, resource := range map[string]string{"x": "", "y": "rollouts"} {
		r := row(name, "HEALTHY")
		r.Kind, r.UID = "Rollout.argoproj.io", "uid-"+name
		r.Object = json.RawMessage(fmt.Sprintf(`{"apiVersion": "argoproj.io/v1", "kind": "Rollout", "metadata": {"namespace": "shop", "name": %q}, "resource": %q}`, name, resource))
		rows = append(rows, r)
	}
	w.round(t, &projection.Writes{Workloads: rows})
	return w
}

func customKey(name string) index.Key {
	return index.Key{Cluster: "k-alpha", Type: index.Type{Group: "argoproj.io", Kind: "Rollout"}, Namespace: "shop", Name: name}
}

func workloadsAnd(custom *index.Custom, types ...index.Type) index.ListQuery {
	return index.ListQuery{Types: types, Custom: custom, Clusters: []string{"k-alpha"}, Limit: 10, WithCount: true, Detail: index.Metadata}
}

var fiveTypes = []index.Type{index.Deployments, index.StatefulSets, index.DaemonSets, index.Jobs, index.CronJobs}

// TestCustomList: custom workloads are listed with the others, by their own places.
func TestCustomList(t *testing.T) {
	w := withCustom(t)
	rollouts := &index.Custom{Kinds: []string{"Rollout.argoproj.io"}}
	for _, tt := range []struct {
		reason string
		q      index.ListQuery
		want   string
	}{
		{"all kinds", workloadsAnd(&index.Custom{}, fiveTypes...), "a b c d e x y"},
		{"no custom ones", workloadsAnd(nil, fiveTypes...), "a b c d e"},
		{"one kind and all custom ones", workloadsAnd(&index.Custom{}, index.Jobs), "x y"},
		{"all custom ones", workloadsAnd(&index.Custom{}), "x y"},
		{"one custom kind", workloadsAnd(rollouts), "x y"},
		{"two kinds", workloadsAnd(rollouts, index.Deployments), "a b c d e x y"},
		{"another custom kind", workloadsAnd(&index.Custom{Kinds: []string{"Rollout.example.com"}}), ""},
	} {
		page, err := w.List(t.Context(), tt.q)
		if err != nil || namesOf(page) != tt.want || *page.Count != int64(len(page.Items)) || page.WithoutCustom || w.objects.listed > 0 {
			t.Errorf("%s: %s of %+v, %v", tt.reason, namesOf(page), page, err)
		}
	}
	q := workloadsAnd(&index.Custom{}, fiveTypes...)
	q.Limit = 6
	page, err := w.List(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	o := page.Items[5]
	if at := index.PositionOf(o); o.APIVersion != "argoproj.io/v1" || o.Kind != "Rollout" || at.Kind != "Rollout.argoproj.io" || page.End.Kind != at.Kind || page.End.Name != "x" {
		t.Errorf("x is %+v at %+v, and the page ends at %+v", o, at, page.End)
	}
	q.After = page.End
	if page, err = w.List(t.Context(), q); err != nil || namesOf(page) != "y" {
		t.Errorf("the second page is %s, %v", namesOf(page), err)
	}
}

// TestCustomByName reads custom workloads by their kinds, with one statement, and whole where the index
// has them.
func TestCustomByName(t *testing.T) {
	w := withCustom(t)
	own := index.Key{Cluster: "k-alpha", Type: index.Type{Group: "argoproj.io", Version: "v1", Resource: "rollouts", Kind: "Rollout"}, Namespace: "shop", Name: "y"}
	whole, err := index.NewStored(own, []byte(`{"apiVersion": "argoproj.io/v1", "kind": "Rollout", "metadata": {"namespace": "shop", "name": "y"}, "spec": {"own": true}}`), index.Whole)
	w.do(t, err)
	w.objects.has[own] = whole
	keys := []index.Key{customKey("x"), customKey("y"), customKey("z")}
	ctx, used := requeststats.With(t.Context())
	found, err := w.GetMany(ctx, keys, index.Known)
	if err != nil || len(found) != 2 || found[keys[0]].State.UID != "uid-x" || used.Uses()[0].Requests != 1 {
		t.Errorf("found %+v with %+v, %v", found, used.Uses(), err)
	}
	found, err = w.GetMany(t.Context(), keys, index.Whole)
	if err != nil || len(found) != 2 || found[keys[0]].Whole() || !found[keys[1]].Whole() || found[keys[1]].State.UID != "uid-y" {
		t.Errorf("found %+v, %v", found, err)
	}
}

// TestWithoutCustom: nothing but the projection has custom workloads.
func TestWithoutCustom(t *testing.T) {
	incomplete := newWorld(t)
	none := &Source{Index: &objects{}, Timeout: incomplete.Timeout, Now: incomplete.Now}
	for _, s := range []*Source{incomplete.Source, none} {
		page, err := s.List(t.Context(), workloadsAnd(&index.Custom{}, fiveTypes...))
		if err != nil || page.WithoutCustom != (s.Projection != nil) {
			t.Errorf("all kinds: %+v, %v", page, err)
		}
		part := index.Part{Cluster: "k-alpha"}
		pages, err := s.ListParts(t.Context(), workloadsAnd(&index.Custom{}, fiveTypes...), []index.Part{part})
		if err != nil || pages[part].WithoutCustom != (s.Projection != nil) {
			t.Errorf("all kinds in parts: %+v, %v", pages, err)
		}
		if _, err := s.List(t.Context(), workloadsAnd(&index.Custom{})); !apierror.Is(err, apierror.CodeIndexUnavailable) {
			t.Errorf("custom ones alone: %v", err)
		}
		if _, err := s.GetMany(t.Context(), []index.Key{customKey("x")}, index.Known); !apierror.Is(err, apierror.CodeIndexUnavailable) {
			t.Errorf("one: %v", err)
		}
	}
}

// TestCustomAfterAChange: a consistency token waits for the projection, and hides nothing.
func TestCustomAfterAChange(t *testing.T) {
	w := withCustom(t)
	ctx := consistency.With(t.Context(), []consistency.Version{{Instance: "alpha"}})
	page, err := w.List(ctx, workloadsAnd(&index.Custom{}, fiveTypes...))
	if err != nil || namesOf(page) != "a b c d e x y" {
		t.Errorf("got %s, %v", namesOf(page), err)
	}
}
