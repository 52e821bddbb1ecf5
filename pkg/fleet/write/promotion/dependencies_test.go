package promotion

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/write/policies"
	"github.com/kairship-io/kairship/pkg/fleet/write/resources"
	"github.com/kairship-io/kairship/pkg/fleet/write/writetest"
)

const (
	inInstance = "/api/v1/namespaces/shop/"
	inMember   = "/apis/cluster.karmada.io/v1alpha1/clusters/m1/proxy"
	webPath    = "/apis/apps/v1/namespaces/shop/deployments/web"
)

// promoting is an instance whose member m1 runs a Deployment that names a
// ConfigMap and a Secret.
func promoting(t *testing.T) (*writetest.Instance, *Service) {
	t.Helper()
	i, w := writetest.New(t,
		metav1.APIResource{Version: "v1", Name: "configmaps", Kind: "ConfigMap", Namespaced: true},
		metav1.APIResource{Version: "v1", Name: "secrets", Kind: "Secret", Namespaced: true},
		metav1.APIResource{Group: "apps", Version: "v1", Name: "deployments", Kind: "Deployment", Namespaced: true},
		metav1.APIResource{Group: "policy.karmada.io", Version: "v1alpha1", Name: "propagationpolicies", Kind: "PropagationPolicy", Namespaced: true},
	)
	i.Put(inMember+webPath, object(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop, uid: m},
		spec: {template: {spec: {containers: [{name: a, envFrom: [{configMapRef: {name: settings}}, {secretRef: {name: password}}]}]}}}}`).Object)
	i.Put(inMember+inInstance+"configmaps/settings", object(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: shop}, data: {a: b}}`).Object)
	i.Put(inMember+inInstance+"secrets/password", object(t, `{apiVersion: v1, kind: Secret, metadata: {name: password, namespace: shop}, type: Opaque, data: {p: aHVudGVyMg==}}`).Object)
	return i, &Service{Writer: w, Resources: &resources.Service{Writer: w}, Policies: policies.NewWrites(w)}
}

func input(t *testing.T) Input {
	t.Helper()
	namespace, name := "shop", "keep"
	return Input{
		Instance: writetest.Name, Cluster: "m1", Group: "apps", Version: "v1", Resource: "deployments", Namespace: &namespace, Name: "web",
		Dependencies: true, PolicyName: &name, PreserveOnDeletion: true,
	}
}

// What an object names is taken along, unless the instance has it, the member
// makes it on its own, or none has it.
func TestDependencies(t *testing.T) {
	for _, tt := range []struct {
		reason  string
		prepare func(i *writetest.Instance)
		want    string
		code    apierror.Code
	}{
		{"all of it is new", func(*writetest.Instance) {}, "PropagationPolicy CREATED, ConfigMap CREATED, Secret CREATED, Deployment CREATED", ""},
		{"the member does not have it either", func(i *writetest.Instance) { delete(i.Objects, inMember+inInstance+"secrets/password") }, "PropagationPolicy CREATED, ConfigMap CREATED, Deployment CREATED, Secret SKIPPED", ""},
		{"it is a token, which the member makes", func(i *writetest.Instance) {
			i.Put(inMember+inInstance+"secrets/password", object(t, `{apiVersion: v1, kind: Secret, metadata: {name: password, namespace: shop}, type: kubernetes.io/service-account-token}`).Object)
		}, "PropagationPolicy CREATED, ConfigMap CREATED, Deployment CREATED, Secret SKIPPED", ""},
		{"the instance has the same", func(i *writetest.Instance) {
			i.Put(inInstance+"configmaps/settings", object(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: shop, labels: {a: b}}, data: {a: b}}`).Object)
		}, "PropagationPolicy CREATED, Secret CREATED, Deployment CREATED, ConfigMap UNCHANGED", ""},
		{"the instance has another", func(i *writetest.Instance) {
			i.Put(inInstance+"secrets/password", object(t, `{apiVersion: v1, kind: Secret, metadata: {name: password, namespace: shop}, type: Opaque, data: {p: c3dvcmRmaXNo}}`).Object)
		}, "", apierror.CodeConflict},
	} {
		i, s := promoting(t)
		tt.prepare(i)
		p, err := s.Promote(writetest.As(t.Context()), input(t))
		if tt.code != "" {
			e, ok := errors.AsType[*apierror.Error](err)
			if !ok || e.Code != tt.code || e.Argument != dependenciesArgument || strings.Contains(e.Message, "hunter2") || strings.Contains(e.Message, "aHVu") {
				t.Errorf("%s: got %v", tt.reason, err)
			}
			if sent := i.Written(); len(sent) > 0 {
				t.Errorf("%s: something was written: %v", tt.reason, sent)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.reason, err)
			continue
		}
		if diff := cmp.Diff(tt.want, resultsOf(p)); diff != "" || !p.Promoted || p.PolicyName != "keep" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
		for _, sent := range i.Written() {
			if strings.Contains(sent, "/proxy/") {
				t.Errorf("%s: the member was written to: %s", tt.reason, sent)
			}
		}
	}
}

func resultsOf(p *Payload) string {
	var parts []string
	for _, r := range p.Results {
		part := r.Kind + " " + string(r.Action)
		if r.Rollback != nil {
			part += " " + string(r.Rollback.Outcome)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

// The policy is written first and the object last, and is undone in the other
// order: nothing is propagated before everything is there.
func TestTheObjectComesLast(t *testing.T) {
	i, s := promoting(t)
	i.Before = func(r *http.Request, path string) error {
		if r.Method == http.MethodPost && path == webPath && r.URL.Query().Get("dryRun") == "" {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "deployments"}, "web", errors.New("late"))
		}
		return nil
	}
	in := input(t)
	in.Rollback = true
	p, err := s.Promote(writetest.As(t.Context()), in)
	if err != nil || p.Promoted || resultsOf(p) != "PropagationPolicy CREATED DELETED, ConfigMap CREATED DELETED, Secret CREATED DELETED, Deployment FAILED" {
		t.Fatalf("got %v, %v", p, err)
	}
	policies := "/apis/policy.karmada.io/v1alpha1/namespaces/shop/propagationpolicies/keep"
	want := []string{
		"POST " + policies, "POST " + inInstance + "configmaps/settings", "POST " + inInstance + "secrets/password",
		"DELETE " + inInstance + "secrets/password", "DELETE " + inInstance + "configmaps/settings", "DELETE " + policies,
	}
	if diff := cmp.Diff(want, i.Written()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPolicyOfAPromotion(t *testing.T) {
	i, s := promoting(t)
	in := input(t)
	in.PreserveOnDeletion, in.Dependencies = false, false
	if _, err := s.Promote(writetest.As(t.Context()), in); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"resourceSelectors":  []any{map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}},
		"placement":          map[string]any{"clusterAffinity": map[string]any{"clusterNames": []any{"m1"}}},
		"conflictResolution": "Overwrite", "preserveResourcesOnDeletion": false,
	}
	got, _ := i.Get("/apis/policy.karmada.io/v1alpha1/namespaces/shop/propagationpolicies/keep").Object["spec"].(map[string]any)
	for key, value := range want {
		if diff := cmp.Diff(value, got[key]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", key, diff)
		}
	}
	if deps, _ := got["propagateDeps"].(bool); deps {
		t.Error("dependencies are propagated, and not wanted")
	}
}
