package writes

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	kairshipv1alpha1 "github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

type clusterPayload struct {
	Removed      bool
	KubeSystemID *string
	MayJoin      *bool
	Cluster      *struct {
		Name, Alias, Provider, Region, Zone, APIEndpoint, ResourceVersion string
		Labels                                                            []struct{ Key, Value string }
	}
}

const clusterFields = `cluster { name alias provider region zone apiEndpoint resourceVersion labels { key value } }`

// TestRegisterCluster registers an alias of m3 with a wrong token and then the right one, changes it, gives it other
// credentials, and removes it.
func TestRegisterCluster(t *testing.T) {
	admin, name := person(t, "admin"), newName()
	f := fleet.Open(t)
	global := f.Client(t, "global")
	alias := f.Alias(t, "m3")
	config := alias.Config(name)
	secret := "cluster-" + name + "-kubeconfig"
	in := map[string]any{
		"cluster": name, "token": config.AuthInfos["x"].Token, "certificateAuthority": string(config.Clusters["x"].CertificateAuthorityData),
		"apiEndpoint": config.Clusters["x"].Server, "alias": "Another m3", "provider": "kwok", "region": "north", "zone": "north-9",
		"labels": []any{map[string]any{"key": "env", "value": "test"}},
	}
	nothing := func(when string) {
		t.Helper()
		if _, ok := storedIn(t, "global", "", name, &kairshipv1alpha1.Cluster{}); ok {
			t.Errorf("%s wrote the Cluster", when)
		}
		if _, ok := storedIn(t, "global", kairshipv1alpha1.SystemNamespace, secret, &corev1.Secret{}); ok {
			t.Errorf("%s wrote the credentials", when)
		}
	}
	t.Cleanup(func() {
		_ = global.Delete(context.Background(), &kairshipv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}})
	})

	if e := refused(t, admin, "registerCluster", but(in, "token", "very-wrong-token"), "INVALID", "input.token"); !strings.Contains(e.Message, "does not accept these credentials") || strings.Contains(e.Message, "very-wrong") {
		t.Errorf("a wrong token: %s", e.Message)
	}
	refused(t, admin, "registerCluster", but(in, "certificateAuthority", nil), "INVALID", "input.token")
	refused(t, admin, "registerCluster", but(in, "kubeconfig", "users: [{", "token", nil, "certificateAuthority", nil), "INVALID", "input.kubeconfig")
	refused(t, admin, "registerCluster", but(in, "kubeconfig", "{}"), "INVALID", "input.token")
	refused(t, admin, "registerCluster", but(in, "apiEndpoint", nil), "INVALID", "input.apiEndpoint")
	refused(t, admin, "registerCluster", but(in, "cluster", "k-"+name), "INVALID", "input.cluster")
	same := map[string]any{"cluster": name, "kubeconfig": kubeconfigOf(t, "m3")}
	if e := refused(t, admin, "registerCluster", same, "ALREADY_EXISTS", "input.kubeconfig"); !strings.Contains(e.Message, `"m3"`) {
		t.Errorf("a cluster that is registered: %s", e.Message)
	}
	for _, who := range []string{"alice", "bob", "mallory"} {
		for _, of := range []string{name, "m1"} {
			if e := refused(t, person(t, who), "registerCluster", but(in, "cluster", of), "FORBIDDEN", "input.cluster"); strings.Contains(e.Message, "exist") {
				t.Errorf("%s learns more than they may: %s", who, e.Message)
			}
		}
	}
	tried("registerCluster", wrongUser)
	tryOut := must[clusterPayload](t, admin, "registerCluster", but(in, "dryRun", true), clusterFields+" kubeSystemID mayJoin")
	if c := tryOut.Cluster; c == nil || c.Alias != "Another m3" || tryOut.KubeSystemID == nil || *tryOut.KubeSystemID != name || tryOut.MayJoin == nil || !*tryOut.MayJoin {
		t.Errorf("the dry run answers %+v", tryOut)
	}
	nothing("what was refused or tried")

	made := must[clusterPayload](t, admin, "registerCluster", in, clusterFields)
	if c := made.Cluster; c == nil || c.Provider != "kwok" || c.Region != "north" || c.Zone != "north-9" || len(c.Labels) != 1 || c.APIEndpoint != config.Clusters["x"].Server {
		t.Errorf("registered: %+v", made.Cluster)
	}
	ready := func(mutation, alias string) {
		t.Helper()
		follows(t, mutation, "the cluster is Ready and called "+alias, func(context.Context) error {
			c, _ := storedIn(t, "global", "", name, &kairshipv1alpha1.Cluster{})
			if at := apimeta.FindStatusCondition(c.Status.Conditions, kairshipv1alpha1.ConditionReady); at == nil || at.Status != metav1.ConditionTrue || c.Spec.Alias != alias || c.Status.KubeSystemID != name {
				return fmt.Errorf("it is %+v, %+v", c.Spec, c.Status)
			}
			return nil
		})
	}
	ready("registerCluster", "Another m3")
	refused(t, admin, "registerCluster", in, "ALREADY_EXISTS", "input.cluster")
	changesCluster(t, name, config.AuthInfos["x"].Token, string(alias.Kubeconfig(t, name)), string(alias.Kubeconfig(t, name+"-other")), ready)
	removesCluster(t, name, secret)
}

// changesCluster changes a registered cluster, and its credentials.
func changesCluster(t *testing.T, name, token, kubeconfig, other string, ready func(mutation, alias string)) {
	t.Helper()
	admin := person(t, "admin")
	version := func() string {
		c, _ := storedIn(t, "global", "", name, &kairshipv1alpha1.Cluster{})
		return c.ResourceVersion
	}
	in := func(more ...any) map[string]any {
		return but(map[string]any{"cluster": name, "resourceVersion": version()}, more...)
	}
	send := func(more ...any) (clusterPayload, []gql.Error) {
		t.Helper()
		return mutateLatest[clusterPayload](t, admin, "updateCluster", func() map[string]any { return in(more...) }, clusterFields+" kubeSystemID mayJoin credentialsExpireTime")
	}
	refuse := func(argument string, more ...any) gql.Error {
		t.Helper()
		_, errs := send(more...)
		return only(t, "updateCluster", in(more...), errs, "INVALID", argument)
	}
	update := func(more ...any) clusterPayload {
		t.Helper()
		payload, errs := send(more...)
		if len(errs) > 0 {
			t.Fatalf("updateCluster(%v): %v", more, errs)
		}
		return payload
	}
	refused(t, admin, "updateCluster", in("resourceVersion", "1"), "CONFLICT", "input.resourceVersion")
	if e := refuse("input.kubeconfig", "kubeconfig", other); !strings.Contains(e.Message, "another cluster") {
		t.Errorf("credentials of another cluster: %s", e.Message)
	}
	refuse("input.kubeconfig", "kubeconfig", strings.ReplaceAll(kubeconfig, token, "wrong"))
	for _, who := range []string{"alice", "bob", "mallory"} {
		hiddenCluster(t, who, "updateCluster", in("alias", "mine"))
	}
	refused(t, person(t, "alice"), "updateCluster", in("cluster", "m1", "alias", "mine"), "FORBIDDEN", "input.cluster")
	tried("updateCluster", wrongUser)
	update("alias", "Tried", "kubeconfig", kubeconfig, "dryRun", true)
	loaded, err := clientcmd.Load([]byte(kubeconfig))
	if err != nil {
		t.Fatal(err)
	}
	with := loaded.Clusters["x"]
	got := update("token", token, "apiEndpoint", with.Server, "certificateAuthority", string(with.CertificateAuthorityData))
	if got.KubeSystemID == nil || *got.KubeSystemID != name {
		t.Errorf("the credentials lead to %v", got.KubeSystemID)
	}
	got = update("alias", "Third m3", "provider", "", "region", "south", "zone", "", "labels", []any{map[string]any{"key": "env", "value": "other"}}, "kubeconfig", kubeconfig)
	if c := got.Cluster; c == nil || c.Alias != "Third m3" || c.Provider != "" || c.Region != "south" || c.Labels[0].Value != "other" {
		t.Errorf("changed: %+v", c)
	}
	ready("updateCluster", "Third m3")
}

// hiddenCluster sends a mutation as one who may not see its cluster, and finds no difference to a cluster that is missing.
func hiddenCluster(t *testing.T, who, mutation string, input map[string]any) {
	t.Helper()
	name, missing := fmt.Sprint(input["cluster"]), "none-such"
	hidden := refused(t, person(t, who), mutation, input, "NOT_FOUND", "input.cluster")
	absent := refused(t, person(t, who), mutation, but(input, "cluster", missing), "NOT_FOUND", "input.cluster")
	if strings.ReplaceAll(hidden.Message, name, missing) != absent.Message {
		t.Errorf("%s can tell a cluster that is hidden from one that is missing: %s, %s", who, hidden.Message, absent.Message)
	}
}

// removesCluster removes it, which a cluster that is joined does not allow.
func removesCluster(t *testing.T, name, secret string) {
	t.Helper()
	admin := person(t, "admin")
	refused(t, admin, "removeCluster", map[string]any{"cluster": "m3"}, "CONFLICT", "input.cluster")
	refused(t, admin, "removeCluster", map[string]any{"cluster": "k-beta"}, "INVALID", "input.cluster")
	refused(t, admin, "removeCluster", map[string]any{"cluster": name, "resourceVersion": "1"}, "CONFLICT", "input.resourceVersion")
	for _, who := range []string{"alice", "mallory"} {
		hiddenCluster(t, who, "removeCluster", map[string]any{"cluster": "m3"})
	}
	refused(t, person(t, "bob"), "removeCluster", map[string]any{"cluster": "m3"}, "FORBIDDEN", "input.cluster")
	tried("removeCluster", wrongUser)
	if must[clusterPayload](t, admin, "removeCluster", map[string]any{"cluster": name, "dryRun": true}, "removed "+clusterFields).Removed {
		t.Error("a dry run removed it")
	}
	must[clusterPayload](t, admin, "removeCluster", map[string]any{"cluster": name}, "removed "+clusterFields)
	follows(t, "removeCluster", "the cluster and its credentials are gone", func(context.Context) error {
		_, cluster := storedIn(t, "global", "", name, &kairshipv1alpha1.Cluster{})
		_, credentials := storedIn(t, "global", kairshipv1alpha1.SystemNamespace, secret, &corev1.Secret{})
		if cluster || credentials {
			return fmt.Errorf("the cluster is there: %t, its credentials: %t", cluster, credentials)
		}
		return nil
	})
}
