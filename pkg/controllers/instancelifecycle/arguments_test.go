package instancelifecycle_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	operatorv1alpha1 "github.com/karmada-io/karmada/operator/pkg/apis/operator/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// TestArgumentsOfComponents: what a component may not have is not installed, and changes nothing that is; what it may have
// reaches the operator, and leaves it again.
func TestArgumentsOfComponents(t *testing.T) {
	w := newWorld(t)
	w.reached("h-arguments")
	with := func(arguments map[string]v1alpha1.ArgumentValue) *v1alpha1.InstanceComponents {
		process := v1alpha1.ProcessSettings{ExtraArgs: arguments, Resources: &v1alpha1.ComponentResources{Limits: &v1alpha1.ResourceAmounts{Memory: new("1Gi")}}}
		return &v1alpha1.InstanceComponents{Scheduler: &v1alpha1.ComponentSettings{ProcessSettings: process}}
	}
	set := func(arguments map[string]v1alpha1.ArgumentValue) {
		t.Helper()
		w.edit("arguments", func(i *v1alpha1.Instance) { i.Spec.Components = with(arguments) })
		w.reconcileUntilDone("arguments")
	}
	wants := func(reason string, want map[string]string) {
		t.Helper()
		scheduler := w.karmada("arguments").Spec.Components.KarmadaScheduler
		if diff := cmp.Diff(want, scheduler.ExtraArgs); diff != "" || scheduler.Resources.Limits.Memory().String() != "1Gi" {
			t.Errorf("%s: %+v (-want +got):\n%s", reason, scheduler.Resources, diff)
		}
	}
	refused := map[string]v1alpha1.ArgumentValue{"kube-api-qps": "80", "kubeconfig": "/etc/other"}
	w.managed("arguments", "h-arguments", func(s *v1alpha1.InstanceSpec) { s.Components = with(refused) })
	w.reconcileUntilDone("arguments")
	w.installed("arguments", "False/ArgumentNotPermitted", "spec.components.scheduler.extraArgs", `"kubeconfig"`)
	w.gone(client.ObjectKey{Namespace: "k-arguments", Name: "arguments"}, &operatorv1alpha1.Karmada{})

	set(map[string]v1alpha1.ArgumentValue{"kube-api-qps": "80"})
	wants("permitted ones", map[string]string{"kube-api-qps": "80"})
	w.install("arguments")
	set(refused)
	wants("a refused one changes nothing", map[string]string{"kube-api-qps": "80"})
	w.installed("arguments", "True/Installed", "Nothing is changed until then")
	set(map[string]v1alpha1.ArgumentValue{"v": "4"})
	wants("another one in place", map[string]string{"v": "4"})
	set(nil)
	wants("none", nil)
}
