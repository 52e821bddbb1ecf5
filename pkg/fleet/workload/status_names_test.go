package workload

import (
	"strings"
	"testing"
)

// The names are Karmada's own function's; these tests pin the rules that
// callers rely on, and would show a later Karmada changing them.
func TestBindingName(t *testing.T) {
	long := strings.Repeat("a", 253)
	tests := []struct {
		reason, kind, name, want string
	}{
		{"name, then kind, in lower case", "StatefulSet", "cart", "cart-statefulset"},
		{"':' (in RBAC names) is not allowed in a DNS name", "ClusterRole", "system:node", "system.node-clusterrole"},
		{"upper case is not allowed either", "Role", "Admin", "admin-role"},
		{"a dot stays", "Deployment", "web.v2", "web.v2-deployment"},
		{"nothing is cut or hashed: too long a name makes Karmada fail, not us", "Job", long, long + "-job"},
	}
	for _, tt := range tests {
		if got := BindingName(tt.kind, tt.name); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.reason, got, tt.want)
		}
	}
	if got := KindStatefulSet.BindingName("cart"); got != "cart-statefulset" {
		t.Errorf("the kind's own method gives %q", got)
	}
}

func TestWorkName(t *testing.T) {
	name := karmadaWorkName("Deployment", "frontend", "shop")
	if name != "frontend-5c9c546644" {
		t.Errorf("a Work is named after its template and a hash, got %q", name)
	}
	if got := KindDeployment.WorkName("shop", "frontend"); got != name {
		t.Errorf("the kind's own method gives %q, want %q", got, name)
	}
	for reason, other := range map[string]string{
		"another namespace": karmadaWorkName("Deployment", "frontend", "ops"),
		"another kind":      karmadaWorkName("StatefulSet", "frontend", "shop"),
		"no namespace":      karmadaWorkName("Deployment", "frontend", ""),
	} {
		if other == name || !strings.HasPrefix(other, "frontend-") {
			t.Errorf("%s gives %q beside %q", reason, other, name)
		}
	}
}

func TestExecutionNamespace(t *testing.T) {
	if got := ExecutionNamespace("m1"); got != "karmada-es-m1" {
		t.Errorf("got %q", got)
	}
	tests := []struct {
		reason, namespace, want string
		ok                      bool
	}{
		{"the reverse", "karmada-es-m1", "m1", true},
		{"a cluster's name may hold the prefix", "karmada-es-karmada-es-m1", "karmada-es-m1", true},
		{"any other namespace", "shop", "", false},
		{"a prefix alone names no cluster", "karmada-es-", "", false},
	}
	for _, tt := range tests {
		got, ok := ClusterOfExecutionNamespace(tt.namespace)
		if ok != tt.ok || (ok && got != tt.want) {
			t.Errorf("%s: got %q, %v", tt.reason, got, ok)
		}
	}
}
