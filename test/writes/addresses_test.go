package writes

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kairship-io/kairship/internal/poll"
	kairshipv1alpha1 "github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/test/internal/fleet"
)

// kubeconfigTo is a kubeconfig of beta with another server, and a proxy if it is not empty.
func kubeconfigTo(t *testing.T, server, proxy string) string {
	t.Helper()
	config, err := clientcmd.Load([]byte(kubeconfigOf(t, "beta")))
	if err != nil {
		t.Fatal(err)
	}
	cluster := config.Clusters[config.Contexts[config.CurrentContext].Cluster]
	cluster.Server, cluster.ProxyURL = server, proxy
	text, err := clientcmd.Write(*config)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// closedAddresses are servers that no kubeconfig may lead to. The fleet opens 127.0.0.0/8 alone.
var closedAddresses = map[string]string{
	"the metadata of a cloud":            "https://169.254.169.254",
	"the same, mapped into IPv6":         "https://[::ffff:169.254.169.254]",
	"this machine, by no address at all": "https://0.0.0.0:6443",
	"this machine in IPv6":               "https://[::1]:6443",
}

// TestClosedAddresses points instances to addresses that Kairship must not connect to:
// by registering, by updating, and past Kairship's mutations.
func TestClosedAddresses(t *testing.T) {
	admin, name := person(t, "admin"), newName()
	goes(t, name)
	in := map[string]any{"instance": name, "kubeconfig": string(fleet.Open(t).Alias(t, "beta").Kubeconfig(t, name))}
	for reason, server := range closedAddresses {
		e := refused(t, admin, "registerInstance", but(in, "kubeconfig", kubeconfigTo(t, server, "")), "INVALID", "input.kubeconfig")
		if !strings.Contains(e.Message, "--open-address-ranges") {
			t.Errorf("%s: got %q", reason, e.Message)
		}
	}
	// A proxy connects to where it wants to; so its own address is judged too.
	refused(t, admin, "registerInstance", but(in, "kubeconfig", kubeconfigTo(t, "https://203.0.113.7", "http://169.254.169.254:80")), "INVALID", "input.kubeconfig")
	mayCreate(t, "alice", name)
	if e := refused(t, person(t, "alice"), "registerInstance", but(in, "kubeconfig", kubeconfigTo(t, "https://203.0.113.7", "http://203.0.113.8:3128")), "FORBIDDEN", "input.kubeconfig"); !strings.Contains(e.Message, "instances/outboundproxy") {
		t.Errorf("a proxy: %q", e.Message)
	}
	if _, ok := storedIn(t, "global", "", name, &kairshipv1alpha1.Instance{}); ok {
		t.Fatal("what was refused was written")
	}

	global := fleet.Open(t).Client(t, "global")
	servers := slices.Sorted(maps.Values(closedAddresses))
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: kairshipv1alpha1.SystemNamespace, Name: name},
		Data:       map[string][]byte{kairshipv1alpha1.KubeconfigSecretKey: []byte(kubeconfigTo(t, servers[0], ""))},
	}
	stored := &kairshipv1alpha1.Instance{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: kairshipv1alpha1.InstanceSpec{
		Mode: kairshipv1alpha1.InstanceModeExternal,
		KubeconfigSecretRef: &kairshipv1alpha1.SecretKeyReference{
			SecretReference: kairshipv1alpha1.SecretReference{Namespace: secret.Namespace, Name: name},
		},
	}}
	if err := global.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = global.Delete(context.Background(), secret) })
	if err := global.Create(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	for _, server := range servers {
		secret.Data[kairshipv1alpha1.KubeconfigSecretKey] = []byte(kubeconfigTo(t, server, ""))
		if err := global.Update(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
		poll.Until(t, within, "nothing connects to "+server, func(context.Context) error {
			i, _ := storedIn(t, "global", "", name, &kairshipv1alpha1.Instance{})
			reachable := apimeta.FindStatusCondition(i.Status.Conditions, kairshipv1alpha1.ConditionReachable)
			if reachable == nil || reachable.Reason != kairshipv1alpha1.ReasonAddressNotPermitted || !strings.Contains(reachable.Message, server) {
				return fmt.Errorf("got %+v", reachable)
			}
			return nil
		})
	}
}
