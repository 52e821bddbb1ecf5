package snapshot

import (
	"errors"
	"testing"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestSnapshot(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := policyv1alpha1.Install(scheme); err != nil {
		t.Fatal(err)
	}
	policy := func(namespace, name string, priority int32) *policyv1alpha1.PropagationPolicy {
		p := &policyv1alpha1.PropagationPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		p.Spec.Priority = &priority
		return p
	}
	draft := policy("a", "one", 2)
	s, err := New(scheme, policy("a", "one", 1), policy("b", "two", 1), draft)
	if err != nil {
		t.Fatal(err)
	}
	var got policyv1alpha1.PropagationPolicy
	if err := s.Get(t.Context(), client.ObjectKey{Namespace: "a", Name: "one"}, &got); err != nil || *got.Spec.Priority != 2 {
		t.Errorf("the draft is not found: %v, %+v", err, got.Spec)
	}
	*got.Spec.Priority = 3
	if *draft.Spec.Priority != 2 {
		t.Error("a change of what was read reaches the snapshot")
	}
	if err := s.Get(t.Context(), client.ObjectKey{Namespace: "b", Name: "one"}, &got); !apierrors.IsNotFound(err) {
		t.Errorf("a policy that is not there: %v", err)
	}
	var list policyv1alpha1.PropagationPolicyList
	if err := s.List(t.Context(), &list); err != nil || len(list.Items) != 2 || list.Items[0].Name != "one" {
		t.Errorf("the list of all: %v, %+v", err, list.Items)
	}
	if err := s.List(t.Context(), &list, client.InNamespace("b")); err != nil || len(list.Items) != 1 || list.Items[0].Name != "two" {
		t.Errorf("the list of one namespace: %v, %+v", err, list.Items)
	}
	if err := s.Create(t.Context(), draft); !errors.Is(err, ErrReadOnly) {
		t.Errorf("a write: %v", err)
	}
	if err := s.Status().Update(t.Context(), draft); !errors.Is(err, ErrReadOnly) {
		t.Errorf("a write of a status: %v", err)
	}
}
