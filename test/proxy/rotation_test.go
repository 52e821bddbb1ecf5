package proxy

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/longtest"
)

// TestRotationUnderLoad replaces alpha's credentials several times while fifty
// clients read, write and watch through the passthrough and change workloads
// through GraphQL, and takes everything from the old credentials each time. No client
// notices: no request fails, no watch is stuck, and every change has its effect.
// With KAIRSHIP_LONG=1 it is ten times in a minute.
func TestRotationUnderLoad(t *testing.T) {
	rotations, pause := 3, 4*time.Second
	if longtest.On() {
		rotations, pause = 10, 6*time.Second
	}
	w := open(t)
	s := newRotation(t, w)
	defer s.stop()

	var old []client.Object
	for range rotations {
		account, binding, token := w.newAccount(t)
		s.rotate(t, token)
		// Right behind it, as an administrator would who has to revoke what leaked.
		for _, object := range old {
			if err := w.Client(t, "alpha").Delete(t.Context(), object); err != nil {
				t.Fatal(err)
			}
		}
		old = []client.Object{binding, account}
		time.Sleep(pause)
	}
	s.stop()

	for _, l := range s.loads {
		l.mu.Lock()
		done, failed, failures := len(l.took), l.failed, l.failures
		l.mu.Unlock()
		t.Logf("%-28s %6d rounds while the credentials changed %d times", l.what, done, rotations)
		if failed > 0 {
			t.Errorf("%s: %d of %d rounds failed: %v", l.what, failed, done+failed, failures)
		}
		if done < l.clients*rotations {
			t.Errorf("%s: only %d rounds: the load was none", l.what, done)
		}
	}
	s.effects(t)
}

// withToken is a kubeconfig with a token for credentials.
func withToken(t *testing.T, kubeconfig []byte, token string) []byte {
	t.Helper()
	config, err := clientcmd.Load(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	user := config.AuthInfos[config.Contexts[config.CurrentContext].AuthInfo]
	user.Token, user.ClientCertificateData, user.ClientKeyData = token, nil, nil
	text, err := clientcmd.Write(*config)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// newAccount makes another administrator of alpha.
func (w *world) newAccount(t *testing.T) (account *corev1.ServiceAccount, binding *rbacv1.ClusterRoleBinding, token string) {
	t.Helper()
	c := w.Client(t, "alpha")
	account = &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "proxy-rotation-"}}
	if err := c.Create(t.Context(), account); err != nil {
		t.Fatal(err)
	}
	binding = &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: account.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: account.Namespace, Name: account.Name}},
	}
	if err := c.Create(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Delete(context.Background(), binding)
		_ = c.Delete(context.Background(), account)
	})
	return account, binding, w.NewToken(t, "alpha", account)
}
