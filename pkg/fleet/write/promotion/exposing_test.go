package promotion

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kairship-io/kairship/pkg/fleet/write/policies"
	"github.com/kairship-io/kairship/pkg/fleet/write/resources"
	"github.com/kairship-io/kairship/pkg/fleet/write/writetest"
)

func TestSelects(t *testing.T) {
	pods := labels.Set{"app": "web", "tier": "front"}
	for _, tt := range []struct {
		reason, service string
		want            bool
	}{
		{"a part of the labels", `{kind: Service, apiVersion: v1, spec: {selector: {app: web}}}`, true},
		{"another value", `{kind: Service, apiVersion: v1, spec: {selector: {app: db}}}`, false},
		{"more than the pods have", `{kind: Service, apiVersion: v1, spec: {selector: {app: web, a: b}}}`, false},
		{"no selector selects nothing", `{kind: Service, apiVersion: v1, spec: {}}`, false},
	} {
		if got := selects(object(t, tt.service), pods); got != tt.want {
			t.Errorf("%s: got %v", tt.reason, got)
		}
	}
}

func TestLeadsTo(t *testing.T) {
	for _, tt := range []struct {
		reason, spec string
		want         bool
	}{
		{"a path", `{rules: [{host: a}, {http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]}`, true},
		{"the default", `{defaultBackend: {service: {name: web}}}`, true},
		{"another Service", `{defaultBackend: {service: {name: db}}}`, false},
		{"a resource", `{defaultBackend: {resource: {kind: Bucket, name: web}}}`, false},
	} {
		if got := leadsTo(object(t, `{apiVersion: networking.k8s.io/v1, kind: Ingress, spec: `+tt.spec+`}`), map[string]bool{"web": true}); got != tt.want {
			t.Errorf("%s: got %v", tt.reason, got)
		}
	}
}

// What exposes a workload is taken along, and what leads elsewhere, or what a controller makes, is not.
func TestExposing(t *testing.T) {
	i, w := writetest.New(t,
		metav1.APIResource{Version: "v1", Name: "services", Kind: "Service", Namespaced: true},
		metav1.APIResource{Version: "v1", Name: "secrets", Kind: "Secret", Namespaced: true},
		metav1.APIResource{Group: "networking.k8s.io", Version: "v1", Name: "ingresses", Kind: "Ingress", Namespaced: true},
		metav1.APIResource{Group: "apps", Version: "v1", Name: "deployments", Kind: "Deployment", Namespaced: true},
		metav1.APIResource{Group: "policy.karmada.io", Version: "v1alpha1", Name: "propagationpolicies", Kind: "PropagationPolicy", Namespaced: true},
	)
	s := &Service{Writer: w, Resources: &resources.Service{Writer: w}, Policies: policies.NewWrites(w)}
	i.Put(inMember+webPath, object(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}, spec: {template: {metadata: {labels: {app: web}}, spec: {containers: []}}}}`).Object)
	i.Put(inMember+inInstance+"services", object(t, `{apiVersion: v1, kind: ServiceList, metadata: {}, items: [
		{metadata: {name: web, namespace: shop}, spec: {selector: {app: web}, clusterIP: 10.0.0.1}},
		{metadata: {name: made, namespace: shop, ownerReferences: [{apiVersion: a/v1, kind: B, name: b, uid: u, controller: true}]}, spec: {selector: {app: web}}},
		{metadata: {name: db, namespace: shop}, spec: {selector: {app: db}}},
		{metadata: {name: elsewhere, namespace: billing}, spec: {selector: {app: web}}}]}`).Object)
	i.Put(inMember+"/apis/networking.k8s.io/v1/namespaces/shop/ingresses", object(t, `{apiVersion: networking.k8s.io/v1, kind: IngressList, metadata: {}, items: [
		{metadata: {name: web, namespace: shop}, spec: {defaultBackend: {service: {name: web}}, tls: [{secretName: tls}]}},
		{metadata: {name: db, namespace: shop}, spec: {defaultBackend: {service: {name: db}}}}]}`).Object)
	i.Put(inMember+inInstance+"secrets/tls", object(t, `{apiVersion: v1, kind: Secret, metadata: {name: tls, namespace: shop}, type: kubernetes.io/tls}`).Object)
	in := input(t)
	in.Exposing = true
	in.DryRun = true
	if _, err := s.Promote(writetest.As(t.Context()), in); err != nil || len(i.Written()) > 0 {
		t.Fatalf("a dry run: %v, wrote %v", err, i.Written())
	}
	in.DryRun = false
	p, err := s.Promote(writetest.As(t.Context()), in)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("PropagationPolicy CREATED, Service CREATED, Secret CREATED, Ingress CREATED, Deployment CREATED, Service SKIPPED", resultsOf(p)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got := i.Get("/apis/policy.karmada.io/v1alpha1/namespaces/shop/propagationpolicies/keep").Object["spec"].(map[string]any)["resourceSelectors"]
	want := []any{
		map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
		map[string]any{"apiVersion": "v1", "kind": "Service", "name": "web"},
		map[string]any{"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "web"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the policy selects (-want +got):\n%s", diff)
	}
	if service := i.Get(inInstance + "services/web"); service.Object["spec"].(map[string]any)["clusterIP"] != nil {
		t.Errorf("the Service is %v", service.Object)
	}
}
