package write

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apierror"
)

func TestDeniedOverride(t *testing.T) {
	const words = `"/kind": overrides may change /spec`
	const by = `overridepolicies.policy.karmada.io "x" is forbidden: ValidatingAdmissionPolicy 'overrides.kairship.io' with binding 'overrides.kairship.io' denied request: ` + words
	plaintext := func(path string) map[string]any {
		return map[string]any{"path": path, "operator": "replace", "value": "x"}
	}
	object := map[string]any{"spec": map[string]any{"overrideRules": []any{
		map[string]any{"overriders": map[string]any{"plaintext": []any{plaintext("/data/a"), plaintext("/kind"), plaintext("/apiVersion")}}},
	}}}
	const list = ".spec.overrideRules[0].overriders.plaintext"
	for _, tt := range []struct {
		reason string
		sent   any
		paths  Paths
		want   []string
		says   string
	}{
		{"every fault of the object that was sent", object, Paths{"": "input"}, []string{"input" + list + "[1].path", "input" + list + "[2].path"}, `"/apiVersion": overrides may change /spec`},
		{"a manifest", object, Paths{"": "input.manifests[3]"}, []string{"input.manifests[3]" + list + "[1].path", "input.manifests[3]" + list + "[2].path"}, `"/kind": overrides may change`},
		{"a patch in steps", nil, Paths{"": "input.patch!"}, []string{"input.patch"}, words},
		{"a patch that is an object", nil, Paths{"": "input.patch"}, []string{"input.patch.spec"}, words},
		{"an object in which Kairship finds nothing", map[string]any{"spec": map[string]any{}}, Paths{"": "input"}, []string{"input.spec"}, words},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			status := &apierrors.StatusError{ErrStatus: metav1.Status{
				Status: metav1.StatusFailure, Reason: metav1.StatusReasonInvalid, Code: http.StatusUnprocessableEntity, Message: by,
				Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Message: by}}},
			}}
			about := subject{instance: "alpha", verb: http.MethodPost, kind: Kind{Kind: "OverridePolicy"}, name: "x", paths: tt.paths, sent: tt.sent}
			e, ok := errors.AsType[*apierror.Error](about.translate(status))
			if !ok || e.Code != apierror.CodeInvalid || e.Argument != tt.want[0] || !strings.Contains(e.Message, tt.says) {
				t.Fatalf("got %#v", e)
			}
			if len(e.Fields) == 0 {
				return
			}
			var got []string
			for _, f := range e.Fields {
				got = append(got, f.Argument)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
		})
	}
}
