package kube

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestPassing(t *testing.T) {
	gr := schema.GroupResource{Group: "apps", Resource: "deployments"}
	for _, tc := range []struct {
		err    error
		want   bool
		reason string
	}{
		{&url.Error{Op: "Get", Err: errors.New("connection refused")}, true, "the apiserver is starting"},
		{apierrors.NewNotFound(gr, "x"), true, "the CRD or the namespace is not there yet"},
		{apierrors.NewServiceUnavailable("x"), true, "an aggregated apiserver is starting"},
		{apierrors.NewInternalError(errors.New("failed calling webhook: connection refused")), true, "a webhook is starting"},
		{apierrors.NewForbidden(gr, "x", errors.New("RBAC: clusterrole not found")), true, "default roles are still being made"},
		{apierrors.NewForbidden(gr, "x", errors.New(`admission webhook "w" denied the request: no`)), false, "a refusal stays one"},
		{apierrors.NewInvalid(schema.GroupKind{Kind: "X"}, "x", nil), false, "the same object stays invalid"},
		{apierrors.NewBadRequest("x"), false, "the same request stays bad"},
		{apierrors.NewUnauthorized("x"), false, "the credentials do not change"},
	} {
		if got := passing(tc.err); got != tc.want {
			t.Errorf("passing(%v) = %t, want %t: %s", tc.err, got, tc.want, tc.reason)
		}
	}
}

func TestUntilSaysWhyItEnded(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause, missing := errors.New("gave up after 90s"), errors.New("not ready")
	calls := 0
	err := Until(ctx, func() error {
		calls++
		if calls == 2 {
			cancel(cause)
		}
		return missing
	})
	if !errors.Is(err, cause) || !errors.Is(err, missing) {
		t.Errorf("Until ended with %v, want the context's cause and the last answer", err)
	}
	stop := errors.New("final")
	if err := Until(t.Context(), func() error { return fmt.Errorf("wrapped: %w", Final(stop)) }); !errors.Is(err, stop) {
		t.Errorf("a final error gave %v", err)
	}
	failures := 2
	err = Until(t.Context(), func() error {
		failures--
		if failures >= 0 {
			return missing
		}
		return nil
	})
	if err != nil {
		t.Errorf("a failure that passed gave %v", err)
	}
}

func TestParse(t *testing.T) {
	objects, err := Parse([]byte("# a comment first\n---\nkind: A\nmetadata: {name: a}\n---\n---\nkind: B\nmetadata: {name: b, namespace: ns}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if len(objects) != 2 || describe(objects[0]) != "A a" || describe(objects[1]) != "B ns/b" {
		t.Errorf("objects: %v, want A a and B ns/b, without the empty documents", objects)
	}
	for text, want := range map[string]string{
		"kind: A\nmetadata: {}\n":    "no kind or no metadata.name",
		"metadata: {name: a}\n":      "no kind or no metadata.name",
		"kind: A\n  metadata: {name": "yaml",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q): %v, want an error that says %q", text, err, want)
		}
	}
	if _, err := ParseFiles(t.TempDir() + "/*.yaml"); err == nil {
		t.Error("a pattern without a file is a missing download, not an empty set-up")
	}
}

func TestConditionIs(t *testing.T) {
	object := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": []any{
		map[string]any{"type": "Ready", "status": "False", "reason": "Down", "message": "it is down"},
		map[string]any{"type": "Scheduled", "status": "True"},
	}}}}
	if got := ConditionIs(object, "Scheduled", "True"); got != "" {
		t.Errorf("a condition that holds gives %q", got)
	}
	got := ConditionIs(object, "Ready", "True")
	for _, want := range []string{"Ready", "False", "Down", "it is down"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q does not tell the %q of the condition", got, want)
		}
	}
	if got := ConditionIs(object, "Other", "True"); !strings.Contains(got, "Other") {
		t.Errorf("a missing condition gives %q", got)
	}
}

func TestNumber(t *testing.T) {
	object := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"a": int64(3), "b": 4.0, "c": "5"}}}
	for field, want := range map[string]int64{
		"a": 3,
		"b": 4, // as encoding/json decodes it
		"c": 0, // not a number
		"d": 0, // not there: a controller has not counted yet
	} {
		if got := Number(object, "status", field); got != want {
			t.Errorf("Number(%s) = %d, want %d", field, got, want)
		}
	}
}
