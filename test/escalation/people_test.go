package escalation

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// within is how long controllers, Karmada and the members may take to follow.
const within = time.Minute

var numbers atomic.Int64

// unique is a name of the test's own.
func unique() string {
	return fmt.Sprintf("escalation-%d-%d", time.Now().UnixMilli()%1e9, numbers.Add(1))
}

// made creates an object for the length of the test.
func made(t testing.TB, cluster client.Client, object client.Object) {
	t.Helper()
	if err := cluster.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.IgnoreNotFound(cluster.Delete(context.Background(), object)); err != nil {
			t.Errorf("removing %T %s: %v", object, object.GetName(), err)
		}
	})
}

// namespace is a namespace of the test's own in an instance.
func namespace(t testing.TB, instance string) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: unique()}}
	made(t, fleet.Open(t).Client(t, instance), ns)
	return ns.Name
}

// person is a user of the test's own with one role on the instance alpha.
type person struct {
	user, token string
	// graphql is Kairship's API as this person.
	graphql *gql.Client
	// proxied reaches alpha by Kairship's passthrough.
	proxied client.Client
	// direct reaches alpha as Kairship does for this person: by impersonation.
	direct client.Client
}

// newPerson gives a new person a role on alpha, and waits until it has taken effect.
func newPerson(t testing.TB, role v1alpha1.Role, namespaces ...string) *person {
	t.Helper()
	f := fleet.Open(t)
	global, name := f.Client(t, "global"), unique()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	made(t, global, account)
	p := &person{user: "system:serviceaccount:default:" + name, token: f.NewToken(t, "global", account)}
	binding := &v1alpha1.InstanceRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.InstanceRoleBindingSpec{
			InstanceRef: v1alpha1.InstanceReference{Name: "alpha"},
			Subject:     v1alpha1.BindingSubject{Kind: v1alpha1.SubjectUser, Name: p.user},
			Role:        role, Namespaces: namespaces,
		},
	}
	made(t, global, binding)
	poll.Until(t, within, "the role takes effect", func(ctx context.Context) error {
		if err := global.Get(ctx, client.ObjectKeyFromObject(binding), binding); err != nil {
			return err
		}
		ready := meta.FindStatusCondition(binding.Status.Conditions, v1alpha1.ConditionReady)
		if ready == nil || ready.Status != metav1.ConditionTrue {
			return fmt.Errorf("it is %+v", ready)
		}
		return nil
	})

	p.graphql = gql.New(f.KairshipURL, p.token)
	ca, err := os.ReadFile(f.KairshipCAFile)
	if err != nil {
		t.Fatal(err)
	}
	p.proxied = clientOf(t, &rest.Config{
		Host: f.KairshipTLSURL + "/instances/alpha/proxy", BearerToken: p.token,
		TLSClientConfig: rest.TLSClientConfig{CAData: ca}, QPS: -1,
	})
	impersonated := f.Config(t, "alpha")
	impersonated.Impersonate = rest.ImpersonationConfig{
		UserName: p.user, Groups: []string{"system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"},
	}
	p.direct = clientOf(t, impersonated)
	return p
}

// clientOf is a client that asks the server nothing before its first request. A server
// sees a role a moment after it was stored.
func clientOf(t testing.TB, config *rest.Config) client.Client {
	t.Helper()
	var made client.Client
	poll.Until(t, within, "the server is reached", func(context.Context) (err error) {
		made, err = client.New(config, client.Options{Scheme: fleet.Scheme(t)})
		return err
	})
	return made
}

// routes are the ways of a person to the API of alpha itself.
func (p *person) routes() map[string]client.Client {
	return map[string]client.Client{"by the passthrough": p.proxied, "at the instance": p.direct}
}

// eventually waits until a person may do something that the role permits.
func eventually(t testing.TB, what string, try func(ctx context.Context) error) {
	t.Helper()
	poll.Until(t, within, what, try)
}

var errNoRefusal = errors.New("it was accepted")
