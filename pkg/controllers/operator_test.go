package controllers_test

import (
	"context"
	"strings"
	"testing"
	"time"

	operatorv1alpha1 "github.com/karmada-io/karmada/operator/pkg/apis/operator/v1alpha1"
	"github.com/prometheus/client_golang/prometheus"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kairship-io/kairship/pkg/apis/apitest"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/connection"
	"github.com/kairship-io/kairship/pkg/controllers"
	"github.com/kairship-io/kairship/pkg/controllers/instancelifecycle"
)

// TestTheOperatorComesLater: without the operator a manager runs as if there were
// nothing of the kind, and takes up its work when it comes, and when it comes back.
func TestTheOperatorComesLater(t *testing.T) {
	w := newWorld(t)
	failures := reconcileErrors(t, instancelifecycle.Name)
	startManager(w)
	config := apitest.Config(t)
	w.secret("op-host", "kubeconfig", connection.Connection{
		Endpoint: config.Host, CAData: config.CAData, CertData: config.CertData, KeyData: config.KeyData,
	})
	w.physical("op-host", config.Host)
	w.must(w.kube.Create(t.Context(), &v1alpha1.Instance{
		ObjectMeta: metav1.ObjectMeta{Name: "op-late"},
		Spec:       v1alpha1.InstanceSpec{Mode: v1alpha1.InstanceModeManaged, HostCluster: "op-host", DeletionPolicy: v1alpha1.DeletionPolicyDelete},
	}))
	reason := func(ctx context.Context) string {
		stored := &v1alpha1.Instance{}
		if err := w.kube.Get(ctx, client.ObjectKey{Name: "op-late"}, stored); err != nil {
			return ""
		}
		if found := meta.FindStatusCondition(stored.Status.Conditions, v1alpha1.ConditionInstalled); found != nil {
			return found.Reason
		}
		return ""
	}
	w.eventually("it is told that there is no operator", func(ctx context.Context) bool { return reason(ctx) == v1alpha1.ReasonOperatorMissing })

	remove := apitest.InstallKarmadas(t)
	w.eventually("the operator is noticed, and asked", func(ctx context.Context) bool { return reason(ctx) == v1alpha1.ReasonPending })
	karmada := &operatorv1alpha1.Karmada{}
	w.must(w.kube.Get(t.Context(), client.ObjectKey{Namespace: "k-op-late", Name: "op-late"}, karmada))
	operatorv1alpha1.KarmadaInProgressing(karmada, operatorv1alpha1.Ready, "at work")
	w.must(w.kube.Status().Update(t.Context(), karmada))
	w.eventually("its word is heard", func(ctx context.Context) bool { return reason(ctx) == v1alpha1.ReasonInstalling })

	unfailing := func() {
		t.Helper()
		if got := reconcileErrors(t, instancelifecycle.Name) - failures; got != 0 {
			t.Errorf("%v reconciliations failed", got)
		}
	}
	unfailing()

	remove() // Meanwhile the kind is served, and a Karmada cannot be created: that may fail.
	w.eventually("it is reported that the operator is removed", func(ctx context.Context) bool { return reason(ctx) == v1alpha1.ReasonOperatorMissing })
	t.Cleanup(apitest.InstallKarmadas(t))
	w.eventually("the operator is asked again", func(ctx context.Context) bool { return reason(ctx) == v1alpha1.ReasonPending })
	w.must(w.kube.Get(t.Context(), client.ObjectKeyFromObject(karmada), karmada))
	operatorv1alpha1.KarmadaInProgressing(karmada, operatorv1alpha1.Ready, "at work again")
	w.must(w.kube.Status().Update(t.Context(), karmada))
	w.eventually("its word is heard again", func(ctx context.Context) bool { return reason(ctx) == v1alpha1.ReasonInstalling })
	failures = reconcileErrors(t, instancelifecycle.Name)

	w.must(w.kube.Delete(t.Context(), get(w, "op-late", &v1alpha1.Instance{})))
	w.eventually("the Instance goes with its Karmada", func(ctx context.Context) bool {
		return apierrors.IsNotFound(w.kube.Get(ctx, client.ObjectKey{Name: "op-late"}, &v1alpha1.Instance{}))
	})
	unfailing()
}

// TestAnUnreadableOperatorBlocksNoController: the role for the operator's kind is
// missing. That concerns the Managed instances, which say so, and nothing else.
func TestAnUnreadableOperatorBlocksNoController(t *testing.T) {
	w := newWorld(t)
	t.Cleanup(apitest.InstallKarmadas(t))
	managed := &v1alpha1.Instance{
		ObjectMeta: metav1.ObjectMeta{Name: "op-unread"},
		Spec:       v1alpha1.InstanceSpec{Mode: v1alpha1.InstanceModeManaged, HostCluster: "op-no-host", DeletionPolicy: v1alpha1.DeletionPolicyRetain},
	}
	w.must(w.kube.Create(t.Context(), managed))

	const user = "test:kairship:without-the-operator"
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user}}
	for _, group := range []string{"", "kairship.io", "cluster.clusterpedia.io", "rbac.authorization.k8s.io", "events.k8s.io"} {
		role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{"*"}, Verbs: []string{"*"}})
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	w.must(w.kube.Create(t.Context(), role))
	w.must(w.kube.Create(t.Context(), binding))
	t.Cleanup(func() {
		w.must(w.kube.Delete(context.Background(), binding))
		w.must(w.kube.Delete(context.Background(), role))
	})
	config := apitest.Config(t)
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	mgr := startManagerAs(w, config, controllers.Settings{ProbeInterval: time.Hour, ProbeTimeout: 5 * time.Second})

	installed := func(ctx context.Context) metav1.Condition {
		stored := &v1alpha1.Instance{}
		if err := w.kube.Get(ctx, client.ObjectKeyFromObject(managed), stored); err != nil {
			return metav1.Condition{}
		}
		if found := meta.FindStatusCondition(stored.Status.Conditions, v1alpha1.ConditionInstalled); found != nil {
			return *found
		}
		return metav1.Condition{}
	}
	w.eventually("it is registered", func(ctx context.Context) bool {
		return w.kube.Get(ctx, client.ObjectKeyFromObject(managed), &v1alpha1.InstanceRegistration{}) == nil
	})
	another := w.instance("op-beside", "kubeconfig")
	w.eventually("an External one is registered", func(ctx context.Context) bool {
		return w.kube.Get(ctx, client.ObjectKeyFromObject(another), &v1alpha1.InstanceRegistration{}) == nil
	})
	w.eventually("the Managed instance says what is missing", func(ctx context.Context) bool {
		return installed(ctx).Reason == v1alpha1.ReasonNotAllowed
	})
	if said := installed(t.Context()).Message; !strings.Contains(said, "karmadas.operator.karmada.io") || !strings.Contains(said, user) {
		t.Errorf("it does not say who may not do what: %s", said)
	}

	// One that is slower to start than the others, as happens on a busy machine.
	slow := make(chan string, 100)
	w.must(ctrl.NewControllerManagedBy(mgr).Named("slow").For(&v1alpha1.Instance{}).Complete(reconcile.Func(func(_ context.Context, request ctrl.Request) (ctrl.Result, error) {
		slow <- request.Name
		return ctrl.Result{}, nil
	})))
	w.eventually("a controller that comes later starts", func(context.Context) bool { return len(slow) > 0 })

	role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{"operator.karmada.io"}, Resources: []string{"*"}, Verbs: []string{"*"}})
	w.must(w.kube.Update(t.Context(), role))
	w.eventually("with the role it goes on", func(ctx context.Context) bool {
		return installed(ctx).Reason == v1alpha1.ReasonHostClusterMissing
	})
	for _, name := range []string{managed.Name, another.Name} {
		w.must(w.kube.Delete(t.Context(), get(w, name, &v1alpha1.Instance{})))
		w.eventually(name+" goes", func(ctx context.Context) bool {
			return apierrors.IsNotFound(w.kube.Get(ctx, client.ObjectKey{Name: name}, &v1alpha1.Instance{}))
		})
	}
}

// reconcileErrors is how many reconciliations of a controller have failed in this
// process.
func reconcileErrors(t *testing.T, controller string) float64 {
	t.Helper()
	families, err := metrics.Registry.(prometheus.Gatherer).Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != "controller_runtime_reconcile_errors_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if label.GetName() == "controller" && label.GetValue() == controller {
					return metric.GetCounter().GetValue()
				}
			}
		}
	}
	return 0
}
