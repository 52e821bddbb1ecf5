package resources

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/write"
	"github.com/kairship-io/kairship/pkg/fleet/write/writetest"
)

const configMapsPath = "/api/v1/namespaces/shop/configmaps/"

func newInstance(t *testing.T) (*writetest.Instance, *Service) {
	t.Helper()
	i, w := writetest.New(t, metav1.APIResource{Version: "v1", Name: "configmaps", Kind: "ConfigMap", Namespaced: true})
	return i, &Service{Writer: w}
}

func configMap(name, value string) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": name, "namespace": "shop"}, "data": map[string]any{"key": value},
	}
}

func manifest(names ...string) string {
	var text strings.Builder
	for _, name := range names {
		fmt.Fprintf(&text, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: shop}\ndata: {key: new}\n---\n", name)
	}
	return text.String()
}

// resultsOf returns the results as text, in the order of the input.
func resultsOf(t *WriteResult) string {
	var parts []string
	for _, r := range t.Results {
		part := r.Name + " " + string(r.Action)
		if r.Rollback != nil {
			part += " " + string(r.Rollback.Outcome)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

var forbidden = apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "x", errors.New("quota"))

func writing(r *http.Request, path, method, name string) bool {
	return r.Method == method && strings.HasSuffix(path, "/"+name) && r.URL.Query().Get("dryRun") == ""
}

// changed is an object with another value, as another client would write it.
func changed(i *writetest.Instance, name, value string) {
	u := (&unstructured.Unstructured{Object: i.Objects[configMapsPath+name]}).DeepCopy()
	_ = unstructured.SetNestedField(u.Object, value, "data", "key")
	i.Put(configMapsPath+name, u.Object)
}

// `fresh` is created and `old` is changed before `last` fails. The result describes each of them,
// whatever happened meanwhile.
func TestUndo(t *testing.T) {
	for _, tt := range []struct {
		reason string
		// meanwhile happens at a request, before it is answered.
		meanwhile func(i *writetest.Instance, r *http.Request, path string) error
		want      string
		// left is what the objects hold at last; those that were deleted are left out.
		left map[string]string
	}{
		{
			"nothing else happens", nil,
			"fresh CREATED DELETED, old CONFIGURED RESTORED, last FAILED", map[string]string{"old": "was"},
		},
		{
			"another client deletes what was created", func(i *writetest.Instance, r *http.Request, path string) error {
				if writing(r, path, http.MethodDelete, "fresh") {
					delete(i.Objects, configMapsPath+"fresh")
				}
				return nil
			},
			"fresh CREATED KEPT, old CONFIGURED RESTORED, last FAILED", map[string]string{"old": "was"},
		},
		{
			"another client makes another one of the name", func(i *writetest.Instance, r *http.Request, path string) error {
				if writing(r, path, http.MethodDelete, "fresh") {
					i.Put(configMapsPath+"fresh", configMap("fresh", "theirs"))
				}
				return nil
			},
			"fresh CREATED KEPT, old CONFIGURED RESTORED, last FAILED", map[string]string{"fresh": "theirs", "old": "was"},
		},
		{
			"another client changes what was changed", func(i *writetest.Instance, r *http.Request, path string) error {
				if writing(r, path, http.MethodPatch, "last") {
					changed(i, "old", "theirs")
				}
				return nil
			},
			"fresh CREATED DELETED, old CONFIGURED KEPT, last FAILED", map[string]string{"old": "theirs"},
		},
		{
			"another client deletes what was changed", func(i *writetest.Instance, r *http.Request, path string) error {
				if writing(r, path, http.MethodPatch, "last") {
					delete(i.Objects, configMapsPath+"old")
				}
				return nil
			},
			"fresh CREATED DELETED, old CONFIGURED KEPT, last FAILED", nil,
		},
		{
			"another client puts another one in the place of what was changed", func(i *writetest.Instance, r *http.Request, path string) error {
				if writing(r, path, http.MethodPatch, "last") {
					i.Put(configMapsPath+"old", configMap("old", "new"))
				}
				return nil
			},
			"fresh CREATED DELETED, old CONFIGURED KEPT, last FAILED", map[string]string{"old": "new"},
		},
		{
			"Karmada notes something in the meantime, which does not count as a change", func(i *writetest.Instance, r *http.Request, path string) error {
				if writing(r, path, http.MethodPatch, "last") {
					u := (&unstructured.Unstructured{Object: i.Objects[configMapsPath+"old"]}).DeepCopy()
					u.SetAnnotations(map[string]string{"propagationpolicy.karmada.io/name": "p"})
					i.Put(configMapsPath+"old", u.Object)
				}
				return nil
			},
			"fresh CREATED DELETED, old CONFIGURED RESTORED, last FAILED", map[string]string{"old": "was"},
		},
		{
			"it may not be undone", func(_ *writetest.Instance, r *http.Request, path string) error {
				if writing(r, path, http.MethodDelete, "fresh") || writing(r, path, http.MethodPut, "old") {
					return forbidden
				}
				return nil
			},
			"fresh CREATED FAILED, old CONFIGURED FAILED, last FAILED", map[string]string{"fresh": "new", "old": "new"},
		},
		{
			"the instance gives no answer when it is undone", func(_ *writetest.Instance, r *http.Request, path string) error {
				if writing(r, path, http.MethodDelete, "fresh") {
					panic(http.ErrAbortHandler)
				}
				return nil
			},
			"fresh CREATED FAILED, old CONFIGURED RESTORED, last FAILED", map[string]string{"fresh": "new", "old": "was"},
		},
		{
			"the instance stores the last one and gives no answer", func(i *writetest.Instance, r *http.Request, path string) error {
				if writing(r, path, http.MethodPatch, "last") {
					i.Put(configMapsPath+"last", configMap("last", "new"))
					panic(http.ErrAbortHandler)
				}
				return nil
			},
			"fresh CREATED DELETED, old CONFIGURED RESTORED, last FAILED UNKNOWN", map[string]string{"old": "was", "last": "new"},
		},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			i, s := newInstance(t)
			i.Put("/api/v1/namespaces/shop", map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "shop"}})
			i.Put(configMapsPath+"old", configMap("old", "was"))
			i.Before = func(r *http.Request, path string) error {
				if tt.meanwhile != nil {
					if err := tt.meanwhile(i, r, path); err != nil {
						return err
					}
				}
				if writing(r, path, http.MethodPatch, "last") {
					return forbidden
				}
				return nil
			}
			got := s.mustWrite(t, writetest.As(t.Context()), manifest("fresh", "old", "last"), WriteOptions{Rollback: true})
			if diff := cmp.Diff(tt.want, resultsOf(got)); diff != "" || got.Done || !got.Written {
				t.Errorf("(-want +got):\n%s%+v", diff, got)
			}
			for _, r := range got.Results {
				u := r.Rollback
				if u == nil {
					continue
				}
				if (u.Outcome == UndoFailed) != (u.Error != nil) || (u.Outcome == UndoKept || u.Outcome == UndoUnknown) != (u.Message != nil) {
					t.Errorf("%s: why %s? %v, %v", r.Name, u.Outcome, u.Message, u.Error)
				}
			}
			left := map[string]string{}
			for _, name := range []string{"fresh", "old", "last"} {
				if u := i.Get(configMapsPath + name); u != nil {
					left[name], _, _ = unstructured.NestedString(u.Object, "data", "key")
				}
			}
			if tt.left == nil {
				tt.left = map[string]string{}
			}
			if diff := cmp.Diff(tt.left, left); diff != "" {
				t.Errorf("what is left (-want +got):\n%s", diff)
			}
		})
	}
}

// What holds numbers is restored as what holds none: it was not changed since.
func TestUndoOfNumbers(t *testing.T) {
	const at = "/apis/apps/v1/namespaces/shop/deployments/"
	i, w := writetest.New(t, metav1.APIResource{Group: "apps", Version: "v1", Name: "deployments", Kind: "Deployment", Namespaced: true})
	i.Put(at+"web", map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "web", "namespace": "shop"},
		"spec": map[string]any{"replicas": int64(2), "template": map[string]any{"spec": map[string]any{"terminationGracePeriodSeconds": int64(30)}}},
	})
	i.Before = func(r *http.Request, path string) error {
		if writing(r, path, http.MethodPatch, "zz") {
			return forbidden
		}
		return nil
	}
	const manifests = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}, spec: {replicas: 3}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: zz, namespace: shop}, spec: {replicas: 1}}
`
	got := (&Service{Writer: w}).mustWrite(t, writetest.As(t.Context()), manifests, WriteOptions{Rollback: true})
	if resultsOf(got) != "web CONFIGURED RESTORED, zz FAILED" {
		t.Errorf("got %s", resultsOf(got))
	}
	if replicas, _, _ := unstructured.NestedInt64(i.Get(at+"web").Object, "spec", "replicas"); replicas != 2 {
		t.Errorf("it has %d replicas, want the 2 of before", replicas)
	}
}

func (s *Service) mustWrite(t *testing.T, ctx context.Context, manifests string, options WriteOptions) *WriteResult { //nolint:revive // t first, as everywhere in tests.
	t.Helper()
	site, err := s.Writer.To(ctx, writetest.Name)
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Write(ctx, site, manifests, nil, options)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// A rollback that has begun completes even if the caller has disconnected.
func TestUndoOutlivesTheCaller(t *testing.T) {
	i, s := newInstance(t)
	ctx, cancel := context.WithCancel(writetest.As(t.Context()))
	i.Before = func(r *http.Request, path string) error {
		if writing(r, path, http.MethodPatch, "last") {
			cancel()
			<-r.Context().Done() // The connection says so.
		}
		return nil
	}
	got := s.mustWrite(t, ctx, manifest("fresh", "last"), WriteOptions{Rollback: true})
	if resultsOf(got) != "fresh CREATED DELETED, last FAILED UNKNOWN" || i.Get(configMapsPath+"fresh") != nil {
		t.Errorf("got %s", resultsOf(got))
	}
}

// Without rollback, and when all goes well, nothing is undone; and a dry run
// writes nothing.
func TestNothingToUndo(t *testing.T) {
	for _, tt := range []struct {
		reason string
		terms  WriteOptions
		fails  bool
		want   string
		sent   []string
	}{
		{"all goes well", WriteOptions{Rollback: true}, false, "a CREATED, b CREATED", []string{"PATCH " + configMapsPath + "a", "PATCH " + configMapsPath + "b"}},
		{"it was not asked for", WriteOptions{}, true, "a CREATED, b FAILED", []string{"PATCH " + configMapsPath + "a"}},
		{"a dry run", WriteOptions{Rollback: true, DryRun: true}, false, "a CREATED, b CREATED", nil},
		{"creations too", WriteOptions{Rollback: true, Create: true}, true, "a CREATED DELETED, b FAILED", []string{"POST " + configMapsPath + "a", "DELETE " + configMapsPath + "a"}},
	} {
		i, s := newInstance(t)
		i.Before = func(r *http.Request, path string) error {
			if tt.fails && (writing(r, path, http.MethodPatch, "b") || writing(r, path, http.MethodPost, "b")) {
				return forbidden
			}
			return nil
		}
		got := s.mustWrite(t, writetest.As(t.Context()), manifest("a", "b"), tt.terms)
		if diff := cmp.Diff(tt.want, resultsOf(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
		if diff := cmp.Diff(tt.sent, i.Written()); diff != "" {
			t.Errorf("%s: what was sent (-want +got):\n%s", tt.reason, diff)
		}
	}
}

// When an instance stops answering between two writes, the result shows which were made, and which
// one may have been.
func TestSilenceBetweenWrites(t *testing.T) {
	i, s := newInstance(t)
	i.Before = func(r *http.Request, path string) error {
		if writing(r, path, http.MethodPatch, "b") {
			panic(http.ErrAbortHandler)
		}
		return nil
	}
	got := s.mustWrite(t, writetest.As(t.Context()), manifest("a", "b", "c"), WriteOptions{})
	if resultsOf(got) != "a CREATED, b FAILED, c SKIPPED" || got.Results[1].Error.Code != string(apierror.CodeInstanceUnavailable) {
		t.Errorf("got %s, %+v", resultsOf(got), got.Results[1].Error)
	}
}

// An object that moves while its state is read is read again; one that was made
// by others in between is theirs.
func TestWhatWasThereIsReadBefore(t *testing.T) {
	i, s := newInstance(t)
	i.Put(configMapsPath+"old", configMap("old", "was"))
	moves := 3
	i.Before = func(r *http.Request, path string) error {
		switch {
		case writing(r, path, http.MethodPatch, "old") && moves > 0:
			moves--
			changed(i, "old", fmt.Sprint("moved ", moves))
		case writing(r, path, http.MethodPatch, "theirs"):
			if i.Objects[path] == nil {
				i.Put(path, configMap("theirs", "x"))
			}
		case writing(r, path, http.MethodPatch, "z-last"):
			return forbidden
		}
		return nil
	}
	got := s.mustWrite(t, writetest.As(t.Context()), manifest("old", "theirs", "z-last"), WriteOptions{Rollback: true})
	if resultsOf(got) != "old CONFIGURED RESTORED, theirs CONFIGURED KEPT, z-last FAILED" {
		t.Errorf("got %s", resultsOf(got))
	}
	if value, _, _ := unstructured.NestedString(i.Get(configMapsPath+"old").Object, "data", "key"); value != "moved 0" {
		t.Errorf("it was given %q again, want what it held just before", value)
	}
}

// A rollback gives an object's fields back to their previous managers, and keeps managers that were
// added since.
func TestFieldsAreGivenBack(t *testing.T) {
	entry := func(manager string, operation metav1.ManagedFieldsOperationType) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: operation, APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{Raw: []byte("{}")}}
	}
	i, s := newInstance(t)
	old := &unstructured.Unstructured{Object: configMap("old", "was")}
	old.SetManagedFields([]metav1.ManagedFieldsEntry{entry("kubectl", "Apply"), entry("kairship", "Apply")})
	i.Put(configMapsPath+"old", old.Object)
	moves := 2
	i.Before = func(r *http.Request, path string) error {
		switch {
		case writing(r, path, http.MethodPatch, "zz"):
			return forbidden
		case writing(r, path, http.MethodPut, "old"):
			// What an apiserver makes of it, and Karmada beside it.
			u := (&unstructured.Unstructured{Object: i.Objects[path]}).DeepCopy()
			u.SetManagedFields([]metav1.ManagedFieldsEntry{entry("kairship", "Apply"), entry("kairship", "Update"), entry("karmada", "Update")})
			i.Objects[path] = u.Object
		case r.Method == http.MethodPatch && strings.HasPrefix(r.Header.Get("Content-Type"), "application/merge-patch") && moves > 0:
			moves--
			i.Put(path, (&unstructured.Unstructured{Object: i.Objects[path]}).DeepCopy().Object)
		}
		return nil
	}
	got := s.mustWrite(t, writetest.As(t.Context()), manifest("old", "zz"), WriteOptions{Rollback: true})
	if resultsOf(got) != "old CONFIGURED RESTORED, zz FAILED" {
		t.Errorf("got %s", resultsOf(got))
	}
	var now []string
	for _, m := range i.Get(configMapsPath + "old").GetManagedFields() {
		now = append(now, m.Manager+" "+string(m.Operation))
	}
	if diff := cmp.Diff([]string{"kubectl Apply", "kairship Apply"}, now); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	since := managers([]metav1.ManagedFieldsEntry{entry("kubectl", "Apply")}, []metav1.ManagedFieldsEntry{entry("kubectl", "Apply"), entry("karmada", "Update"), entry("kairship", "Update")})
	if diff := cmp.Diff([]metav1.ManagedFieldsEntry{entry("kubectl", "Apply"), entry("karmada", "Update")}, since); diff != "" {
		t.Errorf("who came since (-want +got):\n%s", diff)
	}
}

func TestMoved(t *testing.T) {
	for reason, tt := range map[string]struct {
		err  error
		want bool
	}{
		"another version":       {apierrors.NewConflict(schema.GroupResource{}, "x", errors.New("moved")), true},
		"others own the fields": {apierrors.NewApplyConflict([]metav1.StatusCause{{Type: metav1.CauseTypeFieldManagerConflict, Field: ".data", Message: "conflict"}}, "x"), false},
		"not allowed":           {forbidden, false},
	} {
		translated := write.Translate("alpha", tt.err, write.Kind{Kind: "ConfigMap"}, http.MethodPatch, "shop", "x", nil)
		if got := moved(translated); got != tt.want {
			t.Errorf("%s: got %t", reason, got)
		}
	}
	if moved(errors.New("bug")) || moved(nil) {
		t.Error("what is no conflict is taken for one")
	}
}
