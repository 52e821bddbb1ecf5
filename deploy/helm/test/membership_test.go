package test

import (
	"context"
	"errors"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apis/apitest"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// TestMembershipIsARightOfItsOwn has people who may write every Cluster change where one
// is joined, with and without the rights that this takes.
func TestMembershipIsARightOfItsOwn(t *testing.T) {
	connect(t)
	admin := typed(t, apitest.Config(t))
	for _, o := range objects(t, render(t, matrix(t)["default"])) {
		if o.GroupVersionKind().Group != admissionv1.GroupName {
			continue
		}
		if err := admin.Create(t.Context(), o); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	membership := func(names ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{v1alpha1.GroupName}, Resources: []string{"clusters/membership"}, Verbs: []string{"update"}, ResourceNames: names}
	}
	instances := func(names ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{v1alpha1.GroupName}, Resources: []string{"instances/management"}, Verbs: []string{"update"}, ResourceNames: names}
	}
	people := map[string]client.Client{
		"writer":       writer(t, "writer"),
		"cluster only": writer(t, "cluster-only", membership()),
		"both":         writer(t, "both", membership("free", "joined", "new"), instances("policy-a")),
		"everywhere":   writer(t, "everywhere", membership(), instances()),
	}
	for name, instance := range map[string]string{"free": "", "joined": "policy-a"} {
		c := entry(name, instance)
		if err := admin.Create(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = admin.Delete(context.Background(), c) })
	}
	patch := func(name, body string) func(context.Context, client.Client) error {
		return func(ctx context.Context, kube client.Client) error {
			return kube.Patch(ctx, entry(name, ""), client.RawPatch(types.MergePatchType, []byte(body)), client.DryRunAll)
		}
	}
	create := func(instance string) func(context.Context, client.Client) error {
		return func(ctx context.Context, kube client.Client) error {
			return kube.Create(ctx, entry("new", instance), client.DryRunAll)
		}
	}
	const cluster, instance = "takes update on clusters/membership", "takes update on instances/management"
	join, leave := `{"spec": {"instanceRef": {"name": "policy-a"}}}`, `{"spec": {"instanceRef": null}}`
	eventually(t, "the admission policy is in effect", func() error {
		if err := patch("free", join)(t.Context(), people["writer"]); !apierrors.IsForbidden(err) {
			return errors.Join(err, errors.New("it is not refused"))
		}
		return nil
	})
	for _, tt := range []struct {
		who, reason string
		do          func(context.Context, client.Client) error
		refusal     string
	}{
		{"writer", "where a free cluster leads is for those who write it", patch("free", `{"spec": {"apiEndpoint": "https://10.0.0.2"}}`), ""},
		{"writer", "the same with a cluster that is joined", patch("joined", `{"spec": {"alias": "x", "instanceRef": {"name": "policy-a"}}}`), ""},
		{"writer", "a free cluster is created without the right", create(""), ""},
		{"writer", "a cluster is not created joined", create("policy-a"), cluster},
		{"writer", "a cluster does not join", patch("free", join), cluster},
		{"writer", "a cluster does not leave", patch("joined", leave), cluster},
		{"writer", "a cluster does not move", patch("joined", `{"spec": {"instanceRef": {"name": "policy-b"}}}`), cluster},
		{"writer", "the instance is not given the inventory's credentials", patch("joined", `{"spec": {"join": {"credentials": "Given"}}}`), cluster},
		{"writer", "workloads are not taken out", patch("joined", `{"spec": {"join": {"removalPolicy": "Force"}}}`), cluster},
		{"writer", "the defaults spelled out change nothing", patch("joined", `{"spec": {"join": {"removalPolicy": "Block", "credentials": "ServiceAccount"}}}`), ""},
		{"cluster only", "the instance's members are for those who may change the instance", patch("free", join), instance},
		{"cluster only", "also when one leaves", patch("joined", leave), instance},
		{"cluster only", "also when one is created", create("policy-a"), instance},
		{"both", "a cluster joins", patch("free", join), ""},
		{"both", "a cluster leaves", patch("joined", leave), ""},
		{"both", "a cluster is created joined", create("policy-a"), ""},
		{"both", "a move needs the right to the other instance too", patch("joined", `{"spec": {"instanceRef": {"name": "policy-b"}}}`), "members of policy-a and policy-b"},
		{"everywhere", "a cluster moves", patch("joined", `{"spec": {"instanceRef": {"name": "policy-b"}}}`), ""},
	} {
		err := tt.do(t.Context(), people[tt.who])
		switch {
		case tt.refusal == "" && err != nil:
			t.Errorf("%s: %s: refused: %v", tt.who, tt.reason, err)
		case tt.refusal != "" && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), tt.refusal)):
			t.Errorf("%s: %s: got %v, want Forbidden that says %q", tt.who, tt.reason, err, tt.refusal)
		}
	}
}

func entry(name, instance string) *v1alpha1.Cluster {
	c := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.ClusterSpec{
		Type: v1alpha1.ClusterTypePhysical, APIEndpoint: "https://10.0.0.1",
		CredentialsSecretRef: &v1alpha1.ClusterCredentialsReference{SecretReference: v1alpha1.SecretReference{Name: name}},
	}}
	if instance != "" {
		c.Spec.InstanceRef = &v1alpha1.InstanceReference{Name: instance}
	}
	return c
}

// writer is a person who may write every Cluster, and more.
func writer(t *testing.T, name string, more ...rbacv1.PolicyRule) client.Client {
	t.Helper()
	admin := typed(t, apitest.Config(t))
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "membership-" + name}, Rules: append([]rbacv1.PolicyRule{{
		APIGroups: []string{v1alpha1.GroupName}, Resources: []string{"clusters"}, Verbs: []string{"get", "create", "update", "patch", "delete"},
	}}, more...)}
	bound := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
	}
	for _, o := range []client.Object{role, bound} {
		if err := admin.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = admin.Delete(context.Background(), o) })
	}
	config := apitest.Config(t)
	config.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: []string{"system:authenticated"}}
	kube := typed(t, config)
	eventually(t, name+" may write clusters", func() error {
		return kube.Create(t.Context(), entry("new", ""), client.DryRunAll)
	})
	return kube
}

func typed(t *testing.T, config *rest.Config) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		utilruntime.Must(add(scheme))
	}
	kube, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return kube
}
