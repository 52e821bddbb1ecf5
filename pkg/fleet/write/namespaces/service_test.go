package namespaces

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/write/writetest"
)

// A merge patch takes labels away by null, and never the namespace's own name.
func TestReplace(t *testing.T) {
	for _, tt := range []struct {
		reason   string
		from, to map[string]string
		want     map[string]any
	}{
		{"none of none", nil, nil, map[string]any{}},
		{"others", map[string]string{"a": "1", "b": "1"}, map[string]string{"b": "2", "c": "2"}, map[string]any{"a": nil, "b": "2", "c": "2"}},
		{"the name stays", map[string]string{"kubernetes.io/metadata.name": "shop", "a": "1"}, nil, map[string]any{"a": nil}},
		{"what is given of the name is for the instance to refuse", nil, map[string]string{"kubernetes.io/metadata.name": "other"}, map[string]any{"kubernetes.io/metadata.name": "other"}},
	} {
		if diff := cmp.Diff(tt.want, replace(tt.from, tt.to)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}

func TestNamespaces(t *testing.T) {
	i, w := writetest.New(t)
	s := &Service{Writer: w}
	ctx := writetest.As(t.Context())
	twice := []object.Pair{{Key: "a"}, {Key: "a"}}
	for reason, send := range map[string]func() error{
		"input.labels[1].key": func() error {
			_, err := s.Create(ctx, CreateInput{Instance: writetest.Name, Name: "shop", Labels: twice})
			return err
		},
		"input.annotations[1].key": func() error {
			_, err := s.Create(ctx, CreateInput{Instance: writetest.Name, Name: "shop", Annotations: twice})
			return err
		},
		"input.name": func() error {
			_, err := s.Delete(ctx, DeleteInput{Instance: writetest.Name, Name: "../pods"})
			return err
		},
		"input.uid": func() error {
			_, err := s.Delete(ctx, DeleteInput{Instance: writetest.Name, Name: "shop", UID: new(string)})
			return err
		},
	} {
		e, ok := send().(*apierror.Error) //nolint:errorlint // It is returned as it is.
		if !ok || e.Code != apierror.CodeInvalid || e.Argument != reason {
			t.Errorf("got %v, want INVALID at %s", e, reason)
		}
	}
	if sent := i.Written(); len(sent) > 0 {
		t.Errorf("something was written: %v", sent)
	}
	made, err := s.Create(ctx, CreateInput{Instance: writetest.Name, Name: "shop", Labels: []object.Pair{{Key: "a", Value: "1"}, {Key: "b", Value: "1"}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Update(ctx, UpdateInput{Instance: writetest.Name, Name: "shop", ResourceVersion: made.Namespace.ResourceVersion(), Labels: []object.Pair{{Key: "b", Value: "2"}}}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"b": "2"}, i.Get("/api/v1/namespaces/shop").GetLabels()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := s.Update(ctx, UpdateInput{Instance: writetest.Name, Name: "shop", ResourceVersion: made.Namespace.ResourceVersion()}); !apierror.Is(err, apierror.CodeConflict) {
		t.Errorf("based on an earlier version: got %v, want CONFLICT", err)
	}
	for reason, send := range map[string]func() error{
		"update": func() error {
			_, err := s.Update(ctx, UpdateInput{Instance: writetest.Name, Name: "shop"})
			return err
		},
		"delete": func() error {
			_, err := s.Delete(ctx, DeleteInput{Instance: writetest.Name, Name: "shop", ResourceVersion: new(string)})
			return err
		},
	} {
		e, ok := send().(*apierror.Error) //nolint:errorlint // It is returned as it is.
		if !ok || e.Code != apierror.CodeInvalid || e.Argument != "input.resourceVersion" {
			t.Errorf("%s, based on no version: got %v, want INVALID", reason, e)
		}
	}
	uid := "other"
	if _, err := s.Delete(ctx, DeleteInput{Instance: writetest.Name, Name: "shop", UID: &uid}); !apierror.Is(err, apierror.CodeConflict) {
		t.Errorf("another one is meant: got %v, want CONFLICT", err)
	}
	if gone, err := s.Delete(ctx, DeleteInput{Instance: writetest.Name, Name: "shop"}); err != nil || !gone.Deleted {
		t.Errorf("got %+v, %v", gone, err)
	}
}
