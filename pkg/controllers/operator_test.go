package controllers_test

import (
	"context"
	"testing"

	operatorv1alpha1 "github.com/karmada-io/karmada/operator/pkg/apis/operator/v1alpha1"
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/kairship-io/kairship/pkg/apis/apitest"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/connection"
	"github.com/kairship-io/kairship/pkg/controllers/instancelifecycle"
)

// TestTheOperatorComesLater: without the operator a manager runs as if there were
// nothing of the kind, and takes up its work when it comes.
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
	t.Cleanup(remove)
	w.eventually("the operator is noticed, and asked", func(ctx context.Context) bool { return reason(ctx) == v1alpha1.ReasonPending })
	karmada := &operatorv1alpha1.Karmada{}
	w.must(w.kube.Get(t.Context(), client.ObjectKey{Namespace: "k-op-late", Name: "op-late"}, karmada))
	operatorv1alpha1.KarmadaInProgressing(karmada, operatorv1alpha1.Ready, "at work")
	w.must(w.kube.Status().Update(t.Context(), karmada))
	w.eventually("its word is heard", func(ctx context.Context) bool { return reason(ctx) == v1alpha1.ReasonInstalling })

	w.must(w.kube.Delete(t.Context(), get(w, "op-late", &v1alpha1.Instance{})))
	w.eventually("the Instance goes with its Karmada", func(ctx context.Context) bool {
		return apierrors.IsNotFound(w.kube.Get(ctx, client.ObjectKey{Name: "op-late"}, &v1alpha1.Instance{}))
	})
	if got := reconcileErrors(t, instancelifecycle.Name) - failures; got != 0 {
		t.Errorf("%v reconciliations failed", got)
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
