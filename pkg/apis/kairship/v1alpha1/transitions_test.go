package v1alpha1_test

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

func TestTransitions(t *testing.T) {
	kube := newClient(t)
	const person = "instanceRef: {name: alpha}\nsubject: {kind: User, name: alice}\nrole: viewer"
	const event = person + "\nsource: {bindingID: b-1, eventID: e-1, sequence: 7}"
	for _, c := range []struct {
		reason       string
		kind, before string
		object       string
		path         []string
		to           any
		want         []string
	}{
		{
			reason: "the mode cannot change", kind: "Instance", object: "moved", before: "mode: External\nkubeconfigSecretRef: {name: a}",
			path: []string{"spec", "mode"}, to: "Managed", want: []string{"spec.mode", "mode cannot change"},
		},
		{
			reason: "a control plane does not move", kind: "Instance", object: "moved", before: "mode: Managed\nhostCluster: m1",
			path: []string{"spec", "hostCluster"}, to: "m2", want: []string{"spec.hostCluster", "hostCluster cannot change"},
		},
		{
			reason: "another Secret is fine", kind: "Instance", object: "moved", before: "mode: External\nkubeconfigSecretRef: {name: a}",
			path: []string{"spec", "kubeconfigSecretRef", "name"}, to: "b",
		},
		{
			reason: "the type cannot change", kind: "Cluster", object: "moved", before: "apiEndpoint: https://a\ncredentialsSecretRef: {name: a}",
			path: []string{"spec", "type"}, to: "Virtual", want: []string{"spec.type", "type cannot change"},
		},
		{
			reason: "another endpoint is fine", kind: "Cluster", object: "moved", before: "apiEndpoint: https://a\ncredentialsSecretRef: {name: a}",
			path: []string{"spec", "apiEndpoint"}, to: "https://b",
		},
		{
			reason: "a cluster may join an instance later", kind: "Cluster", object: "moved", before: "apiEndpoint: https://a\ncredentialsSecretRef: {name: a}",
			path: []string{"spec", "instanceRef"}, to: map[string]any{"name": "alpha"},
		},
		{
			reason: "the instance of a binding cannot change", kind: "InstanceRoleBinding", object: "moved", before: person,
			path: []string{"spec", "instanceRef", "name"}, to: "beta", want: []string{"spec.instanceRef", "instanceRef cannot change"},
		},
		{
			reason: "the subject of a binding cannot change", kind: "InstanceRoleBinding", object: "moved", before: person,
			path: []string{"spec", "subject", "name"}, to: "bob", want: []string{"spec.subject", "subject cannot change"},
		},
		{
			reason: "another role is fine", kind: "InstanceRoleBinding", object: "moved", before: person,
			path: []string{"spec", "role"}, to: "admin",
		},
		{
			reason: "other namespaces are fine", kind: "InstanceRoleBinding", object: "moved", before: person,
			path: []string{"spec", "namespaces"}, to: []any{"shop", "ops"},
		},
		{
			reason: "a binding may be revoked", kind: "InstanceRoleBinding", object: "moved", before: person,
			path: []string{"spec", "revoked"}, to: true,
		},
		{
			reason: "global management does not take over what a person wrote", kind: "InstanceRoleBinding", object: "moved", before: person,
			path: []string{"spec", "source"}, to: map[string]any{"bindingID": "b-1", "eventID": "e-1", "sequence": int64(1)},
			want: []string{"spec.source: Forbidden", "source cannot be added"},
		},
		{
			reason: "the source is what keeps late events out", kind: "InstanceRoleBinding", object: v1alpha1.BindingName("b-1"), before: event,
			path: []string{"spec", "source"}, to: nil, want: []string{"spec.source: Forbidden", "source cannot be removed"},
		},
		{
			reason: "a later event is fine", kind: "InstanceRoleBinding", object: v1alpha1.BindingName("b-1"), before: event,
			path: []string{"spec", "source", "sequence"}, to: int64(8),
		},
		{
			reason: "an earlier event is too late", kind: "InstanceRoleBinding", object: v1alpha1.BindingName("b-1"), before: event,
			path: []string{"spec", "source", "sequence"}, to: int64(6), want: []string{"spec.source.sequence", "sequence cannot go back"},
		},
		{
			reason: "an object stands for one binding", kind: "InstanceRoleBinding", object: v1alpha1.BindingName("b-1"), before: event,
			path: []string{"spec", "source", "bindingID"}, to: "b-2", want: []string{"spec.source.bindingID", "bindingID cannot change"},
		},
	} {
		t.Run(c.reason, func(t *testing.T) {
			object := manifest(t, c.kind, c.object, c.before)
			if err := kube.Create(t.Context(), object); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := kube.Delete(context.Background(), object); err != nil {
					t.Error(err)
				}
			})
			if c.to == nil {
				unstructured.RemoveNestedField(object.Object, c.path...)
			} else if err := unstructured.SetNestedField(object.Object, c.to, c.path...); err != nil {
				t.Fatal(err)
			}
			checkRejection(t, kube.Update(t.Context(), object), c.want)
		})
	}
}
