package write_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/write"
	"github.com/kairship-io/kairship/pkg/fleet/write/writetest"
)

// TestFromMember checks that the errors of reading an object in a member are distinct: the instance
// refuses the proxy, the member does not exist, the member refuses, the object does not exist.
func TestFromMember(t *testing.T) {
	const at = "/apis/cluster.karmada.io/v1alpha1/clusters/m1/proxy/api/v1/namespaces/shop/configmaps/settings"
	clusters := schema.GroupResource{Group: "cluster.karmada.io", Resource: "clusters"}
	configMaps := schema.GroupResource{Resource: "configmaps"}
	configMap := write.Kind{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Kind: "ConfigMap", Namespaced: true}
	paths := write.Paths{"": "input.name!", "metadata.namespace": "input.namespace"}
	for _, tt := range []struct {
		reason, member string
		answer         error
		code           apierror.Code
		argument       string
		has, hasNot    string
	}{
		{"it is there", "m1", nil, "", "", "", ""},
		{"no name of a cluster", "../m1", nil, apierror.CodeInvalid, "input.cluster", "", ""},
		{"no such member", "m1", apierrors.NewNotFound(clusters, "m1"), apierror.CodeNotFound, "input.cluster", `Cluster "m1"`, ""},
		{"no such object", "m1", apierrors.NewNotFound(configMaps, "settings"), apierror.CodeNotFound, "input.name", `shop/settings" was not found in member cluster "m1"`, ""},
		{"no such namespace", "m1", apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "shop"), apierror.CodeNotFound, "input.namespace", "in member cluster", ""},
		{"the instance does not let them through", "m1", apierrors.NewForbidden(clusters, "m1", errors.New(`User "editor" cannot`)), apierror.CodeForbidden, "", "clusters/proxy", "editor"},
		{"the member refuses", "m1", apierrors.NewForbidden(configMaps, "settings", errors.New(`User "editor" cannot`)), apierror.CodeForbidden, "", `inside member cluster "m1"`, "editor"},
		{"the member does not know them", "m1", apierrors.NewUnauthorized("token of editor"), apierror.CodeForbidden, "", `inside member cluster "m1"`, "token"},
		{"the member is away", "m1", apierrors.NewServiceUnavailable("dial tcp 10.0.0.1"), apierror.CodeInstanceUnavailable, "", `member cluster "m1" does not answer`, "10.0.0.1"},
		{"anything else", "m1", errors.New("dial tcp 10.0.0.1"), apierror.CodeInstanceUnavailable, "", `member cluster "m1" does not answer`, "10.0.0.1"},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			i, w := writetest.New(t, metav1.APIResource{Version: "v1", Name: "configmaps", Kind: "ConfigMap", Namespaced: true})
			i.Put(at, map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "settings", "namespace": "shop"}})
			i.Before = func(r *http.Request, _ string) error {
				if r.Header.Get("Impersonate-User") != "editor" {
					t.Errorf("it is read as %q", r.Header.Get("Impersonate-User"))
				}
				return tt.answer
			}
			site, err := w.To(writetest.As(t.Context()), writetest.Name)
			if err != nil {
				t.Fatal(err)
			}
			u, err := site.FromMember(writetest.As(t.Context()), tt.member, "input.cluster", configMap, "shop", "settings", paths)
			if tt.code == "" {
				if err != nil || u.GetName() != "settings" {
					t.Errorf("got %v, %v", u, err)
				}
				return
			}
			e, ok := errors.AsType[*apierror.Error](err)
			if !ok || e.Code != tt.code || e.Argument != tt.argument || !strings.Contains(e.Message, tt.has) {
				t.Fatalf("got %#v, want %s at %q with %q", err, tt.code, tt.argument, tt.has)
			}
			if tt.hasNot != "" && strings.Contains(e.Message, tt.hasNot) {
				t.Errorf("%q tells %q", e.Message, tt.hasNot)
			}
		})
	}
}

// A member is not trusted: what it answers is written to the instance as the caller,
// so it has to be the object that was asked for.
func TestFromMemberAnotherObject(t *testing.T) {
	const proxy = "/apis/cluster.karmada.io/v1alpha1/clusters/m1/proxy"
	configMaps := write.Kind{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Kind: "ConfigMap", Namespaced: true}
	classes := write.Kind{GroupVersionResource: schema.GroupVersionResource{Group: "scheduling.k8s.io", Version: "v1", Resource: "priorityclasses"}, Kind: "PriorityClass"}
	for _, tt := range []struct {
		reason                            string
		asked                             write.Kind
		apiVersion, kind, namespace, name string
		taken                             bool
	}{
		{"what was asked for", configMaps, "v1", "ConfigMap", "shop", "settings", true},
		{"another kind", configMaps, "rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "", "settings", false},
		{"a kind of the same name in another group", configMaps, "example.com/v1", "ConfigMap", "shop", "settings", false},
		{"another version", configMaps, "v2", "ConfigMap", "shop", "settings", false},
		{"another namespace", configMaps, "v1", "ConfigMap", "kube-system", "settings", false},
		{"no namespace", configMaps, "v1", "ConfigMap", "", "settings", false},
		{"another name", configMaps, "v1", "ConfigMap", "shop", "other", false},
		{"what was asked for, without a namespace", classes, "scheduling.k8s.io/v1", "PriorityClass", "", "settings", true},
		{"a namespace where there is none", classes, "scheduling.k8s.io/v1", "PriorityClass", "shop", "settings", false},
	} {
		i, w := writetest.New(t)
		at, namespace := proxy+"/apis/scheduling.k8s.io/v1/priorityclasses/settings", ""
		if tt.asked.Namespaced {
			at, namespace = proxy+"/api/v1/namespaces/shop/configmaps/settings", "shop"
		}
		metadata := map[string]any{"name": tt.name}
		if tt.namespace != "" {
			metadata["namespace"] = tt.namespace
		}
		i.Put(at, map[string]any{"apiVersion": tt.apiVersion, "kind": tt.kind, "metadata": metadata})
		site, err := w.To(writetest.As(t.Context()), writetest.Name)
		if err != nil {
			t.Fatal(err)
		}
		u, err := site.FromMember(writetest.As(t.Context()), "m1", "input.cluster", tt.asked, namespace, "settings", nil)
		switch e, ok := errors.AsType[*apierror.Error](err); {
		case tt.taken && (err != nil || u.GetName() != "settings"):
			t.Errorf("%s: got %v, %v", tt.reason, u, err)
		case !tt.taken && (!ok || u != nil || e.Code != apierror.CodeInstanceUnavailable || e.Instance != writetest.Name ||
			!strings.Contains(e.Message, `member cluster "m1" answered with another object`)):
			t.Errorf("%s: got %v, %v, want it to be refused", tt.reason, u, err)
		}
	}
}
