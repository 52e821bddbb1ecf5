package write

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kairship-io/kairship/pkg/apierror"
)

var (
	deployments = Kind{GroupVersionResource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, Kind: "Deployment", Namespaced: true}
	secrets     = Kind{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, Kind: "Secret", Namespaced: true}
)

func TestPaths(t *testing.T) {
	p := Paths{"": "input", "spec": "input.spec", "metadata.name": "input.name", "metadata.labels": "input.labels!"}
	for _, tt := range []struct{ field, want, why string }{
		{"spec.replicas", "input.spec.replicas", "the input is shaped like the object"},
		{"spec", "input.spec", "all of it"},
		{"spec.a[1].b", "input.spec.a[1].b", "lists too"},
		{"specification", "input.specification", "a name that begins alike is another field"},
		{"metadata.name", "input.name", "the longest counts"},
		{"metadata.labels[a/b]", "input.labels", "a list of pairs has no place for a key"},
		{".spec.replicas", "input.spec.replicas", "field managers' conflicts begin with a dot"},
		{"", "input", "the object as a whole"},
	} {
		if got := p.Argument(tt.field); got != tt.want {
			t.Errorf("%q: %q, want %q: %s", tt.field, got, tt.want, tt.why)
		}
	}
	if got := (Paths{"": "input.manifests[2]"}).Argument("spec.x"); got != "input.manifests[2].spec.x" {
		t.Errorf("got %q", got)
	}
	if got := Paths(nil).Argument("spec"); got != "input" {
		t.Errorf("got %q", got)
	}
}

func TestTranslate(t *testing.T) {
	gk := schema.GroupKind{Group: "apps", Kind: "Deployment"}
	gr := deployments.GroupResource()
	paths := Paths{"": "input", "spec.replicas": "input.replicas", "metadata.name": "input.name", "metadata.namespace": "input.namespace", "metadata.resourceVersion": "input.resourceVersion"}
	owned := apierrors.NewApplyConflict([]metav1.StatusCause{{Type: metav1.CauseTypeFieldManagerConflict, Field: ".spec.replicas", Message: `conflict with "kubectl" using apps/v1`}}, "Apply failed")
	terminating := apierrors.NewForbidden(gr, "web", errors.New("unable to create new content"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: "NamespaceTerminating", Field: "metadata.namespace"}}
	for _, tt := range []struct {
		name     string
		err      error
		kind     Kind
		code     apierror.Code
		argument string
		has      []string
		hasNot   []string
		why      string
	}{
		{name: "invalid", err: apierrors.NewInvalid(gk, "web", field.ErrorList{field.Invalid(field.NewPath("spec", "replicas"), -1, "must be positive")}),
			code: apierror.CodeInvalid, argument: "input.replicas", has: []string{"must be positive"}},
		{name: "two are invalid", err: apierrors.NewInvalid(gk, "web", field.ErrorList{
			field.Required(field.NewPath("spec", "selector"), ""), field.Invalid(field.NewPath("spec", "replicas"), -1, "must be positive"),
		}), code: apierror.CodeInvalid, argument: "input.spec.selector", has: []string{"input.replicas"}, why: "all of them are told"},
		{name: "secret", kind: secrets, err: apierrors.NewInvalid(schema.GroupKind{Kind: "Secret"}, "web", field.ErrorList{field.Invalid(field.NewPath("data"), "hunter2", "too short")}),
			code: apierror.CodeInvalid, argument: "input.data", hasNot: []string{"hunter2"}, why: "a value may be one that the caller may not read"},
		{name: "bad secret", kind: secrets, err: apierrors.NewBadRequest(`cannot decode "hunter2"`), code: apierror.CodeInvalid, argument: "input", hasNot: []string{"hunter2"}},
		{name: "unknown field", err: apierrors.NewBadRequest(`strict decoding error: unknown field "spec.replica"`),
			code: apierror.CodeInvalid, argument: "input.spec.replica", has: []string{"unknown field"}},
		{name: "moved", err: apierrors.NewConflict(gr, "web", errors.New("the object has been modified")), code: apierror.CodeConflict, argument: "input.resourceVersion"},
		{name: "owned by others", err: owned, code: apierror.CodeConflict, argument: "input.replicas", has: []string{`"kubectl"`, "force"}},
		{name: "exists", err: apierrors.NewAlreadyExists(gr, "web"), code: apierror.CodeAlreadyExists, argument: "input.name", has: []string{"shop/web"}},
		{name: "missing", err: apierrors.NewNotFound(gr, "web"), code: apierror.CodeNotFound, argument: "input.name"},
		{name: "missing namespace", err: apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "shop"), code: apierror.CodeNotFound, argument: "input.namespace", has: []string{"Namespace"}},
		{name: "rbac", err: apierrors.NewForbidden(gr, "web", errors.New(`User "alice" cannot patch resource`)), code: apierror.CodeForbidden,
			has: []string{"change deployments.apps", "shop"}, hasNot: []string{"alice"}, why: "the text of RBAC tells more than is needed"},
		{name: "webhook", err: &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: 400, Reason: "BadRequest",
			Message: `admission webhook "x.karmada.io" denied the request: spec.placement.clusterTolerations: Invalid value: no`}},
			code: apierror.CodeInvalid, argument: "input.spec.placement.clusterTolerations", hasNot: []string{"x.karmada.io"}, why: "webhooks name fields as Kubernetes does"},
		{name: "webhook that forbids", err: apierrors.NewForbidden(gr, "web", errors.New(`admission webhook "x" denied the request: it is protected`)), code: apierror.CodeForbidden, has: []string{"it is protected"}},
		{name: "terminating", err: terminating, code: apierror.CodeConflict, argument: "input.namespace"},
		{name: "busy", err: apierrors.NewTooManyRequests("later", 1), code: apierror.CodeRateLimited},
		{name: "failing", err: apierrors.NewInternalError(errors.New("failed calling webhook at https://10.0.0.1")), code: apierror.CodeInstanceUnavailable, hasNot: []string{"10.0.0.1"}},
		{name: "apply of an unknown field", err: apierrors.NewInternalError(errors.New(`failed to create typed patch object (shop/web; apps/v1, Kind=Deployment): .spec.replica: field not declared in schema`)),
			code: apierror.CodeInvalid, argument: "input.spec.replica", has: []string{"unknown field"}, why: "Kubernetes calls it an internal error"},
		{name: "apply of a wrong type", err: apierrors.NewInternalError(errors.New(`failed to create typed patch object (shop/web; /v1, Kind=Secret): .spec.replicas: expected numeric (int or float), got &value.valueUnstructured{Value:"hunter2"}`)),
			code: apierror.CodeInvalid, argument: "input.replicas", has: []string{"expected numeric"}, hasNot: []string{"hunter2"}},
		{name: "our own", err: apierror.New(apierror.CodeRateLimited, "too much"), code: apierror.CodeRateLimited, has: []string{"too much"}},
		{name: "connection", err: errors.New("dial tcp 10.0.0.1"), code: apierror.CodeInstanceUnavailable, hasNot: []string{"10.0.0.1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			kind := tt.kind
			if kind.Kind == "" {
				kind = deployments
			}
			got := Translate("alpha", tt.err, kind, http.MethodPatch, "shop", "web", paths)
			e, ok := errors.AsType[*apierror.Error](got)
			if !ok {
				t.Fatalf("got %T: %v", got, got)
			}
			if diff := cmp.Diff([]string{string(tt.code), tt.argument, "alpha"}, []string{string(e.Code), e.Argument, e.Instance}); diff != "" {
				t.Errorf("%s (%s): %s", e.Message, tt.why, diff)
			}
			for _, part := range tt.has {
				if !strings.Contains(e.Message, part) {
					t.Errorf("%q does not say %q", e.Message, part)
				}
			}
			for _, part := range tt.hasNot {
				if strings.Contains(e.Message, part) {
					t.Errorf("%q says %q: %s", e.Message, part, tt.why)
				}
			}
		})
	}
}
