package proxy

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kairshipv1alpha1 "github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/test/internal/poll"
)

// TestRotationUnderLoad replaces alpha's credentials ten times while fifty
// clients read and write, and takes everything from the old ones each time.
// Nobody notices: no request fails, and watches go on.
func TestRotationUnderLoad(t *testing.T) {
	const clients, rotations, pause = 50, 10, 6 * time.Second
	w := open(t)
	global, alpha := w.Client(t, "global"), w.Client(t, "alpha")
	instance, secret := &kairshipv1alpha1.Instance{}, &corev1.Secret{}
	if err := global.Get(t.Context(), client.ObjectKey{Name: "alpha"}, instance); err != nil {
		t.Fatal(err)
	}
	if err := global.Get(t.Context(), instance.CredentialsRef().NamespacedName(), secret); err != nil {
		t.Fatal(err)
	}
	key := instance.CredentialsRef().Key
	original := secret.Data[key]
	put := func(ctx context.Context, kubeconfig []byte) error {
		now := &corev1.Secret{}
		if err := global.Get(ctx, client.ObjectKeyFromObject(secret), now); err != nil {
			return err
		}
		now.Data[key] = kubeconfig
		return global.Update(ctx, now)
	}
	t.Cleanup(func() {
		if err := put(context.Background(), original); err != nil {
			t.Errorf("putting alpha's credentials back: %v", err)
		}
	})

	shop := func(kube kubernetes.Interface, n int) (name string, maps interface {
		Get(context.Context, string, metav1.GetOptions) (*corev1.ConfigMap, error)
		Update(context.Context, *corev1.ConfigMap, metav1.UpdateOptions) (*corev1.ConfigMap, error)
	}) {
		return fmt.Sprintf("rotation-%d", n), kube.CoreV1().ConfigMaps("shop")
	}
	for n := range clients {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprintf("rotation-%d", n)}}
		if err := alpha.Create(t.Context(), object); client.IgnoreAlreadyExists(err) != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = alpha.Delete(context.Background(), object) })
	}

	watching, watchErr := w.client(t, "alice", "alpha").CoreV1().ConfigMaps("shop").Watch(t.Context(), metav1.ListOptions{})
	if watchErr != nil {
		t.Fatal(watchErr)
	}
	defer watching.Stop()
	var seenMu sync.Mutex
	seen := map[string]string{}
	go func() {
		for event := range watching.ResultChan() {
			if object, ok := event.Object.(*corev1.ConfigMap); ok {
				seenMu.Lock()
				seen[object.Name] = object.Data["round"]
				seenMu.Unlock()
			}
		}
	}()

	rounds := make([]int, clients)
	l := startLoad(t, clients, func(ctx context.Context, kube kubernetes.Interface, n int) error {
		name, maps := shop(kube, n)
		object, err := maps.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("get: %w", err)
		}
		object.Data = map[string]string{"round": fmt.Sprint(rounds[n])}
		if _, err := maps.Update(ctx, object, metav1.UpdateOptions{}); err != nil {
			return fmt.Errorf("update: %w", err)
		}
		rounds[n]++
		if n%10 == 0 {
			_, err = kube.AppsV1().Deployments("shop").List(ctx, metav1.ListOptions{})
		}
		return err
	}, func() kubernetes.Interface { return w.client(t, "alice", "alpha") })
	defer l.end()

	var old []client.Object
	for range rotations {
		account, binding, token := w.newAccount(t)
		if err := put(t.Context(), withToken(t, original, token)); err != nil {
			t.Fatal(err)
		}
		// Right behind it, as somebody would who has to revoke what leaked.
		for _, object := range old {
			if err := alpha.Delete(t.Context(), object); err != nil {
				t.Fatal(err)
			}
		}
		old = []client.Object{binding, account}
		time.Sleep(pause)
	}
	l.end()
	l.mu.Lock()
	done, failed, failures := len(l.took), l.failed, l.failures
	l.mu.Unlock()
	t.Logf("%d rounds of a read and a write while the credentials changed %d times", done, rotations)
	if failed > 0 {
		t.Errorf("%d of %d rounds failed: %v", failed, done+failed, failures)
	}
	if done < clients*rotations {
		t.Errorf("only %d rounds: the load was none", done)
	}

	// The watch was begun with the first credentials, which are still good for it.
	poll.Until(t, 10*time.Second, "the watch has seen the last write of everybody", func(context.Context) error {
		seenMu.Lock()
		defer seenMu.Unlock()
		for n, round := range rounds {
			// The last may have been written with nobody waiting for the answer any more.
			if name := fmt.Sprintf("rotation-%d", n); seen[name] != fmt.Sprint(round-1) && seen[name] != fmt.Sprint(round) {
				return fmt.Errorf("%s was written in round %d, and seen in %s", name, round-1, seen[name])
			}
		}
		return nil
	})
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
	request, err := w.Kubernetes(t, "alpha").CoreV1().ServiceAccounts(account.Namespace).
		CreateToken(t.Context(), account.Name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return account, binding, request.Status.Token
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
