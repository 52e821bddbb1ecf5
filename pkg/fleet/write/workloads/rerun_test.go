package workloads

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/fleet/write/writetest"
)

func TestRerun(t *testing.T) {
	suspended, manual := true, true
	of := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name: "migrate", Namespace: "shop", UID: "1", ResourceVersion: "7",
			Labels:      map[string]string{"app": "shop", batchv1.JobNameLabel: "migrate", policyv1alpha1.PropagationPolicyPermanentIDLabel: "x"},
			Annotations: map[string]string{"note": "a", policyv1alpha1.PropagationPolicyNameAnnotation: "jobs"},
		},
		Spec: batchv1.JobSpec{
			Suspend: &suspended, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{batchv1.ControllerUidLabel: "1"}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "shop", batchv1.ControllerUidLabel: "1"}}},
		},
	}
	got := rerun(of)
	if !strings.HasPrefix(got.Name, "migrate-") || got.UID != "" || got.ResourceVersion != "" || got.Spec.Selector != nil || got.Spec.Suspend != nil {
		t.Errorf("got %+v", got)
	}
	for what, diff := range map[string]string{
		"labels":          cmp.Diff(map[string]string{"app": "shop"}, got.Labels),
		"annotations":     cmp.Diff(map[string]string{"note": "a"}, got.Annotations),
		"labels of pods":  cmp.Diff(map[string]string{"app": "shop"}, got.Spec.Template.Labels),
		"the first's own": cmp.Diff(map[string]string{"app": "shop", batchv1.ControllerUidLabel: "1"}, of.Spec.Template.Labels),
	} {
		if diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	of.Spec.ManualSelector = &manual
	if got := rerun(of); got.Spec.Selector == nil || got.Spec.Template.Labels[batchv1.ControllerUidLabel] == "" {
		t.Error("a selector that a person wrote is theirs")
	}
}

// A Job is run again where the caller's version is the stored one and a policy sends it.
func TestRunAgainNeedsAPolicy(t *testing.T) {
	i, s := triggering(t)
	i.Put(jobPath, map[string]any{"apiVersion": "batch/v1", "kind": "Job", "metadata": map[string]any{"name": "now", "namespace": "shop"}, "spec": map[string]any{}})
	version := "1"
	for _, tt := range []struct {
		reason   string
		in       Target
		code     apierror.Code
		argument string
	}{
		{"no policy sends it", Target{}, apierror.CodeInvalid, "input.name"},
		{"another version", Target{ResourceVersion: &version}, apierror.CodeConflict, "input.resourceVersion"},
		{"another object of the name", Target{UID: "other"}, apierror.CodeConflict, "input.name"},
	} {
		tt.in.Instance, tt.in.Kind, tt.in.Namespace, tt.in.Name = writetest.Name, workload.KindJob, "shop", "now"
		if _, err := s.Restart(writetest.As(t.Context()), tt.in); !apierror.Is(err, tt.code) || !strings.HasPrefix(err.Error(), tt.argument+": ") {
			t.Errorf("%s: got %v", tt.reason, err)
		}
	}
	if sent := i.Written(); len(sent) > 0 {
		t.Errorf("something was written: %v", sent)
	}
}
