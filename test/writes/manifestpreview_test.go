package writes

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// manifestPreview is what the tests read of a preview of manifests.
type manifestPreview struct {
	Fingerprint                         string
	Manifests, Failed, Changed, Created int
	Items                               []struct {
		Kind, Namespace, Name, ClusterName, Effect string
		Fields                                     []struct {
			Path          string
			Before, After *string
		}
	}
}

const manifestPreviewFields = `fingerprint manifests failed changed created
	items(first: 500, effects: [FAILED, CHANGED, CREATED]) { kind namespace name clusterName effect fields { path before after } }`

// manifestsOf asks for a preview of manifests.
func manifestsOf(ctx context.Context, as *gql.Client, field, typ string, input map[string]any) (*manifestPreview, error) {
	type answer struct {
		Instance struct{ Preview *manifestPreview }
	}
	data, _, err := gql.Query[answer](ctx, as, fmt.Sprintf(`query($input: %s!) { instance(name: "alpha") { preview: %s(input: $input) { %s } } }`, typ, field, manifestPreviewFields), map[string]any{"input": input})
	return data.Instance.Preview, err
}

// overridePreview previews a change of the scene's policy, until the preview has some manifests that change: the
// index lags.
func (s *policyScene) overridePreview(t *testing.T, k policyKind, change string, spec map[string]any, changed int) *manifestPreview {
	t.Helper()
	in := map[string]any{"change": change, "name": s.name(k), "spec": spec}
	if k.namespaced {
		in["namespace"] = s.namespace
	}
	var found *manifestPreview
	poll.Until(t, within, "the preview is as expected", func(ctx context.Context) (err error) {
		if found, err = manifestsOf(ctx, s.alice, "overridePreview", "OverridePreviewInput", in); err == nil && (found.Changed != changed || found.Manifests != 2) {
			err = fmt.Errorf("it is %+v", found)
		}
		return err
	})
	return found
}

// comesTrue waits until the objects in the members are what a preview says.
func (s *policyScene) comesTrue(t *testing.T, p *manifestPreview) {
	t.Helper()
	for _, item := range p.Items {
		poll.Until(t, arrives, fmt.Sprintf("%s in %s is what was previewed", item.Name, item.ClusterName), func(ctx context.Context) error {
			u := &unstructured.Unstructured{}
			u.SetAPIVersion("v1")
			u.SetKind(item.Kind)
			if err := s.Client(t, item.ClusterName).Get(ctx, client.ObjectKey{Namespace: item.Namespace, Name: item.Name}, u); err != nil {
				return err
			}
			for _, f := range item.Fields {
				var want any
				if f.After != nil {
					if err := json.Unmarshal([]byte(*f.After), &want); err != nil {
						return err
					}
				}
				if got := at(u.Object, f.Path); !reflect.DeepEqual(got, want) {
					return fmt.Errorf("%s is %v, not %v", f.Path, got, want)
				}
			}
			return nil
		})
	}
}

// at is the value at a JSON pointer; nil for none.
func at(value any, pointer string) any {
	for segment := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		segment = strings.NewReplacer("~1", "/", "~0", "~").Replace(segment)
		switch node := value.(type) {
		case map[string]any:
			value = node[segment]
		case []any:
			i, err := strconv.Atoi(segment)
			if err != nil || i >= len(node) {
				return nil
			}
			value = node[i]
		default:
			return nil
		}
	}
	return value
}

// What a change of an override policy makes of the manifests is what its preview says, and a change that would do
// something else than expected is refused.
func TestOverridePoliciesDoWhatIsExpected(t *testing.T) {
	t.Parallel()
	for _, k := range []policyKind{op, cop} {
		t.Run(k.name, func(t *testing.T) {
			s := newPolicyScene(t)
			s.cleanUp(t, k)
			s.cleanUp(t, pp)
			mustWrite(t, s.alice, "create", pp, s.input(pp, map[string]any{"spec": s.to("m1", "m2")}))
			s.color(t, "m1", "blue")
			s.color(t, "m2", "blue")

			red := s.overridePreview(t, k, "CREATE", s.painted("m1", "red"), 1)
			other := s.overridePreview(t, k, "CREATE", s.painted("m1", "green"), 1).Fingerprint
			if len(red.Items) != 1 || red.Items[0].ClusterName != "m1" || red.Items[0].Effect != "CHANGED" || len(red.Items[0].Fields) != 1 ||
				red.Items[0].Fields[0].Path != "/data/color" || *red.Items[0].Fields[0].Before != `"blue"` || *red.Items[0].Fields[0].After != `"red"` {
				t.Errorf("the preview is %+v", red)
			}
			create := s.input(k, map[string]any{"spec": s.painted("m1", "red")})
			refusedWrite(t, s.alice, "create", k, with(create, "expect", other), "CONFLICT", "input.expect")
			s.unchanged(t, k, nil)
			mustWrite(t, s.alice, "create", k, with(create, "expect", red.Fingerprint))
			s.comesTrue(t, red)

			green := s.overridePreview(t, k, "UPDATE", s.painted("m2", "green"), 2)
			update := func() map[string]any {
				return s.input(k, map[string]any{"spec": s.painted("m2", "green"), "resourceVersion": s.stored(t, k).GetResourceVersion()})
			}
			refusedWrite(t, s.alice, "update", k, with(update(), "expect", other), "CONFLICT", "input.expect")
			mustWrite(t, s.alice, "update", k, with(update(), "expect", green.Fingerprint))
			s.comesTrue(t, green)

			blue := s.overridePreview(t, k, "DELETE", nil, 1)
			remove := s.input(k, map[string]any{"allowInUse": true})
			refusedWrite(t, s.alice, "delete", k, with(remove, "expect", other), "CONFLICT", "input.expect")
			mustWrite(t, s.alice, "delete", k, with(remove, "expect", blue.Fingerprint))
			s.comesTrue(t, blue)
			s.color(t, "m2", "blue")
		})
	}
}

// What applying manifests makes of them in the members is what its preview says.
func TestManifestsDoWhatIsPreviewed(t *testing.T) {
	t.Parallel()
	s := newPolicyScene(t)
	mustWrite(t, s.alice, "create", pp, s.input(pp, map[string]any{"spec": s.to("m1", "m2")}))
	mustWrite(t, s.alice, "create", op, s.input(op, map[string]any{"spec": s.painted("m1", "red")}))
	s.color(t, "m1", "red")
	s.color(t, "m2", "blue")
	manifests := fmt.Sprintf(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "data", "namespace": %q, "labels": {"more": "yes"}}, "data": {"color": "yellow", "size": "1"}}`, s.namespace)
	input := map[string]any{"manifests": manifests, "force": true}
	var preview *manifestPreview
	poll.Until(t, within, "the preview has both clusters", func(ctx context.Context) (err error) {
		if preview, err = manifestsOf(ctx, s.alice, "applyPreview", "ApplyPreviewInput", input); err == nil && (preview.Changed != 2 || preview.Manifests != 2) {
			err = fmt.Errorf("it is %+v", preview)
		}
		return err
	})
	for _, item := range preview.Items {
		for _, f := range item.Fields {
			if item.ClusterName == "m1" && f.Path == "/data/color" {
				t.Error("the override is lost in the preview")
			}
		}
	}
	must[map[string]any](t, s.alice, "applyManifests", but(input, "instance", "alpha"), "applied")
	s.comesTrue(t, preview)
	s.color(t, "m1", "red")
	s.color(t, "m2", "yellow")
}
