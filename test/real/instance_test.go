package real

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/test/internal/gql"
)

var karmadas = schema.GroupVersionResource{Group: "operator.karmada.io", Version: "v1alpha1", Resource: "karmadas"}

// condition is one of an object in an answer.
type condition struct{ Type, Status, Reason, Message string }

// told is what Kairship shows of an instance.
type told struct {
	Instance *struct {
		Name, Mode, State, KubernetesVersion, KarmadaVersion string
		ResourceVersion                                      string
		Conditions                                           []condition
		MemberClusters                                       struct {
			Nodes []struct {
				Name  string
				Ready bool
			}
		}
	}
}

const instanceQuery = `query($name: String!) {
	instance(name: $name) {
		name mode state kubernetesVersion karmadaVersion resourceVersion conditions { type status reason message }
		memberClusters { nodes { name ready } }
	}
}`

// TestManagedInstance compares what Kairship shows of the instance with what the operator and the kubelet say.
func TestManagedInstance(t *testing.T) {
	w := open(t)
	data, _ := gql.MustQuery[told](t, w.kairship, instanceQuery, map[string]any{"name": instance})
	shown := data.Instance
	if shown == nil || shown.Mode != "MANAGED" || shown.State != "RUNNING" {
		t.Fatalf("Kairship shows %+v, want a Managed instance that runs", shown)
	}
	for _, c := range shown.Conditions {
		if (c.Type == "Installed" || c.Type == "Reachable") && !strings.EqualFold(c.Status, "True") {
			t.Errorf("condition %+v of an instance that runs", c)
		}
	}
	if members := shown.MemberClusters.Nodes; len(members) != 1 || members[0].Name != member || !members[0].Ready {
		t.Errorf("its members are %+v, want %s alone, and ready", members, member)
	}
	karmada, err := w.objects.Resource(karmadas).Namespace("k-"+instance).Get(t.Context(), instance, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if missing := operatorCondition(karmada, "Ready"); missing != "True" {
		t.Errorf("the operator reports %q for Ready", missing)
	}
	pods, err := w.pods(t.Context(), "k-"+instance, "")
	if err != nil {
		t.Fatal(err)
	}
	const components = 8 // etcd and seven programs with one replica at least
	if len(pods) < components {
		t.Errorf("the instance has %d pods, want %d at least", len(pods), components)
	}
	for i := range pods {
		if pods[i].Status.Phase != corev1.PodRunning || !ready(&pods[i]) {
			t.Errorf("pod %s is %s, and ready: %t", pods[i].Name, pods[i].Status.Phase, ready(&pods[i]))
		}
	}
}

func operatorCondition(karmada *unstructured.Unstructured, kind string) string {
	conditions, _, _ := unstructured.NestedSlice(karmada.Object, "status", "conditions")
	for _, c := range conditions {
		if m, ok := c.(map[string]any); ok && m["type"] == kind {
			status, _ := m["status"].(string)
			return status
		}
	}
	return ""
}
