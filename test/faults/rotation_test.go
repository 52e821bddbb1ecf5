package faults

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/longtest"
	"github.com/kairship-io/kairship/internal/poll"
	kairshipv1alpha1 "github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// rotatesWithin bounds how long new credentials take to reach the index.
const rotatesWithin = 10 * time.Second

// TestCredentialsRotated replaces the credentials of an instance by others.
// They are used within seconds, and no data is lost on the way; that they are
// the ones that are used shows when they are revoked.
func TestCredentialsRotated(t *testing.T) {
	longtest.Only(t, "test/controllers and test/proxy replace credentials too")
	s := begin(t)
	global := s.Client(t, "global")
	secret := s.credentialsOf(t, global, "alpha")
	original := secret.DeepCopy()
	t.Cleanup(func() {
		if err := putBack(context.Background(), global, original); err != nil {
			t.Errorf("putting alpha's credentials back: %v", err)
		}
	})
	account, token := s.newAccount(t, "alpha")

	secret.Data[kairshipv1alpha1.KubeconfigSecretKey] = withToken(t, original.Data[kairshipv1alpha1.KubeconfigSecretKey], token)
	if err := global.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	rotated := time.Now()
	poll.Until(t, rotatesWithin, "the Secret that the index uses has the new token", hasToken(global, "k-alpha", token))
	t.Logf("the index has the new credentials after %s", time.Since(rotated).Round(10*time.Millisecond))
	poll.Until(t, noticeWithin, "the timeline of alpha has the rotation", func(ctx context.Context) error { return s.rotatedIn(ctx, rotated) })
	s.collects(t, "alpha")
	poll.Until(t, recoverWithin, "everything is as before", s.asBefore)
	t.Logf("as before %s after the rotation", time.Since(rotated).Round(100*time.Millisecond))

	// What follows would go unnoticed if the old token were still in use.
	if err := s.Client(t, "alpha").Delete(t.Context(), account); err != nil {
		t.Fatal(err)
	}
	revoked := time.Now()
	poll.Until(t, recoverWithin, "alpha refuses the new token, which is revoked", func(ctx context.Context) error {
		now, err := s.instances(ctx)
		if err != nil {
			return err
		}
		alpha := now["alpha"]
		if len(alpha.Workloads.Nodes) != len(s.before["alpha"]) {
			t.Fatalf("%d of %d workloads are shown", len(alpha.Workloads.Nodes), len(s.before["alpha"]))
		}
		if alpha.State != "UNAVAILABLE" || alpha.condition("Reachable").Reason != kairshipv1alpha1.ReasonRefused || !alpha.Workloads.Freshness.Stale {
			return fmt.Errorf("it is %s with %+v, collected with %+v", alpha.State, alpha.Conditions, alpha.Workloads.Freshness)
		}
		return nil
	})
	t.Logf("refused and stale %s after the token was revoked", time.Since(revoked).Round(100*time.Millisecond))

	if err := putBack(t.Context(), global, original); err != nil {
		t.Fatal(err)
	}
	healed := time.Now()
	poll.Until(t, recoverWithin, "everything is as before", s.asBefore)
	t.Logf("as before %s after the credentials were put back", time.Since(healed).Round(100*time.Millisecond))
	s.collects(t, "alpha")
}

// rotatedIn returns an error unless the timeline of alpha has other credentials since a moment.
func (s *scene) rotatedIn(ctx context.Context, since time.Time) error {
	type answer struct {
		Instance struct {
			Timeline struct {
				Nodes []struct {
					At            time.Time
					Before, After *string
				}
			}
		}
	}
	data, _, err := gql.Query[answer](ctx, s.api, `{ instance(name: "alpha") { timeline(first: 1, changes: [CREDENTIALS]) { nodes { at before after } } } }`, nil)
	if err != nil {
		return err
	}
	for _, n := range data.Instance.Timeline.Nodes {
		// The clocks are the same, and times are rounded to seconds.
		if n.At.After(since.Add(-time.Second)) && n.Before != nil && n.After != nil && *n.Before != *n.After {
			return nil
		}
	}
	return fmt.Errorf("it has %+v", data.Instance.Timeline.Nodes)
}

// credentialsOf is the Secret of an instance.
func (s *scene) credentialsOf(t *testing.T, global client.Client, instance string) *corev1.Secret {
	t.Helper()
	i, secret := &kairshipv1alpha1.Instance{}, &corev1.Secret{}
	if err := global.Get(t.Context(), client.ObjectKey{Name: instance}, i); err != nil {
		t.Fatal(err)
	}
	if err := global.Get(t.Context(), i.CredentialsRef().NamespacedName(), secret); err != nil {
		t.Fatal(err)
	}
	return secret
}

// putBack makes a Secret what it was.
func putBack(ctx context.Context, global client.Client, original *corev1.Secret) error {
	now := &corev1.Secret{}
	if err := global.Get(ctx, client.ObjectKeyFromObject(original), now); err != nil {
		return err
	}
	now.Data = original.Data
	return global.Update(ctx, now)
}

// newAccount makes another administrator of a cluster, and a token for it.
func (s *scene) newAccount(t *testing.T, cluster string) (account *corev1.ServiceAccount, token string) {
	t.Helper()
	c := s.Client(t, cluster)
	account = &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "faults-"}}
	s.createFor(t, c, account)
	s.createFor(t, c, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: account.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: account.Namespace, Name: account.Name}},
	})
	token = s.NewToken(t, cluster, account)
	addToken(secretsOfTests, "of the test's own account", token)
	return account, token
}

// withToken is a kubeconfig whose user has another token.
func withToken(t *testing.T, kubeconfig []byte, token string) []byte {
	t.Helper()
	config, err := clientcmd.Load(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.AuthInfos[config.Contexts[config.CurrentContext].AuthInfo].Token = token
	changed, err := clientcmd.Write(*config)
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

// hasToken reports an error while the index does not collect a cluster with a token.
func hasToken(global client.Client, name, token string) func(context.Context) error {
	return func(ctx context.Context) error {
		kubeconfig, err := fleet.CollectedWith(ctx, global, name)
		if err != nil {
			return err
		}
		if !bytes.Contains(kubeconfig, []byte(token)) {
			return errors.New("it has not")
		}
		return nil
	}
}
