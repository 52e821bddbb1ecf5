package writes

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	kairshipv1alpha1 "github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// TestTheSameControlPlaneIsRefused: alpha cannot be registered under another name, and
// who may not see alpha does not learn its name.
func TestTheSameControlPlaneIsRefused(t *testing.T) {
	admin, name := person(t, "admin"), newName()
	goes(t, name)
	in := map[string]any{"instance": name, "kubeconfig": kubeconfigOf(t, "alpha")}
	// At another address it is the same control plane.
	kubeSystem := fleet.Open(t).Alias(t, "alpha").Kubeconfig(t, identity(t, "alpha"))
	for _, dryRun := range []bool{true, false} {
		for _, kubeconfig := range []string{in["kubeconfig"].(string), string(kubeSystem)} {
			e := refused(t, admin, "registerInstance", but(but(in, "dryRun", dryRun), "kubeconfig", kubeconfig), "ALREADY_EXISTS", "input.kubeconfig")
			if !strings.Contains(e.Message, `"alpha"`) {
				t.Errorf("the error does not say which instance it is: %s", e.Message)
			}
		}
		for _, who := range []string{"mallory", "alice", "bob"} {
			e := refused(t, person(t, who), "registerInstance", but(in, "dryRun", dryRun), "FORBIDDEN", "input.instance")
			if strings.Contains(e.Message, "registered") || strings.Contains(e.Message, "alpha") {
				t.Errorf("%s learns that it is registered: %s", who, e.Message)
			}
		}
	}
	// bob sees beta alone, and may add one instance.
	mayCreate(t, "bob", name)
	e := refused(t, person(t, "bob"), "registerInstance", in, "ALREADY_EXISTS", "input.kubeconfig")
	if strings.Contains(e.Message, "alpha") {
		t.Errorf("bob learns the name of an instance that he may not see: %s", e.Message)
	}
	if _, ok := storedIn(t, "global", "", name, &kairshipv1alpha1.Instance{}); ok {
		t.Error("what was refused was written")
	}
}

// identity is the UID of the namespace kube-system of a cluster of the fleet.
func identity(t *testing.T, cluster string) string {
	t.Helper()
	namespace := &corev1.Namespace{}
	if err := fleet.Open(t).Client(t, cluster).Get(t.Context(), client.ObjectKey{Name: "kube-system"}, namespace); err != nil {
		t.Fatal(err)
	}
	return string(namespace.UID)
}

// TestTheSameControlPlaneIsNotUsedTwice applies an Instance of alpha's control plane
// past the API: it is marked, nothing of it is indexed or written to, and it takes over
// nothing while alpha is there.
func TestTheSameControlPlaneIsNotUsedTwice(t *testing.T) {
	global, admin, name := fleet.Open(t).Client(t, "global"), person(t, "admin"), newName()
	count := func() int {
		t.Helper()
		got, _, err := gql.Query[struct {
			Workloads struct{ TotalCount int }
		}](t.Context(), admin, `{ workloads(filter: {namespaces: ["shop", "ops"]}) { totalCount } }`, nil)
		if err != nil {
			t.Fatal(err)
		}
		return got.Workloads.TotalCount
	}
	before := count()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: kairshipv1alpha1.SystemNamespace, Name: name},
		Data:       map[string][]byte{kairshipv1alpha1.KubeconfigSecretKey: fleet.Open(t).Alias(t, "alpha").Kubeconfig(t, identity(t, "alpha"))},
	}
	instance := &kairshipv1alpha1.Instance{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: kairshipv1alpha1.InstanceSpec{
		Mode: kairshipv1alpha1.InstanceModeExternal, KubeconfigSecretRef: &kairshipv1alpha1.SecretKeyReference{
			SecretReference: kairshipv1alpha1.SecretReference{Namespace: secret.Namespace, Name: name},
		},
	}}
	t.Cleanup(func() { _ = global.Delete(context.Background(), secret) })
	goes(t, name)
	for _, o := range []client.Object{secret, instance} {
		if err := global.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	follows(t, "an Instance", "it is marked as a duplicate", func(context.Context) error {
		i, _ := storedIn(t, "global", "", name, &kairshipv1alpha1.Instance{})
		identified, indexed := conditionOf(i, kairshipv1alpha1.ConditionIdentified), conditionOf(i, kairshipv1alpha1.ConditionIndexed)
		if identified != "False/Duplicate" || indexed != "False/Duplicate" || i.Status.State != kairshipv1alpha1.InstanceStateUnavailable {
			return fmt.Errorf("it is %s, identified %s and indexed %s", i.Status.State, identified, indexed)
		}
		return nil
	})
	if _, ok := storedIn(t, "global", "", "k-"+name, &kairshipv1alpha1.Cluster{}); ok {
		t.Error("it is in the inventory")
	}
	if after := count(); after != before || before == 0 {
		t.Errorf("there are %d workloads of alpha, and there were %d", after, before)
	}
	if i, _ := storedIn(t, "global", "", name, &kairshipv1alpha1.Instance{}); i.Status.Summary != nil {
		t.Errorf("what it holds is counted: %+v", i.Status.Summary)
	}
	if alpha, _ := storedIn(t, "global", "", "alpha", &kairshipv1alpha1.Instance{}); alpha.Status.State != kairshipv1alpha1.InstanceStateRunning || alpha.Status.ControlPlane.Claim != kairshipv1alpha1.ClaimHeld {
		t.Errorf("alpha is %s, %+v", alpha.Status.State, alpha.Status.ControlPlane)
	}
	poll.Until(t, within, "nothing is written to it under its second name", func(context.Context) error {
		_, errs := mutate[struct{}](t, admin, "createNamespace", map[string]any{"instance": name, "name": "twice", "dryRun": true}, "consistencyToken")
		if len(errs) != 1 || errs[0].Extensions.Code != "INSTANCE_UNAVAILABLE" {
			return errors.New(fmt.Sprint(errs))
		}
		return nil
	})
}
