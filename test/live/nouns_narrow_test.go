package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// confinedTo is a user who views one namespace of alpha.
func confinedTo(t *testing.T, namespace string) *gql.Client {
	t.Helper()
	token, user, sa := account(t)
	create(t, "global", &v1alpha1.InstanceRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: sa.Name},
		Spec: v1alpha1.InstanceRoleBindingSpec{
			InstanceRef: v1alpha1.InstanceReference{Name: "alpha"},
			Subject:     v1alpha1.BindingSubject{Kind: v1alpha1.SubjectUser, Name: user},
			Role:        v1alpha1.RoleViewer, Namespaces: []string{namespace},
		},
	})
	as := gql.New(fleet.Open(t).KairshipURL, token)
	poll.Until(t, within, "the role on namespace "+namespace+" takes effect", func(context.Context) error {
		r := as.Must(t, gql.Request{Query: fmt.Sprintf(`{ viewer { can(instance: "alpha", namespace: %q) { view } } }`, namespace)})
		if !strings.Contains(string(r.Data), "true") {
			return errors.New(string(r.Body))
		}
		return nil
	})
	return as
}

// A role on one namespace narrows the live stream as it does the list: what is outside
// is never told of, whether it was there or comes later.
func TestOneNamespaceAlone(t *testing.T) {
	mine, other := namespaceIn(t, "alpha"), namespaceIn(t, "alpha")
	as := confinedTo(t, mine)
	both := m{"filter": m{"namespaces": []string{mine, other}}}
	witness := follow(t, person(t, "admin"), "workloadChanged", "filter: WorkloadFilter", "name", both)
	witness.snapshot()
	create(t, "alpha", deployment(mine, "mine", 1))
	witness.expect("ADDED", "mine")
	create(t, "alpha", deployment(other, "other", 1))
	witness.await("the other", func(c *change) bool { return c.Type == "ADDED" && c.get("name") == "other" })
	follow(t, person(t, "admin"), "resourceChanged", `version="v1", resource="namespaces", filter: ResourceChangeFilter`, "name", m{"filter": m{"name": []string{mine}}}).
		await("the namespace", func(c *change) bool { return c.Type == "ADDED" })
	workloads := follow(t, as, "workloadChanged", "filter: WorkloadFilter", "name namespace", both)
	maps := follow(t, as, "resourceChanged", `version="v1", resource="configmaps"`, "name namespace", nil)
	namespaces := follow(t, as, "resourceChanged", `version="v1", resource="namespaces"`, "name", nil)
	for _, f := range []struct {
		field, arguments string
		want             string
	}{
		{"memberClusterChanged", ``, ""},
		{"policyChanged", `(filter: {kinds: [CLUSTER_PROPAGATION_POLICY]})`, ""},
		{"resourceChanged", `(group: "work.karmada.io", version: "v1alpha1", resource: "works")`, ""},
		{"instanceChanged", ``, "alpha"},
	} {
		if got, _ := deliveredTo(t, as, f.field, f.arguments); got != f.want {
			t.Errorf("%s%s tells %q, want %q", f.field, f.arguments, got, f.want)
		}
	}
	if got := names(workloads.snapshot(), "name"); !slices.Equal(got, []string{"mine"}) {
		t.Errorf("workloads: %v", got)
	}
	if got := names(namespaces.snapshot(), "name"); !slices.Equal(got, []string{mine}) {
		t.Errorf("namespaces: %v", got)
	}
	if got := names(maps.snapshot(), "namespace"); len(got) > 0 && !slices.Equal(got, []string{mine}) {
		t.Errorf("config maps of %v", got)
	}
	for _, ns := range []string{other, mine} {
		create(t, "alpha", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "of-" + ns}})
	}
	if c := maps.next(within); c == nil || c.get("name") != "of-"+mine {
		t.Errorf("got %v, want what is in %s", c, mine)
	}
	maps.quiet("the rest is in another namespace")
	// The figures of the whole instance are for those who may see all of it.
	s := follow(t, as, "instanceChanged", "", "name summary { clusters { total } }", nil)
	for _, c := range s.snapshot() {
		if c.get("summary") != "<nil>" {
			t.Errorf("it shows %v", c)
		}
	}
	clusters := follow(t, as, "clusterChanged", "", "name summary { nodes { total } }", nil).snapshot()
	if len(clusters) == 0 {
		t.Error("no cluster of alpha is seen")
	}
	for _, c := range clusters {
		if c.get("summary") != "<nil>" {
			t.Errorf("it shows %v", c)
		}
	}
	// And they are there for who may.
	for _, c := range follow(t, person(t, "alice"), "clusterChanged", "", "name summary { nodes { total } }", nil).snapshot() {
		if c.get("summary") == "<nil>" {
			t.Errorf("an editor of alpha is not shown the figures of %v", c)
		}
	}
}

// A subscription over all instances goes on over one that comes, reports that it does not
// answer, and outlives it.
func TestInstanceThatComesAndGoes(t *testing.T) {
	name := unique("live")
	admin := person(t, "admin")
	members := follow(t, admin, "memberClusterChanged", "", "name labels { key }", nil)
	if got := names(members.snapshot(), "name"); !slices.Contains(got, "m1") || !slices.Contains(got, "m3") {
		t.Fatalf("there are %v", got)
	}
	instances := follow(t, admin, "instanceChanged", "filter: InstanceFilter", "name", m{"filter": m{"name": []string{name}}})
	instances.snapshot()
	i := &v1alpha1.Instance{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.InstanceSpec{
		Mode:                v1alpha1.InstanceModeExternal,
		KubeconfigSecretRef: &v1alpha1.SecretKeyReference{SecretReference: v1alpha1.SecretReference{Namespace: "kairship-system", Name: "none-such"}},
	}}
	create(t, "global", i)
	instances.expect("ADDED", name)
	c := members.await("word of the new instance", func(c *change) bool { return c.InstanceName != nil && *c.InstanceName == name })
	if c.Type != "INTERRUPTED" || c.Message == nil || c.Kind == nil || *c.Kind != "Cluster" {
		t.Errorf("got %v", c)
	}
	remove(t, "global", i)
	instances.await("its end", func(c *change) bool { return c.Type == "DELETED" })
	m3 := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m3"}}
	t.Cleanup(func() { patch(fleetOf(t), "beta", m3, `{"metadata":{"labels":{"live-test":null}}}`) })
	patch(t, "beta", m3, `{"metadata":{"labels":{"live-test":"1"}}}`)
	members.await("a change elsewhere", func(c *change) bool { return c.get("name") == "m3" && slices.Contains(c.ChangedFields, "labels") })
}
