package test

import (
	"slices"
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
			options := []client.PatchOption{client.DryRunAll, client.FieldOwner("test"), client.FieldValidation(metav1.FieldValidationStrict)}
			if o.GetKind() == "CustomResourceDefinition" {
				options = append(options, client.ForceOwnership) // The server of the tests has them already.
			}
			//nolint:staticcheck // Whatever kind it is, the server is to see just what was rendered.
			err := kube.Patch(t.Context(), o, client.Apply, options...)
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
		for _, d := range workloads(t, values) {
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

// workloads are what is rendered that makes pods.
func workloads(t *testing.T, values string) []*unstructured.Unstructured {
	t.Helper()
	return slices.DeleteFunc(objects(t, render(t, values)), func(o *unstructured.Unstructured) bool {
		return o.GetKind() != "Deployment" && o.GetKind() != "StatefulSet"
	})
}

// deployments are Kairship's own.
func deployments(t *testing.T, values string) []*unstructured.Unstructured {
	t.Helper()
	found := slices.DeleteFunc(workloads(t, values), func(o *unstructured.Unstructured) bool {
		return o.GetLabels()["app.kubernetes.io/part-of"] != "kairship"
	})
	if len(found) != 2 {
		t.Fatalf("%d Deployments are rendered, want 2", len(found))
	}
	return found
}

// pod is what the controller of a Deployment or StatefulSet would make.
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
	claims, _, err := unstructured.NestedSlice(deployment.Object, "spec", "volumeClaimTemplates")
	if err != nil {
		t.Fatal(err)
	}
	for _, claim := range claims {
		name, _, err := unstructured.NestedString(claim.(map[string]any), "metadata", "name")
		if err != nil {
			t.Fatal(err)
		}
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: name}) // The controller mounts the claim.
	}
	p.Namespace, p.GenerateName = namespace, deployment.GetName()+"-"
	return &p
}
