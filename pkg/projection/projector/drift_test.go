package projector

import (
	"testing"

	"github.com/kairship-io/kairship/pkg/projection/projectiontest"
)

// TestDrift: the row of a workload reports whether an object differs from what Karmada sent, after each change of
// what this follows from.
func TestDrift(t *testing.T) {
	customization := func(version, kind string) projectiontest.Object {
		return projectiontest.Object{
			Cluster: "k-alpha", Group: "config.karmada.io", Version: "v1alpha1", Resource: "resourceinterpretercustomizations", Name: "own", UID: "own", ResourceVersion: version,
			Text: `{"metadata":{"name":"own"},"spec":{"target":{"apiVersion":"apps/v1","kind":"` + kind + `"},"customizations":{"retention":{"luaScript":"x"}}}}`,
		}
	}
	const sent, found = `"revisionHistoryLimit": 10`, `"revisionHistoryLimit": 9`
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		w := newWorld(t, index)
		c := load(t, "frontend")
		w.save(t, c)
		w.is(t, "at first", c)
		for _, step := range []struct {
			reason  string
			do      func()
			drifted bool
		}{
			{"an object has another value", func() { index.Save(t, c.change(t, "object-m2", sent, found)) }, true},
			{"a customization retains fields of another kind", func() { index.Save(t, customization("1", "StatefulSet")) }, true},
			{"a customization retains fields of the kind", func() { index.Save(t, customization("2", "Deployment")) }, false},
			{"the customization is deleted", func() { index.Delete(t, customization("2", "Deployment")) }, true},
			{"the member is joined to another instance", func() { w.collect(t, "m1", "alpha", false, "m2", "beta", false) }, false},
			{"it is back, and not followed", func() { w.collect(t, "m1", "alpha", false, "m2", "alpha", true) }, true},
			{"the Work has that value", func() { index.Save(t, c.change(t, "work-m2", sent, found)) }, false},
			{"the Work has the value before", func() { index.Save(t, c.change(t, "work-m2", found, sent)) }, true},
			{"the Work is deleted", func() { index.Delete(t, c.objects["work-m2"]) }, false},
			{"the Work is there again", func() { index.Save(t, c.objects["work-m2"]) }, true},
			{"the object is another owner's", func() {
				index.Save(t, c.change(t, "object-m2", `"resourcebinding.karmada.io/permanent-id": "`, `"resourcebinding.karmada.io/permanent-id": "other-`))
			}, false},
			{"the object is deleted", func() { index.Delete(t, c.objects["object-m2"]) }, false},
		} {
			step.do()
			w.drain(t)
			if row := w.row(t, c.key); row.Drifted != step.drifted {
				t.Errorf("%s: drifted is %v", step.reason, row.Drifted)
			}
			w.agrees(t, step.reason, 0)
		}
	})
}
