package promotion

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

// What only the member can report about an object is not in its template; all else is.
func TestClean(t *testing.T) {
	for _, tt := range []struct{ reason, live, want string }{
		{
			"what the API server and controllers note", `
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: b, uid: u, resourceVersion: "7", generation: 3, creationTimestamp: x, generateName: a-, selfLink: /a, managedFields: [{}],
  finalizers: [f], ownerReferences: [{name: o}], labels: {team: shop}, annotations: {note: mine, kubectl.kubernetes.io/last-applied-configuration: "{}"}}
data: {a: b}
status: {x: 1}`,
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: b, labels: {team: shop}, annotations: {note: mine}}, data: {a: b}}`,
		},
		{
			"what Karmada notes of the template that it came from", `
{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {karmada.io/managed: "true", work.karmada.io/permanent-id: x}, annotations: {resourcebinding.karmada.io/name: x}}}`,
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`,
		},
		{
			"a template of pods stays as it is, whatever is in it", `
{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, annotations: {deployment.kubernetes.io/revision: "4"}},
 spec: {template: {metadata: {creationTimestamp: null, annotations: {kubectl.kubernetes.io/restartedAt: x}}, spec: {nodeName: n}}}, status: {replicas: 1}}`,
			`{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {template: {metadata: {creationTimestamp: null, annotations: {kubectl.kubernetes.io/restartedAt: x}}, spec: {nodeName: n}}}}`,
		},
		{
			"a Service is given another address by the instance, which Karmada does not send; ports of nodes stay", `
{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1], type: NodePort, ports: [{port: 80, nodePort: 30080}]}}`,
			`{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {type: NodePort, ports: [{port: 80, nodePort: 30080}]}}`,
		},
		{
			"that a Service has no address is said by people", `{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {clusterIP: None, clusterIPs: [None]}}`,
			`{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {clusterIP: None, clusterIPs: [None]}}`,
		},
		{
			"which volume a claim got", `
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a, annotations: {pv.kubernetes.io/bind-completed: "yes", volume.kubernetes.io/storage-provisioner: x}}, spec: {volumeName: pv-1, storageClassName: fast}}`,
			`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a}, spec: {storageClassName: fast}}`,
		},
		{
			"the tokens of a ServiceAccount", `{apiVersion: v1, kind: ServiceAccount, metadata: {name: a}, secrets: [{name: token}], imagePullSecrets: [{name: pull}]}`,
			`{apiVersion: v1, kind: ServiceAccount, metadata: {name: a}, imagePullSecrets: [{name: pull}]}`,
		},
		{
			"what Kubernetes makes of a Job, so that its controller can make it again", `
{apiVersion: batch/v1, kind: Job, metadata: {name: a, labels: {controller-uid: x, job-name: a, team: shop}},
 spec: {selector: {matchLabels: {batch.kubernetes.io/controller-uid: x}}, template: {metadata: {labels: {batch.kubernetes.io/controller-uid: x, batch.kubernetes.io/job-name: a, controller-uid: x, job-name: a, app: a}}}}}`,
			`{apiVersion: batch/v1, kind: Job, metadata: {name: a, labels: {team: shop}}, spec: {template: {metadata: {labels: {app: a}}}}}`,
		},
		{
			"a selector of a Job that people wrote", `{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {manualSelector: true, selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}}}}}`,
			`{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {manualSelector: true, selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}}}}}`,
		},
	} {
		live := object(t, tt.live)
		before := live.DeepCopy()
		if diff := cmp.Diff(object(t, tt.want).Object, Clean(live).Object); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
		if diff := cmp.Diff(before.Object, live.Object); diff != "" {
			t.Errorf("%s: it changed what it was given:\n%s", tt.reason, diff)
		}
	}
}

// Objects are compared by what they say, so that one that the instance has already
// is left alone.
func TestSame(t *testing.T) {
	a := object(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {a: b}}, data: {a: b}}`)
	for _, tt := range []struct {
		reason, other string
		want          bool
	}{
		{"other notes", `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {c: d}}, data: {a: b}}`, true},
		{"another value", `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: c}}`, false},
		{"one value more", `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: b, c: d}}`, false},
		{"immutable", `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: b}, immutable: true}`, false},
	} {
		if got := same(a, object(t, tt.other)); got != tt.want {
			t.Errorf("%s: got %t", tt.reason, got)
		}
	}
	if a.GetName() != "a" {
		t.Error("comparing changed what was compared")
	}
}

func TestPromotable(t *testing.T) {
	for _, tt := range []struct {
		reason, live, says string
	}{
		{"a user's own", `{kind: Deployment, metadata: {name: a}}`, ""},
		{"an owner that does not control it", `{kind: ConfigMap, metadata: {name: a, ownerReferences: [{kind: Helm, name: h}]}}`, ""},
		{"what a controller makes", `{kind: Pod, metadata: {name: a, ownerReferences: [{kind: ReplicaSet, name: r, controller: true}]}}`, `made by ReplicaSet "r"`},
		{"what is being deleted", `{kind: Deployment, metadata: {name: a, deletionTimestamp: "2026-01-01T00:00:00Z"}}`, "is being deleted"},
	} {
		err := promotable(object(t, tt.live), "m1")
		if (err == nil) != (tt.says == "") || (err != nil && !strings.Contains(err.Error(), tt.says)) {
			t.Errorf("%s: got %v, want %q", tt.reason, err, tt.says)
		}
	}
}
