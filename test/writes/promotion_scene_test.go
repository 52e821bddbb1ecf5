package writes

import (
	"slices"
	"strings"
	"testing"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// legacy is a namespace of alpha with what runs in m1 alone, made by hand.
type legacy struct {
	namespace string
	alice     *gql.Client
}

// newLegacy applies manifests in m1, in a namespace that alpha and m1 have, as
// a user who knows nothing of Karmada; alice may reach it with a role in m1.
func newLegacy(t *testing.T, role, manifests string) *legacy {
	t.Helper()
	s := &legacy{namespace: namespaceIn(t), alice: person(t, "alice")}
	poll.True(t, within, "the namespace is in m1", func() bool {
		_, there := storedIn(t, "m1", "", s.namespace, &corev1.Namespace{})
		return there
	})
	c := fleet.Open(t).Client(t, "m1")
	for text := range strings.SplitSeq(manifests, "\n---\n") {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
			t.Fatal(err)
		}
		u.SetNamespace(s.namespace)
		if err := c.Create(t.Context(), u); err != nil {
			t.Fatal(err)
		}
	}
	reachMember(t, "alice", role)
	poll.True(t, within, "m1 is reached through alpha", func() bool {
		_, errs := mutate[written](t, s.alice, "promoteResource", s.input("", "configmaps", "none"), "promoted")
		return len(errs) == 1 && errs[0].Extensions.Code == "NOT_FOUND"
	})
	return s
}

func (s *legacy) input(group, resource, name string, more ...any) map[string]any {
	return but(map[string]any{"instance": "alpha", "cluster": "m1", "group": group, "version": "v1", "resource": resource, "namespace": s.namespace, "name": name}, more...)
}

func (s *legacy) in(t *testing.T, cluster, apiVersion, kind, name string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	if _, there := storedIn(t, cluster, s.namespace, name, u); !there {
		return nil
	}
	return u
}

// propagateAnother has alpha propagate a ConfigMap, and waits until it is scheduled.
func (s *legacy) propagateAnother(t *testing.T) {
	t.Helper()
	alpha := fleet.Open(t).Client(t, "alpha")
	named := meta(s.namespace, "another")
	policy := &policyv1alpha1.PropagationPolicy{ObjectMeta: named, Spec: policyv1alpha1.PropagationSpec{
		ResourceSelectors: []policyv1alpha1.ResourceSelector{{APIVersion: "v1", Kind: "ConfigMap", Name: "another"}},
		Placement:         policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m2"}}},
	}}
	for _, o := range []client.Object{&corev1.ConfigMap{ObjectMeta: named}, policy} {
		if err := alpha.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	poll.True(t, within, "Karmada has scheduled another object", func() bool {
		binding := s.in(t, "alpha", "work.karmada.io/v1alpha2", "ResourceBinding", "another-configmap")
		if binding == nil {
			return false
		}
		clusters, _, err := unstructured.NestedSlice(binding.Object, "spec", "clusters")
		return err == nil && len(clusters) > 0
	})
}

// podUIDs are the UIDs of the pods in m1.
func (s *legacy) podUIDs(t *testing.T) []string {
	t.Helper()
	list, err := fleet.Open(t).Kubernetes(t, "m1").CoreV1().Pods(s.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var uids []string
	for _, p := range list.Items {
		uids = append(uids, string(p.UID))
	}
	slices.Sort(uids)
	return uids
}
