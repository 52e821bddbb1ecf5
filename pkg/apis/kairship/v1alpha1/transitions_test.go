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
			reason: "etcd does not move to other volumes", kind: "Instance", object: "moved", before: "mode: Managed\nhostCluster: m1\ncomponents: {etcd: {replicas: 3}}",
			path: []string{"spec", "components", "etcd", "storage"}, to: map[string]any{"size": "10Gi"}, want: []string{"spec.components.etcd", "etcd cannot change"},
		},
		{
			reason: "etcd keeps its members", kind: "Instance", object: "moved", before: "mode: Managed\nhostCluster: m1\ncomponents: {etcd: {replicas: 1}}",
			path: []string{"spec", "components", "etcd", "replicas"}, to: int64(3), want: []string{"spec.components.etcd", "etcd cannot change"},
		},
		{
			reason: "what etcd was installed with cannot be left out", kind: "Instance", object: "moved", before: "mode: Managed\nhostCluster: m1\ncomponents: {etcd: {replicas: 3}}",
			path: []string{"spec", "components"}, to: nil, want: []string{"spec.components.etcd", "etcd cannot change"},
		},
		{
			reason: "etcd cannot be said later", kind: "Instance", object: "moved", before: "mode: Managed\nhostCluster: m1",
			path: []string{"spec", "components"}, to: map[string]any{"etcd": map[string]any{"replicas": int64(3)}}, want: []string{"spec.components.etcd", "etcd cannot change"},
		},
		{
			reason: "the certificate is issued once", kind: "Instance", object: "moved", before: "mode: Managed\nhostCluster: m1",
			path: []string{"spec", "components"}, to: map[string]any{"apiServer": map[string]any{"certSANs": []any{"a.example.com"}}},
			want: []string{"spec.components.apiServer.certSANs", "certSANs cannot change"},
		},
		{
			reason: "the Service keeps its type", kind: "Instance", object: "moved", before: "mode: Managed\nhostCluster: m1\ncomponents: {apiServer: {serviceType: NodePort, replicas: 1}}",
			path: []string{"spec", "components", "apiServer", "serviceType"}, to: "LoadBalancer", want: []string{"spec.components.apiServer.serviceType", "serviceType cannot change"},
		},
		{
			reason: "more apiservers are fine", kind: "Instance", object: "moved", before: "mode: Managed\nhostCluster: m1\ncomponents: {apiServer: {serviceType: NodePort, replicas: 1}}",
			path: []string{"spec", "components", "apiServer", "replicas"}, to: int64(3),
		},
		{
			reason: "a descheduler that was left out would go on running", kind: "Instance", object: "moved", before: "mode: Managed\nhostCluster: m1\ncomponents: {descheduler: {enabled: true}}",
			path: []string{"spec", "components"}, to: nil, want: []string{"spec.components.descheduler", "set its enabled to false"},
		},
		{
			reason: "a later version is fine", kind: "Instance", object: "moved", before: "mode: Managed\nhostCluster: m1\nkarmadaVersion: v1.9.2",
			path: []string{"spec", "karmadaVersion"}, to: "v1.18.0",
		},
		{
			reason: "an earlier patch is fine", kind: "Instance", object: "moved", before: "mode: Managed\nhostCluster: m1\nkarmadaVersion: v1.18.2",
			path: []string{"spec", "karmadaVersion"}, to: "v1.18.0-rc.1",
		},
		{
			reason: "an earlier minor version is not", kind: "Instance", object: "moved", before: "mode: Managed\nhostCluster: m1\nkarmadaVersion: v1.18.2",
			path: []string{"spec", "karmadaVersion"}, to: "v1.9.5", want: []string{"spec.karmadaVersion", "cannot go back"},
		},
		{
			reason: "a declaration may be corrected", kind: "Instance", object: "moved", before: "mode: External\nkubeconfigSecretRef: {name: a}\nkarmadaVersion: v1.18.2",
			path: []string{"spec", "karmadaVersion"}, to: "v1.9.5",
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
