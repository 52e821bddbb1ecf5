package real

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/gql"
)

const (
	// seen is how long it may take until a condition says what is wrong.
	seen = 2 * time.Minute
	// installed is how long an installation may take, with an attempt of the operator before it that has to end.
	installed = 8 * time.Minute
	// removed is how long a deletion may take.
	removed = 3 * time.Minute
)

// version is the one that the node has images of: that of the first instance.
func (w *world) version(t *testing.T) string {
	t.Helper()
	karmada, err := w.objects.Resource(karmadas).Namespace("k-"+instance).Get(t.Context(), instance, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	spec, _ := karmada.Object["spec"].(map[string]any)
	tarball := fmt.Sprint(spec["crdTarball"])
	_, rest, _ := strings.Cut(tarball, "/download/")
	version, _, found := strings.Cut(rest, "/")
	if !found {
		t.Fatalf("the instance's definitions come from %s", tarball)
	}
	return version
}

// create has an instance installed on the node, and removed at the end of the test.
func (w *world) create(t *testing.T, name, version string, components map[string]any) {
	t.Helper()
	w.install(t, name, version, "DELETE", components)
	t.Cleanup(func() { w.remove(t, name) })
}

// install has an instance installed on the node.
func (w *world) install(t *testing.T, name, version, deletionPolicy string, components map[string]any) {
	t.Helper()
	_, _ = gql.MustQuery[any](t, w.kairship, `mutation($input: CreateInstanceInput!) { createInstance(input: $input) { operation } }`, map[string]any{"input": map[string]any{
		"instance": name, "hostCluster": member, "karmadaVersion": version, "deletionPolicy": deletionPolicy, "components": components,
	}})
}

// remove deletes an instance and waits until nothing of it is left.
func (w *world) remove(t *testing.T, name string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	_, _, err := gql.Query[any](ctx, w.kairship, `mutation($name: String!) { deleteInstance(input: {instance: $name}) { deleted } }`, map[string]any{"name": name})
	if err != nil {
		t.Errorf("deleting %s: %v", name, err)
		return
	}
	poll.Until(t, removed, name+" is removed with its namespace", func(ctx context.Context) error {
		_, err := w.kube.CoreV1().Namespaces().Get(ctx, "k-"+name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("its namespace is there (error %w)", err)
	})
}

// await waits until the condition Installed is as wanted.
func (w *world) await(t *testing.T, within time.Duration, name, what string, check func(told, condition) error) {
	t.Helper()
	poll.Until(t, within, name+" "+what, func(ctx context.Context) error {
		data, _, err := gql.Query[told](ctx, w.kairship, instanceQuery, map[string]any{"name": name})
		if err != nil {
			return err
		}
		if data.Instance == nil {
			return errors.New("it is not shown yet")
		}
		for _, c := range data.Instance.Conditions {
			if c.Type == "Installed" {
				return check(data, c)
			}
		}
		return errors.New("it has no condition Installed")
	})
}

func (w *world) awaitRunning(t *testing.T, name string) {
	t.Helper()
	w.await(t, installed, name, "runs", func(data told, c condition) error {
		if data.Instance.State != "RUNNING" || !strings.EqualFold(c.Status, "True") {
			return fmt.Errorf("it is %s: %+v", data.Instance.State, c)
		}
		return nil
	})
}

// awaitMessage waits until the condition has all words and is not True.
func (w *world) awaitMessage(t *testing.T, name string, words ...string) {
	t.Helper()
	w.await(t, seen, name, "says what is wrong", func(_ told, c condition) error {
		for _, word := range words {
			if !strings.Contains(c.Message, word) || strings.EqualFold(c.Status, "True") {
				return fmt.Errorf("it has no %q: %+v", word, c)
			}
		}
		t.Logf("%s: %s: %s", name, c.Reason, c.Message)
		return nil
	})
}

// update changes an instance as it is now.
func (w *world) update(t *testing.T, name string, change map[string]any) {
	t.Helper()
	poll.Until(t, time.Minute, name+" is changed", func(ctx context.Context) error {
		data, _, err := gql.Query[told](ctx, w.kairship, instanceQuery, map[string]any{"name": name})
		if err != nil {
			return err
		}
		input := map[string]any{"instance": name, "resourceVersion": data.Instance.ResourceVersion}
		maps.Copy(input, change)
		// A conflict is a controller's write in between.
		_, _, err = gql.Query[any](ctx, w.kairship, `mutation($input: UpdateInstanceInput!) { updateInstance(input: $input) { instance { name } } }`, map[string]any{"input": input})
		return err
	})
}

// TestImageMissing names an image that the host cannot have, and goes on once another one is asked for.
func TestImageMissing(t *testing.T) {
	w := open(t)
	w.create(t, "image-missing", w.version(t), map[string]any{"imageRegistry": "localhost/absent"})
	w.awaitMessage(t, "image-missing", "localhost/absent/etcd", "imageRegistry")
	w.update(t, "image-missing", map[string]any{"components": map[string]any{"imageRegistry": ""}})
	w.awaitRunning(t, "image-missing")
}

// TestDefinitionsMissing names the archive that cannot be downloaded.
func TestDefinitionsMissing(t *testing.T) {
	w := open(t)
	const absent = "v1.17.99"
	w.create(t, "definitions-missing", absent, nil)
	w.awaitMessage(t, "definitions-missing", absent+"/crds.tar.gz")
	w.update(t, "definitions-missing", map[string]any{"karmadaVersion": w.version(t)})
	w.awaitRunning(t, "definitions-missing")
}

// TestVolumeMissing names the volume that etcd waits for.
func TestVolumeMissing(t *testing.T) {
	w := open(t)
	storage := map[string]any{"size": "1Gi", "storageClassName": "absent"}
	w.create(t, "volume-missing", w.version(t), map[string]any{"etcd": map[string]any{"storage": storage}})
	w.awaitMessage(t, "volume-missing", "etcd-0 is on no node", "volume")
}

// TestQuotaExceeded names the quota, and goes on without it.
func TestQuotaExceeded(t *testing.T) {
	w := open(t)
	const name, namespace = "quota-exceeded", "k-quota-exceeded"
	w.create(t, name, w.version(t), nil)
	quotas := w.kube.CoreV1().ResourceQuotas(namespace)
	poll.Until(t, time.Minute, "the quota is there before a pod", func(ctx context.Context) error {
		_, err := quotas.Create(ctx, &corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Name: "none"},
			Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}},
		}, metav1.CreateOptions{})
		return err
	})
	w.awaitMessage(t, name, "etcd has no pod", "exceeded quota")
	if err := quotas.Delete(t.Context(), "none", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.awaitRunning(t, name)
}

// TestComponentSettings changes every setting that an instance may have, and compares what runs.
func TestComponentSettings(t *testing.T) {
	w := open(t)
	const name, namespace = "settings", "k-settings"
	const members = 3
	w.create(t, name, w.version(t), map[string]any{"etcd": map[string]any{"replicas": members, "storage": map[string]any{"size": "1Gi"}}})
	w.awaitRunning(t, name)
	two := map[string]any{"replicas": 2}
	w.update(t, name, map[string]any{"components": map[string]any{
		"etcd":      map[string]any{"replicas": members, "storage": map[string]any{"size": "1Gi"}},
		"apiServer": two, "aggregatedAPIServer": two, "kubeControllerManager": two, "controllerManager": two, "scheduler": two, "webhook": two,
		"failover":       map[string]any{"enabled": true, "clusterMonitorGracePeriod": "1m"},
		"descheduler":    map[string]any{"enabled": true, "interval": "3m"},
		"metricsAdapter": map[string]any{"enabled": false},
	}})
	want := map[string]int32{
		"apiserver": 2, "aggregated-apiserver": 2, "kube-controller-manager": 2, "controller-manager": 2, "scheduler": 2, "webhook": 2, "descheduler": 1, "metrics-adapter": 0,
	}
	poll.Until(t, installed, "what runs is what was asked for", func(ctx context.Context) error {
		for component, replicas := range want {
			d, err := w.kube.AppsV1().Deployments(namespace).Get(ctx, name+"-karmada-"+component, metav1.GetOptions{})
			if component == "metrics-adapter" && apierrors.IsNotFound(err) {
				continue
			}
			if err != nil {
				return err
			}
			// The operator has each kube-controller-manager on a node of its own, and there is one.
			running := component == "kube-controller-manager" || d.Status.ReadyReplicas == replicas && d.Status.UpdatedReplicas == replicas
			if d.Spec.Replicas == nil || *d.Spec.Replicas != replicas || !running {
				return fmt.Errorf("%s has %+v, want %d replicas", component, d.Status, replicas)
			}
			command := strings.Join(d.Spec.Template.Spec.Containers[0].Command, " ")
			for _, argument := range map[string][]string{
				"controller-manager": {"--feature-gates=Failover=true", "--cluster-monitor-grace-period=1m"}, "descheduler": {"--descheduling-interval=3m"},
			}[component] {
				if !strings.Contains(command, argument) {
					return fmt.Errorf("%s is started as %s, without %s", component, command, argument)
				}
			}
		}
		etcd, err := w.kube.AppsV1().StatefulSets(namespace).Get(ctx, name+"-karmada-etcd", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if etcd.Status.ReadyReplicas != members {
			return fmt.Errorf("%d members of etcd are ready", etcd.Status.ReadyReplicas)
		}
		return nil
	})
	w.awaitRunning(t, name)
}
