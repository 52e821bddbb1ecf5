package real

import (
	"encoding/json"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestRestricted finds Kairship's pods in a namespace that admits none with more rights.
func TestRestricted(t *testing.T) {
	w := open(t)
	namespace, err := w.kube.CoreV1().Namespaces().Get(t.Context(), system, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if level := namespace.Labels["pod-security.kubernetes.io/enforce"]; level != "restricted" {
		t.Errorf("the namespace enforces %q", level)
	}
	pods := w.kairshipPods(t)
	const replicas = 4 // two of each program
	if len(pods) != replicas {
		t.Errorf("there are %d pods of Kairship, want %d", len(pods), replicas)
	}
	for i := range pods {
		if !ready(&pods[i]) {
			t.Errorf("pod %s is not ready", pods[i].Name)
		}
		for _, c := range pods[i].Spec.Containers {
			if c.LivenessProbe == nil || c.ReadinessProbe == nil {
				t.Errorf("container %s of %s lacks a probe", c.Name, pods[i].Name)
			}
		}
	}
}

// kairshipPods are the pods of Kairship that are not about to end.
func (w *world) kairshipPods(t *testing.T) []corev1.Pod {
	t.Helper()
	pods, err := w.pods(t.Context(), system, "app.kubernetes.io/part-of=kairship")
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(pods, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil })
}

// summary is what the kubelet measures of pods.
type summary struct {
	Pods []struct {
		PodRef struct {
			Name      string `json:"name"`
			Namespace string `json:"namespace"`
		} `json:"podRef"`
		Containers []struct {
			Name   string `json:"name"`
			Memory struct {
				WorkingSetBytes int64 `json:"workingSetBytes"`
			} `json:"memory"`
			CPU struct {
				UsageNanoCores int64 `json:"usageNanoCores"`
			} `json:"cpu"`
		} `json:"containers"`
	} `json:"pods"`
}

// workingSets asks the kubelet for the memory of each container, by pod.
func (w *world) workingSets(t *testing.T) map[string]map[string]int64 {
	t.Helper()
	nodes, err := w.kube.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(nodes.Items) != 1 {
		t.Fatalf("nodes: %v, error %v", nodes, err)
	}
	raw, err := w.kube.CoreV1().RESTClient().Get().Resource("nodes").Name(nodes.Items[0].Name).SubResource("proxy").Suffix("stats/summary").DoRaw(t.Context())
	if err != nil {
		t.Fatalf("the kubelet's summary: %v", err)
	}
	var s summary
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	found := map[string]map[string]int64{}
	for _, p := range s.Pods {
		containers := map[string]int64{}
		for _, c := range p.Containers {
			containers[c.Name] = c.Memory.WorkingSetBytes
		}
		found[p.PodRef.Namespace+"/"+p.PodRef.Name] = containers
	}
	return found
}

// TestMemoryWithinRequests compares the working sets with what the chart asks for.
func TestMemoryWithinRequests(t *testing.T) {
	w := open(t)
	measured := w.workingSets(t)
	const mebibyte = 1 << 20
	for _, pod := range w.kairshipPods(t) {
		for _, c := range pod.Spec.Containers {
			used := measured[pod.Namespace+"/"+pod.Name][c.Name]
			request, limit := c.Resources.Requests.Memory().Value(), c.Resources.Limits.Memory().Value()
			t.Logf("%s: working set %d MiB, request %d MiB, limit %d MiB", pod.Name, used/mebibyte, request/mebibyte, limit/mebibyte)
			if used == 0 || used > request {
				t.Errorf("%s uses %d MiB with one instance and one member, and the chart asks for %d MiB: the scheduler would put it where there is no room",
					pod.Name, used/mebibyte, request/mebibyte)
			}
		}
	}
	var all int64
	for _, containers := range measured {
		for _, used := range containers {
			all += used
		}
	}
	t.Logf("all pods: %d MiB", all/mebibyte)
}
