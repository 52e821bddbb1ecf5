package v1alpha1_test

import (
	"os"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kairship-io/kairship/pkg/apis/apitest"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

func TestMain(m *testing.M) { os.Exit(apitest.Run(m)) }

func newClient(t *testing.T) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(apitest.Config(t), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// manifest is an object as a person writes it, defaults not filled in.
func manifest(t *testing.T, kind, name, spec string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	text := "apiVersion: kairship.io/v1alpha1\nkind: " + kind + "\nspec:\n"
	for line := range strings.Lines(strings.Trim(spec, "\n")) {
		text += "  " + line
	}
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	object.SetName(name)
	return object
}

type validationCase struct {
	name   string // the object's
	reason string
	spec   string
	want   []string // parts of the error; none when the object is accepted
}

func (c validationCase) run(t *testing.T, kube client.Client, kind string) {
	t.Helper()
	t.Run(c.reason, func(t *testing.T) {
		object := manifest(t, kind, c.name, c.spec)
		err := kube.Create(t.Context(), object, client.DryRunAll)
		checkRejection(t, err, c.want)
	})
}

func checkRejection(t *testing.T, err error, want []string) {
	t.Helper()
	if len(want) == 0 {
		if err != nil {
			t.Fatalf("refused: %v", err)
		}
		return
	}
	if !apierrors.IsInvalid(err) {
		t.Fatalf("got %v, want a refusal that says %q", err, want)
	}
	for _, part := range want {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not say %q:\n%v", part, err)
		}
	}
	// A rule that fails to evaluate refuses too, with a text that is hard to understand.
	for _, part := range []string{"no such key", "no such overload", "rule evaluation error"} {
		if strings.Contains(err.Error(), part) {
			t.Errorf("the error shows a rule that could not be evaluated:\n%v", err)
		}
	}
}
