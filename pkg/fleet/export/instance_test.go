package export

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/write/writetest"
)

// codeOf is the code of an error; empty for none.
func codeOf(err error) apierror.Code {
	if err == nil {
		return ""
	}
	return apierror.CodeOf(err)
}

// TestReadable: an export looks into the namespaces that are named, each once, or into all that may be read.
func TestReadable(t *testing.T) {
	_, writer := writetest.New(t)
	site, err := writer.To(writetest.As(t.Context()), "alpha")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		reason     string
		namespaces []string
		want       string
		all        bool
		code       apierror.Code
	}{
		{"all", nil, "", true, ""},
		{"some, in order and once", []string{"shop", "ops", "shop"}, "ops shop", false, ""},
		{"none", []string{}, "", false, ""},
		{"an empty name", []string{"shop", ""}, "", false, apierror.CodeInvalid},
		{"what is no name", []string{"Shop"}, "", false, apierror.CodeInvalid},
	} {
		e := &Instance{in: InstanceInput{Instance: "alpha", Namespaces: tt.namespaces}, site: site}
		names, all, err := e.readable()
		if got := strings.Join(names, " "); got != tt.want || all != tt.all || codeOf(err) != tt.code {
			t.Errorf("%s: got %q, %v, %v", tt.reason, got, all, err)
		}
	}
}

// TestInstanceLimits: an export that is too large is refused with what to do.
func TestInstanceLimits(t *testing.T) {
	of := func(objects int) *Instance {
		return &Instance{Namespaces: []*Namespace{{"shop", Application{Objects: make([]Object, objects)}}}}
	}
	for _, tt := range []struct {
		reason string
		err    error
		code   apierror.Code
	}{
		{"as many namespaces as there may be", of(0).checkNamespaces(MostNamespaces), ""},
		{"one more", of(0).checkNamespaces(MostNamespaces + 1), apierror.CodeInvalid},
		{"as many objects as there may be", of(MostInstanceObjects - 1).checkObjects(1), ""},
		{"one without a namespace more", of(MostInstanceObjects).checkObjects(1), apierror.CodeInvalid},
	} {
		if codeOf(tt.err) != tt.code || tt.err != nil && !strings.Contains(tt.err.Error(), "name some of the namespaces") {
			t.Errorf("%s: %v", tt.reason, tt.err)
		}
	}
}

// TestOrderWithoutNamespace: what others need is written before them.
func TestOrderWithoutNamespace(t *testing.T) {
	kinds := []string{"ClusterRole", kindWidePropagation, kindNamespace, kindWideOverride, "CustomResourceDefinition"}
	slices.SortFunc(kinds, func(a, b string) int {
		of := func(kind string) *unstructured.Unstructured {
			return &unstructured.Unstructured{Object: map[string]any{"kind": kind}}
		}
		return place(of(a)) - place(of(b))
	})
	if got, want := strings.Join(kinds, " "), "CustomResourceDefinition Namespace ClusterOverridePolicy ClusterPropagationPolicy ClusterRole"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
