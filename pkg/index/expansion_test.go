package index

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"runtime"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/clusterpedia-io/client-go/constants"

	"github.com/kairship-io/kairship/pkg/quota"
)

// answerOf is an answer with many objects of a shape.
func answerOf(t *testing.T, n int, object map[string]any) []byte {
	t.Helper()
	items := make([]any, n)
	for i := range items {
		metadata := map[string]any{
			"name": fmt.Sprint("web-", i), "namespace": "shop", "uid": fmt.Sprint("9a9b2f30-6f1f-4a4e-8a39-", i), "resourceVersion": fmt.Sprint(i),
			"labels":      map[string]any{"app": "web", "tier": "front", "app.kubernetes.io/part-of": "shop"},
			"annotations": map[string]any{constants.ShadowAnnotationClusterName: "k-alpha", "note": fmt.Sprint("number ", i)},
		}
		o := map[string]any{"metadata": metadata}
		maps.Copy(o, object)
		items[i] = o
	}
	raw, err := json.Marshal(map[string]any{"items": items})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// inUse is the memory that is reachable.
func inUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestExpansion measures what an operation holds for each byte that it reads of the
// index: quota.Expansion must be at least that.
func TestExpansion(t *testing.T) {
	container := map[string]any{
		"name": "web", "image": "registry.example.com/shop/web:1.2.3", "ports": []any{map[string]any{"containerPort": 80, "protocol": "TCP"}},
		"resources": map[string]any{"requests": map[string]any{"cpu": "100m", "memory": "128Mi"}}, "imagePullPolicy": "IfNotPresent",
		"env": []any{map[string]any{"name": "MODE", "value": "production"}, map[string]any{"name": "LEVEL", "value": "info"}}, "terminationMessagePath": "/dev/termination-log",
	}
	spec := map[string]any{"containers": []any{container}, "restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "schedulerName": "default-scheduler", "terminationGracePeriodSeconds": 30}
	status := map[string]any{"conditions": []any{map[string]any{"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable", "message": "Deployment has minimum availability.", "lastUpdateTime": "2026-01-31T12:00:00Z"}}}
	deployment := map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "spec": map[string]any{"replicas": 3, "selector": map[string]any{"matchLabels": map[string]any{"app": "web"}}, "template": map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "web"}}, "spec": spec}}, "status": status}
	pod := map[string]any{"apiVersion": "v1", "kind": "Pod", "spec": spec, "status": status}
	config := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"text": strings.Repeat("x", 20<<10)}}
	small := map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}
	for _, tt := range []struct {
		name   string
		answer []byte
		decode func(*Object) error
	}{
		{"deployments", answerOf(t, 4000, deployment), func(o *Object) error { _, err := Decode[appsv1.Deployment](o); return err }},
		{"pods", answerOf(t, 4000, pod), func(o *Object) error { _, err := Decode[corev1.Pod](o); return err }},
		{"large configuration", answerOf(t, 400, config), func(o *Object) error { _, err := Decode[corev1.ConfigMap](o); return err }},
		{"objects with nothing but metadata", answerOf(t, 10_000, small), func(*Object) error { return nil }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := inUse()
			body, err := readBody(bytes.NewReader(tt.answer))
			if err != nil {
				t.Fatal(err)
			}
			objects, _, err := decodeAnswer(body, Whole, Type{})
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range objects {
				if err := tt.decode(o); err != nil {
					t.Fatal(err)
				}
			}
			held := inUse() - before
			runtime.KeepAlive(objects)
			runtime.KeepAlive(body)
			t.Logf("%d objects in %d bytes: %.2f bytes of memory for each", len(objects), len(tt.answer), float64(held)/float64(len(tt.answer)))
			if held > quota.Expansion*int64(len(tt.answer)) {
				t.Errorf("%d bytes are held for %d that were read, more than %d times as much", held, len(tt.answer), quota.Expansion)
			}
		})
	}
}
