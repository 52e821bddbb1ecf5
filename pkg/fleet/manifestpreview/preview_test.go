package manifestpreview

import (
	"testing"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/preview"
	"github.com/kairship-io/kairship/pkg/fleet/whatif/manifest"
	"github.com/kairship-io/kairship/pkg/fleet/write/specs"
)

func stored(namespace string, selectors ...any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"resourceSelectors": selectors}}}
	u.SetNamespace(namespace)
	u.SetName("a")
	return u
}

func selector(kind, name string) map[string]any {
	return map[string]any{"apiVersion": "apps/v1", "kind": kind, "name": name}
}

// TestChangeSelectsBeforeAndAfter checks that an object is compared which the policy selects on either side.
func TestChangeSelectsBeforeAndAfter(t *testing.T) {
	c, err := changeOf(&specs.Tried{Before: stored("shop", selector("Deployment", "old")), After: stored("shop", selector("Deployment", "new"))})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"old": true, "new": true, "other": false} {
		if got := c.maySelect(&workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: name}); got != want {
			t.Errorf("%s is selected: %v", name, got)
		}
		u := stored("shop")
		u.SetAPIVersion("apps/v1")
		u.SetKind("Deployment")
		u.SetName(name)
		if got := c.selects(u); got != want {
			t.Errorf("the template %s is selected: %v", name, got)
		}
	}
	all, err := changeOf(&specs.Tried{After: stored("")})
	if err != nil || all.before != nil || all.after == nil {
		t.Fatalf("%+v, %v", all, err)
	}
	if !all.maySelect(&workv1alpha2.ObjectReference{APIVersion: "v1", Kind: "ConfigMap"}) {
		t.Error("a policy without selectors does not select everything")
	}
	if same(c.before, all.after) || !same(c.before, c.after) {
		t.Error("policies of two kinds are taken for the same")
	}
}

func TestItems(t *testing.T) {
	p := &Preview{}
	p.finish([]manifest.Comparison{{Cluster: "b", Effect: manifest.EffectUnchanged}, {Cluster: "a", Effect: manifest.EffectChanged}, {Cluster: "c", Effect: manifest.EffectFailed, Message: "no"}})
	if p.Manifests != 3 || p.Failed != 1 || p.Changed != 1 || p.Unchanged != 1 || p.Created != 0 || p.Fingerprint == "" || p.Assumptions == nil {
		t.Errorf("%+v", p)
	}
	items, err := p.Items(new(2), nil)
	if err != nil || len(items) != 2 || items[0].Cluster != "c" || *items[0].MessageOrNil() != "no" || items[1].Cluster != "a" || items[1].MessageOrNil() != nil {
		t.Errorf("%+v, %v", items, err)
	}
	if items, err = p.Items(nil, []manifest.Effect{manifest.EffectUnchanged}); err != nil || len(items) != 1 || items[0].Cluster != "b" {
		t.Errorf("%+v, %v", items, err)
	}
	if _, err := p.Items(new(0), nil); !apierror.Is(err, apierror.CodeInvalid) {
		t.Errorf("none: %v", err)
	}
}

// TestSpecFitsTheChange checks what is refused before the instance is asked.
func TestSpecFitsTheChange(t *testing.T) {
	for verb := range verbs {
		in := OverrideInput{Verb: verb, Name: "a"}
		if verb == preview.Delete {
			continue
		}
		if _, err := (&Service{}).Override(t.Context(), "alpha", in); !apierror.Is(err, apierror.CodeInvalid) {
			t.Errorf("%s without spec: %v", verb, err)
		}
	}
	if verbs[preview.Create] != authz.VerbCreate {
		t.Error("the verbs are mixed up")
	}
}
