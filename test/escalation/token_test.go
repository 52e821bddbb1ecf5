package escalation

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/test/internal/fleet"
)

// TestATokenWithoutCAGoesNowhereElse points an entry of the inventory, with the token of
// another person's Secret, at a server of the attacker's. It is not even connected to, until the
// Secret names it.
func TestATokenWithoutCAGoesNowhereElse(t *testing.T) {
	global := fleet.Open(t).Client(t, "global")
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var connected atomic.Int64
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			connected.Add(1)
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = listener.Close() })

	endpoint := "https://" + listener.Addr().String()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: unique()},
		StringData: map[string]string{v1alpha1.TokenSecretKey: "hunter2", v1alpha1.ServerSecretKey: "https://elsewhere.example.com"},
	}
	made(t, global, secret)
	entry := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: unique()}, Spec: v1alpha1.ClusterSpec{
		Type: v1alpha1.ClusterTypePhysical, APIEndpoint: endpoint,
		CredentialsSecretRef: &v1alpha1.ClusterCredentialsReference{SecretReference: v1alpha1.SecretReference{Namespace: secret.Namespace, Name: secret.Name}},
	}}
	made(t, global, entry)
	becomes := func(reason string) {
		t.Helper()
		poll.Until(t, within, "Reachable has the reason "+reason, func(ctx context.Context) error {
			var now v1alpha1.Cluster
			if err := global.Get(ctx, client.ObjectKeyFromObject(entry), &now); err != nil {
				return err
			}
			if c := meta.FindStatusCondition(now.Status.Conditions, v1alpha1.ConditionReachable); c == nil || c.Reason != reason {
				return fmt.Errorf("it is %+v", c)
			}
			return nil
		})
	}
	becomes(v1alpha1.ReasonCredentialsInvalid)
	if got := connected.Load(); got > 0 {
		t.Errorf("the server was connected to %d times", got)
	}

	// The Secret's owner names the server: now the look arrives there.
	patch := client.MergeFrom(secret.DeepCopy())
	secret.StringData = map[string]string{v1alpha1.ServerSecretKey: endpoint}
	if err := global.Patch(t.Context(), secret, patch); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, within, "the server that the Secret names is connected to", func(context.Context) error {
		if connected.Load() == 0 {
			return errors.New("no connection has arrived")
		}
		return nil
	})
}
