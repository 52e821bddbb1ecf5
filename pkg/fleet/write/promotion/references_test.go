package promotion

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/pkg/apierror"
)

const podSpec = `{
  serviceAccountName: runner,
  imagePullSecrets: [{name: pull}, {}],
  initContainers: [{name: i, envFrom: [{configMapRef: {name: init}}]}],
  containers: [
    {name: a, envFrom: [{configMapRef: {name: settings}}, {secretRef: {name: password}}],
     env: [{name: A, value: plain}, {name: B, valueFrom: {configMapKeyRef: {name: keys, key: k}}}, {name: C, valueFrom: {secretKeyRef: {name: token, key: k}}}, {name: D, valueFrom: {fieldRef: {fieldPath: a}}}]},
    {name: b, envFrom: [{configMapRef: {name: settings}}]}],
  volumes: [
    {name: v1, configMap: {name: files}}, {name: v2, secret: {secretName: certificate}}, {name: v3, persistentVolumeClaim: {claimName: data}},
    {name: v4, csi: {driver: d, nodePublishSecretRef: {name: csi}}}, {name: v5, csi: {driver: d}}, {name: v6, emptyDir: {}},
    {name: v7, projected: {sources: [{configMap: {name: projected}}, {secret: {name: projected-secret}}, {serviceAccountToken: {path: p}}]}}]}`

// Everything that Karmada sends along with an object is found in it, once each and
// in one order.
func TestReferences(t *testing.T) {
	inPods := []string{
		"ConfigMap files", "ConfigMap init", "ConfigMap keys", "ConfigMap projected", "ConfigMap settings", "PersistentVolumeClaim data",
		"Secret certificate", "Secret csi", "Secret password", "Secret projected-secret", "Secret pull", "Secret token", "ServiceAccount runner",
	}
	for _, tt := range []struct {
		reason, live string
		want         []string
	}{
		{"a Deployment", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, namespace: shop}, spec: {template: {spec: ` + podSpec + `}}}`, inPods},
		{"a StatefulSet", `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a, namespace: shop}, spec: {template: {spec: ` + podSpec + `}}}`, inPods},
		{"a DaemonSet", `{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: a, namespace: shop}, spec: {template: {spec: ` + podSpec + `}}}`, inPods},
		{"a Job", `{apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: shop}, spec: {template: {spec: ` + podSpec + `}}}`, inPods},
		{"a CronJob", `{apiVersion: batch/v1, kind: CronJob, metadata: {name: a, namespace: shop}, spec: {jobTemplate: {spec: {template: {spec: ` + podSpec + `}}}}}`, inPods},
		{
			"the ServiceAccount that every namespace has", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, namespace: shop}, spec: {template: {spec: {serviceAccountName: default, containers: []}}}}`, nil,
		},
		{
			"an Ingress", `{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: a, namespace: shop}, spec: {tls: [{secretName: b}, {secretName: a}, {hosts: [x]}, {secretName: a}]}}`,
			[]string{"Secret a", "Secret b"},
		},
		{"a kind that names nothing", `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop}}`, nil},
		{"a kind of the same name of another group", `{apiVersion: example.com/v1, kind: Deployment, metadata: {name: a, namespace: shop}, spec: {template: {spec: ` + podSpec + `}}}`, nil},
		{"one without a template", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, namespace: shop}}`, nil},
	} {
		found, err := References(object(t, tt.live))
		if err != nil {
			t.Errorf("%s: %v", tt.reason, err)
		}
		var got []string
		for _, r := range found {
			if r.Namespace != "shop" {
				t.Errorf("%s: %v is in namespace %q", tt.reason, r, r.Namespace)
			}
			got = append(got, r.Kind+" "+r.Name)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
	_, err := References(object(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {template: {spec: {containers: text}}}}`))
	if !apierror.Is(err, apierror.CodeInvalid) {
		t.Errorf("what cannot be read: got %v, want INVALID", err)
	}
}
