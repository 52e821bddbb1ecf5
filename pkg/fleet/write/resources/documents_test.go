package resources

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/pkg/apierror"
)

func TestParseDocuments(t *testing.T) {
	for _, tt := range []struct {
		name, text, want, argument, why string
	}{
		{name: "one", text: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", want: "0 ConfigMap/a"},
		{name: "JSON", text: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`, want: "0 ConfigMap/a"},
		{name: "many", text: "---\n# nothing\n---\napiVersion: v1\nkind: A\nmetadata: {name: a}\n---\napiVersion: v1\nkind: B\nmetadata: {name: b}\n", want: "1 A/a, 2 B/b", why: "empty documents count, so that the numbers are those of the text"},
		{name: "list", text: "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: A, metadata: {name: a}}\n- {apiVersion: v1, kind: B, metadata: {name: b}}\n", want: "0 A/a, 0 B/b"},
		{name: "nothing", text: "---\n---\n", argument: "input.manifests"},
		{name: "not YAML", text: "a: [", argument: "input.manifests[0]"},
		{name: "key twice", text: "apiVersion: v1\nkind: A\nkind: B\nmetadata: {name: a}\n", argument: "input.manifests[0]", why: "one of them would be lost"},
		{name: "text", text: "hello", argument: "input.manifests[0]"},
		{name: "a list of things", text: "- a\n- b\n", argument: "input.manifests[0]"},
		{name: "no kind", text: "apiVersion: v1\nmetadata: {name: a}\n", argument: "input.manifests[0]"},
		{name: "no apiVersion", text: "kind: A\nmetadata: {name: a}\n", argument: "input.manifests[0]"},
		{name: "no name", text: "apiVersion: v1\nkind: A\nmetadata: {generateName: a}\n", argument: "input.manifests[0]", why: "applying twice would make two"},
		{name: "an item without name", text: "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: A, metadata: {}}\n", argument: "input.manifests[0]"},
		{name: "metadata that is no object", text: "apiVersion: v1\nkind: A\nmetadata: a\n", argument: "input.manifests[0]"},
		{name: "aliases that grow", text: "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n", argument: "input.manifests[0]", why: "a small text must not become a large object"},
		{name: "a list in a list", text: "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: List, items: []}\n", argument: "input.manifests[0]", why: "depth costs as well"},
		{name: "a list of too many", text: "apiVersion: v1\nkind: List\nitems:\n" + strings.Repeat("- {apiVersion: v1, kind: A, metadata: {name: a}}\n", MaxDocuments+1), argument: "input.manifests"},
		{name: "too many", text: strings.Repeat("apiVersion: v1\nkind: A\nmetadata: {name: a}\n---\n", MaxDocuments+1), argument: "input.manifests"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			documents, err := parseDocuments(tt.text)
			if tt.argument != "" {
				e, ok := err.(*apierror.Error) //nolint:errorlint // It is returned as it is.
				if !ok || e.Code != apierror.CodeInvalid || e.Argument != tt.argument {
					t.Fatalf("got %v, want INVALID at %s: %s", err, tt.argument, tt.why)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, d := range documents {
				got = append(got, fmt.Sprintf("%d %s/%s", d.number, d.object.GetKind(), d.object.GetName()))
			}
			if diff := gocmp.Diff(tt.want, strings.Join(got, ", ")); diff != "" {
				t.Errorf("%s: %s", tt.why, diff)
			}
		})
	}
}

// What others need comes first, whatever the order of the text.
func TestOrder(t *testing.T) {
	want := []string{
		"apiextensions.k8s.io/v1 CustomResourceDefinition", "v1 Namespace", "rbac.authorization.k8s.io/v1 ClusterRole", "v1 Secret",
		"v1 Service", "apps/v1 Deployment", "example.com/v1 Widget", "policy.karmada.io/v1alpha1 OverridePolicy", "policy.karmada.io/v1alpha1 PropagationPolicy",
	}
	var text strings.Builder
	for _, of := range slices.Backward(want) {
		version, kind, _ := strings.Cut(of, " ")
		fmt.Fprintf(&text, "apiVersion: %s\nkind: %s\nmetadata: {name: a}\n---\n", version, kind)
	}
	documents, err := parseDocuments(text.String())
	if err != nil {
		t.Fatal(err)
	}
	slices.SortStableFunc(documents, func(a, b document) int { return cmp.Compare(rank(a.object), rank(b.object)) })
	got := make([]string, len(documents))
	for i, d := range documents {
		got[i] = d.object.GetAPIVersion() + " " + d.object.GetKind()
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Whatever a user sends as manifests, it is read or refused by its place.
func FuzzParseDocuments(f *testing.F) {
	for _, seed := range []string{
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n", `{"apiVersion":"v1","kind":"List","items":[{}]}`,
		"a: &a [*a]", "- [", "\x00", "kind: List\napiVersion: v1\nitems: {}", "---\n--- \n...",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 64<<10 {
			t.Skip("the server bounds what it reads")
		}
		documents, err := parseDocuments(text)
		if err != nil {
			e, ok := err.(*apierror.Error) //nolint:errorlint // It is returned as it is.
			if !ok || e.Code != apierror.CodeInvalid || !strings.HasPrefix(e.Argument, manifestsArgument) {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		if len(documents) == 0 || len(documents) > MaxDocuments {
			t.Fatalf("%q: %d documents", text, len(documents))
		}
		makes(documents)
		for _, d := range documents {
			if r := rank(d.object); r < 0 || r > 8 {
				t.Fatalf("%q: rank %d", text, r)
			}
			if d.object.GetName() == "" || d.object.GetKind() == "" || d.object.GetAPIVersion() == "" {
				t.Fatalf("%q: %v", text, d.object)
			}
		}
	})
}

func TestKindsThatAreMade(t *testing.T) {
	for _, tt := range []struct {
		group, plural string
		want          bool
		why           string
	}{
		{"example.com", "widgets", true, "a kind"},
		{"example.com", "../../../../../api/v1/namespaces/ops/secrets", false, "the name becomes part of a path: of another namespace's, here"},
		{"example.com", "widgets/x/status", false, "nor is it a subresource"},
		{"example.com", "", false, "it has to have one"},
		{"..", "widgets", false, "the group becomes part of it too"},
		{"", "widgets", false, "there is no definition of the core group's"},
	} {
		documents, err := parseDocuments(fmt.Sprintf("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: w}\nspec: {group: %q, scope: Namespaced, names: {kind: Widget, plural: %q}}\n", tt.group, tt.plural))
		if err != nil {
			t.Fatal(err)
		}
		if got := len(makes(documents).kinds) == 1; got != tt.want {
			t.Errorf("%q in %q: %s: made is %t, want %t", tt.plural, tt.group, tt.why, got, tt.want)
		}
	}
}
