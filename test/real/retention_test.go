package real

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/test/internal/gql"
)

var clusters = v1alpha1.GroupVersion.WithResource("clusters")

// TestRetainedInstanceIsTakenOver deletes an instance whose Karmada is to stay: not while a cluster belongs to it, and
// without touching what runs. The next instance of the name goes on with its data, and is then uninstalled.
func TestRetainedInstanceIsTakenOver(t *testing.T) {
	w := open(t)
	const name, namespace = "kept", "k-kept"
	components := map[string]any{"etcd": map[string]any{"storage": map[string]any{"size": "1Gi"}}}
	version := w.version(t)
	w.install(t, name, version, "RETAIN", components)
	w.awaitRunning(t, name)
	w.grant(t, name)
	w.note(t, name, "create", "configmap", "note", "--from-literal=kept=yes")
	before := w.uids(t, namespace)

	// A cluster that is to belong to it keeps it, and it works on.
	cluster := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "kept-member"},
		"spec":     map[string]any{"apiEndpoint": "https://127.0.0.1:1", "instanceRef": map[string]any{"name": name}, "credentialsSecretRef": map[string]any{"name": "absent"}},
	}}
	cluster.SetGroupVersionKind(schema.GroupVersionKind{Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version, Kind: "Cluster"})
	if _, err := w.objects.Resource(clusters).Create(t.Context(), cluster, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, time.Minute, "deleteInstance is refused", func(ctx context.Context) error {
		_, _, err := gql.Query[any](ctx, w.kairship, `mutation($name: String!) { deleteInstance(input: {instance: $name, dryRun: true}) { deleted } }`, map[string]any{"name": name})
		switch {
		case err == nil:
			return errors.New("it is not")
		case !strings.Contains(err.Error(), cluster.GetName()):
			return err
		}
		return nil
	})
	if err := w.objects.Resource(instances).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, seen, "it says what keeps it", func(ctx context.Context) error {
		data, _, err := gql.Query[told](ctx, w.kairship, instanceQuery, map[string]any{"name": name})
		if err != nil {
			return err
		}
		kept := func(c condition) bool {
			return c.Type == v1alpha1.ConditionRemovable && c.Reason == v1alpha1.ReasonClustersJoined && strings.Contains(c.Message, cluster.GetName())
		}
		indexed := func(c condition) bool {
			return c.Type == v1alpha1.ConditionIndexed && strings.EqualFold(c.Status, "True")
		}
		if data.Instance == nil || !slices.ContainsFunc(data.Instance.Conditions, indexed) || data.Instance.State != "TERMINATING" || !slices.ContainsFunc(data.Instance.Conditions, kept) {
			return fmt.Errorf("it is %+v", data.Instance)
		}
		return nil
	})
	virtual, err := w.objects.Resource(clusters).Get(t.Context(), "k-"+name, metav1.GetOptions{})
	if err != nil || virtual.GetDeletionTimestamp() != nil {
		t.Errorf("its virtual cluster is taken apart while it is kept (error %v)", err)
	}
	w.note(t, name, "get", "configmap", "note")
	if err := w.objects.Resource(clusters).Delete(t.Context(), cluster.GetName(), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.awaitNone(t, instances, "", name)
	karmada, err := w.objects.Resource(karmadas).Namespace(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatalf("its Karmada: %v", err)
	}
	if karmada.GetDeletionTimestamp() != nil || karmada.GetAnnotations()[v1alpha1.RetainedAnnotation] != member {
		t.Errorf("its Karmada is not retained: %v", karmada.Object["metadata"])
	}

	w.create(t, name, version, components)
	w.awaitRunning(t, name)
	w.grant(t, name)
	w.note(t, name, "get", "configmap", "note")
	if after := w.uids(t, namespace); !slices.Equal(before, after) {
		t.Errorf("the pods of the control plane were %v and are %v", before, after)
	}
	if again, err := w.objects.Resource(karmadas).Namespace(namespace).Get(t.Context(), name, metav1.GetOptions{}); err != nil || again.GetUID() != karmada.GetUID() {
		t.Errorf("its Karmada is another one (error %v)", err)
	}
}

// TestKarmadaFromBeforeIsRegistered has the operator install a Karmada without Kairship, which then shows it as an instance,
// and lets it go again as it was.
func TestKarmadaFromBeforeIsRegistered(t *testing.T) {
	w := open(t)
	const name, namespace = "before", "before"
	model, err := w.objects.Resource(karmadas).Namespace("k-"+instance).Get(t.Context(), instance, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.kubectl(t.Context(), w.Kubeconfig, "create", "namespace", namespace); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if err := w.objects.Resource(karmadas).Namespace(namespace).Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			t.Errorf("delete the Karmada: %v", err)
		}
		w.awaitNone(t, karmadas, namespace, name)
		if err := w.kube.CoreV1().Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{}); err != nil {
			t.Errorf("delete its namespace: %v", err)
		}
	})
	karmada := &unstructured.Unstructured{Object: map[string]any{"spec": model.Object["spec"]}}
	karmada.SetGroupVersionKind(model.GroupVersionKind())
	karmada.SetName(name)
	if _, err := w.objects.Resource(karmadas).Namespace(namespace).Create(t.Context(), karmada, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	var kubeconfig string
	poll.Until(t, installed, "the operator has installed it", func(ctx context.Context) error {
		now, err := w.objects.Resource(karmadas).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if status := operatorCondition(now, "Ready"); status != "True" {
			return fmt.Errorf("the operator reports %q for Ready", status)
		}
		secret, err := w.kube.CoreV1().Secrets(namespace).Get(ctx, name+"-karmada-admin-config", metav1.GetOptions{})
		if err != nil {
			return err
		}
		kubeconfig = string(secret.Data["karmada.config"])
		return nil
	})
	before := w.uids(t, namespace)

	_, _ = gql.MustQuery[any](t, w.kairship, `mutation($input: RegisterInstanceInput!) { registerInstance(input: $input) { operation } }`,
		map[string]any{"input": map[string]any{"instance": name, "kubeconfig": kubeconfig}})
	poll.Until(t, seen, "it is an instance that runs", func(ctx context.Context) error {
		data, _, err := gql.Query[told](ctx, w.kairship, instanceQuery, map[string]any{"name": name})
		if err != nil {
			return err
		}
		if data.Instance == nil || data.Instance.Mode != "EXTERNAL" || data.Instance.State != "RUNNING" {
			return fmt.Errorf("Kairship shows %+v", data.Instance)
		}
		return nil
	})
	w.grant(t, name)
	w.note(t, name, "create", "configmap", "note", "--from-literal=kept=yes")

	_, _ = gql.MustQuery[any](t, w.kairship, `mutation($name: String!) { deleteInstance(input: {instance: $name}) { deleted } }`, map[string]any{"name": name})
	w.awaitNone(t, instances, "", name)
	if after := w.uids(t, namespace); !slices.Equal(before, after) {
		t.Errorf("the pods of the control plane were %v and are %v", before, after)
	}
}

// grant makes the person whom the tests act as an administrator of an instance.
func (w *world) grant(t *testing.T, name string) {
	t.Helper()
	_, _ = gql.MustQuery[any](t, w.kairship, `mutation($name: String!, $subject: String!) {
		grantInstanceRole(input: {instance: $name, subjectKind: USER, subject: $subject, role: ADMIN}) { unchanged }
	}`, map[string]any{"name": name, "subject": admin})
}

// note runs kubectl in the namespace default of an instance, through Kairship.
func (w *world) note(t *testing.T, name string, args ...string) {
	t.Helper()
	kubeconfig := w.kubeconfigOf(t, name, "")
	poll.Until(t, time.Minute, fmt.Sprintf("kubectl %s in %s", args, name), func(ctx context.Context) error {
		out, err := w.kubectl(ctx, kubeconfig, append([]string{"--namespace", "default"}, args...)...)
		if err == nil && out == "" {
			err = errors.New("it prints nothing")
		}
		return err
	})
}

// uids are those of the pods of a namespace.
func (w *world) uids(t *testing.T, namespace string) []string {
	t.Helper()
	pods, err := w.pods(t.Context(), namespace, "")
	if err == nil && len(pods) == 0 {
		err = errors.New("there are none")
	}
	if err != nil {
		t.Fatalf("the pods of %s: %v", namespace, err)
	}
	var uids []string
	for i := range pods {
		uids = append(uids, pods[i].Name+" "+string(pods[i].UID))
	}
	slices.Sort(uids)
	return uids
}

// awaitNone waits until an object is no longer there.
func (w *world) awaitNone(t *testing.T, resource schema.GroupVersionResource, namespace, name string) {
	t.Helper()
	poll.Until(t, removed, name+" of "+resource.Resource+" is removed", func(ctx context.Context) error {
		_, err := w.objects.Resource(resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there (error %w)", err)
	})
}
