package resources

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/write/writetest"
)

// large are integers that no float64 holds.
var large = []string{"9007199254740993", "1700000000123456789"}

// A patch says what it said, to the last digit, whether or not a version is put into it.
func TestVersioned(t *testing.T) {
	version := "7"
	for _, number := range large {
		for _, tt := range []struct {
			of              PatchType
			patch           any
			plain, expected string
		}{
			{
				PatchJSON, []any{map[string]any{"op": "replace", "path": "/spec/n", "value": json.Number(number)}},
				`[{"op":"replace","path":"/spec/n","value":` + number + `}]`,
				`[{"op":"replace","path":"/spec/n","value":` + number + `},{"op":"replace","path":"/metadata/resourceVersion","value":"7"}]`,
			},
			{
				PatchMerge, map[string]any{"spec": map[string]any{"n": json.Number(number)}, "metadata": map[string]any{"generation": json.Number(number)}},
				`{"metadata":{"generation":` + number + `},"spec":{"n":` + number + `}}`,
				`{"metadata":{"generation":` + number + `,"resourceVersion":"7"},"spec":{"n":` + number + `}}`,
			},
			{
				PatchApply, map[string]any{"spec": map[string]any{"n": json.Number(number)}},
				`{"spec":{"n":` + number + `}}`, `{"metadata":{"resourceVersion":"7"},"spec":{"n":` + number + `}}`,
			},
			{
				PatchMerge, map[string]any{"spec": map[string]any{"n": json.Number(number)}, "metadata": nil},
				`{"metadata":null,"spec":{"n":` + number + `}}`, `{"metadata":{"resourceVersion":"7"},"spec":{"n":` + number + `}}`,
			},
		} {
			in := PatchInput{Type: tt.of, Patch: tt.patch}
			if got, err := in.versioned(); err != nil || string(got) != tt.plain {
				t.Errorf("%s: got %s, %v, want %s", tt.of, got, err, tt.plain)
			}
			in.ResourceVersion = &version
			if got, err := in.versioned(); err != nil || string(got) != tt.expected {
				t.Errorf("%s of a version: got %s, %v, want %s", tt.of, got, err, tt.expected)
			}
		}
	}
}

func TestNoPatch(t *testing.T) {
	version := "7"
	for _, tt := range []struct {
		of       PatchType
		patch    any
		argument string
	}{
		{PatchJSON, map[string]any{}, "input.patch"},
		{PatchJSON, []any{"remove"}, "input.patch"},
		{PatchMerge, []any{}, "input.patch"},
		{PatchStrategic, nil, "input.patch"},
		{PatchMerge, map[string]any{"metadata": "text"}, "input.patch.metadata"},
	} {
		_, err := PatchInput{Type: tt.of, Patch: tt.patch, ResourceVersion: &version}.versioned()
		if !apierror.Is(err, apierror.CodeInvalid) || !strings.HasPrefix(err.Error(), tt.argument+": ") {
			t.Errorf("%s of %v: got %v, want INVALID at %s", tt.of, tt.patch, err, tt.argument)
		}
	}
}

// What is applied is what was said, too.
func TestApplyOfLargeNumbers(t *testing.T) {
	for _, number := range large {
		i, s := newInstance(t)
		namespace := "shop"
		_, err := s.Patch(writetest.As(t.Context()), PatchInput{
			Instance: writetest.Name, Version: "v1", Resource: "configmaps", Namespace: &namespace, Name: "a", Type: PatchApply,
			Patch: map[string]any{"spec": map[string]any{"n": json.Number(number)}},
		})
		if err != nil {
			t.Fatal(err)
		}
		stored, err := json.Marshal(i.Get(configMapsPath + "a").Object["spec"])
		if err != nil || string(stored) != `{"n":`+number+`}` {
			t.Errorf("stored is %s, %v, want %s", stored, err, number)
		}
	}
}

// A precondition that says nothing would be none.
func TestNoPrecondition(t *testing.T) {
	i, s := newInstance(t)
	i.Put(configMapsPath+"a", configMap("a", "was"))
	ctx, namespace := writetest.As(t.Context()), "shop"
	patch := func(version string) error {
		_, err := s.Patch(ctx, PatchInput{
			Instance: writetest.Name, Version: "v1", Resource: "configmaps", Namespace: &namespace, Name: "a",
			Type: PatchMerge, Patch: map[string]any{}, ResourceVersion: &version,
		})
		return err
	}
	remove := func(version, uid *string) error {
		_, err := s.Delete(ctx, DeleteInput{
			Instance: writetest.Name, Version: "v1", Resource: "configmaps", Namespace: &namespace, Name: "a", ResourceVersion: version, UID: uid,
		})
		return err
	}
	for reason, tt := range map[string]struct {
		err      error
		argument string
	}{
		"patch without a version":    {patch(""), "input.resourceVersion"},
		"patch of version zero":      {patch("0"), "input.resourceVersion"},
		"deletion without a version": {remove(new(string), nil), "input.resourceVersion"},
		"deletion without a uid":     {remove(nil, new(string)), "input.uid"},
	} {
		if !apierror.Is(tt.err, apierror.CodeInvalid) || !strings.HasPrefix(tt.err.Error(), tt.argument+": ") {
			t.Errorf("%s: got %v, want INVALID at %s", reason, tt.err, tt.argument)
		}
	}
	if sent := i.Written(); len(sent) > 0 {
		t.Errorf("something was written: %v", sent)
	}
}
