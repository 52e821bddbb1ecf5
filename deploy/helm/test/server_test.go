package test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apis/apitest"
)

// connect makes the namespaces that the chart expects, the programs' own under the
// restricted level of Pod Security.
func connect(t *testing.T) client.Client {
	t.Helper()
	kube, err := client.New(apitest.Config(t), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, labels := range map[string]map[string]string{
		namespace:             {"pod-security.kubernetes.io/enforce": "restricted"},
		"clusterpedia-system": nil,
		"team-a":              nil,
	} {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
		if err := kube.Create(t.Context(), ns); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	return kube
}

// TestServerAccepts has a real API server judge every object, as strictly as it can.
func TestServerAccepts(t *testing.T) {
	kube := connect(t)
	for name, values := range matrix(t) {
		all := objects(t, render(t, values))
		if len(all) < 10 {
			t.Errorf("%s: only %d objects are rendered", name, len(all))
		}
		for _, o := range all {
			what := o.GetKind() + " " + o.GetName()
			//nolint:staticcheck // Whatever kind it is, the server is to see just what was rendered.
			err := kube.Patch(t.Context(), o, client.Apply, client.DryRunAll, client.FieldOwner("test"), client.FieldValidation(metav1.FieldValidationStrict))
			if err != nil {
				t.Errorf("%s: %s is refused: %v", name, what, err)
			}
		}
	}
}

// TestPodSecurity has the API server judge the pods: of a Deployment it looks at no
// more than the form.
func TestPodSecurity(t *testing.T) {
	kube := connect(t)
	for name, values := range matrix(t) {
		for _, d := range deployments(t, values) {
			if err := kube.Create(t.Context(), pod(t, d), client.DryRunAll); err != nil {
				t.Errorf("%s: a pod of %s is refused: %v", name, d.GetName(), err)
			}
			open := pod(t, d)
			open.Spec.Containers[0].SecurityContext = nil
			if err := kube.Create(t.Context(), open, client.DryRunAll); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "PodSecurity") {
				t.Errorf("%s: a pod of %s without security context got %v: Pod Security is not enforced, so this test proves nothing", name, d.GetName(), err)
			}
		}
	}
}

func deployments(t *testing.T, values string) []*unstructured.Unstructured {
	t.Helper()
	var found []*unstructured.Unstructured
	for _, o := range objects(t, render(t, values)) {
		if o.GetKind() == "Deployment" {
			found = append(found, o)
		}
	}
	if len(found) != 2 {
		t.Fatalf("%d Deployments are rendered, want 2", len(found))
	}
	return found
}

// pod is what the Deployment's controller would make.
func pod(t *testing.T, deployment *unstructured.Unstructured) *corev1.Pod {
	t.Helper()
	template, _, err := unstructured.NestedMap(deployment.Object, "spec", "template")
	if err != nil {
		t.Fatal(err)
	}
	var p corev1.Pod
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(template, &p); err != nil {
		t.Fatal(err)
	}
	p.Namespace, p.GenerateName = namespace, deployment.GetName()+"-"
	return &p
}
