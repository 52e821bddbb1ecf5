package workloads

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/write/writetest"
)

const (
	cronJobPath  = "/apis/batch/v1/namespaces/shop/cronjobs/nightly"
	jobPath      = "/apis/batch/v1/namespaces/shop/jobs/now"
	policiesPath = "/apis/policy.karmada.io/v1alpha1/namespaces/shop/propagationpolicies/"
)

// triggering is an instance with a CronJob and the policy that sends it.
func triggering(t *testing.T) (*writetest.Instance, *Service) {
	t.Helper()
	i, w := writetest.New(t)
	i.Put("/api/v1/namespaces/shop", map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "shop"}})
	i.Put(cronJobPath, map[string]any{
		"apiVersion": "batch/v1", "kind": "CronJob",
		"metadata": map[string]any{"name": "nightly", "namespace": "shop", "annotations": map[string]any{
			policyv1alpha1.PropagationPolicyNamespaceAnnotation: "shop", policyv1alpha1.PropagationPolicyNameAnnotation: "jobs",
		}},
		"spec": map[string]any{"schedule": "0 3 * * *", "jobTemplate": map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{}}}}},
	})
	i.Put(policiesPath+"jobs", map[string]any{
		"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy", "metadata": map[string]any{"name": "jobs", "namespace": "shop"},
		"spec": map[string]any{"resourceSelectors": []any{map[string]any{"apiVersion": "batch/v1", "kind": "CronJob"}}},
	})
	return i, &Service{Writer: w}
}

// A Job whose policy is refused is deleted, and nothing else; if that fails, the error reports it.
func TestTriggerIsTakenBack(t *testing.T) {
	denied := apierrors.NewForbidden(schema.GroupResource{Resource: "propagationpolicies"}, "now", errors.New("no"))
	for _, tt := range []struct {
		reason string
		dryRun bool
		// meanwhile happens when the policy is refused.
		meanwhile func(i *writetest.Instance, cancel func())
		deletion  error
		says      string
		sent      []string
		left      bool
	}{
		{"a dry run", true, nil, nil, "", nil, false},
		{"the Job goes", false, nil, nil, "", []string{"POST " + jobPath, "DELETE " + jobPath}, false},
		{"the caller has left", false, func(_ *writetest.Instance, cancel func()) { cancel() }, nil, "", []string{"POST " + jobPath, "DELETE " + jobPath}, false},
		{"another client deleted it", false, func(i *writetest.Instance, _ func()) { delete(i.Objects, jobPath) }, nil, "", []string{"POST " + jobPath}, false},
		{
			"another client made another of the name", false, func(i *writetest.Instance, _ func()) {
				i.Put(jobPath, map[string]any{"apiVersion": "batch/v1", "kind": "Job", "metadata": map[string]any{"name": "now", "namespace": "shop"}})
			}, nil, "delete it", []string{"POST " + jobPath}, true,
		},
		{"it may not be deleted", false, nil, denied, `Job "now" was made, could not be deleted`, []string{"POST " + jobPath}, true},
	} {
		i, s := triggering(t)
		ctx, cancel := context.WithCancel(writetest.As(t.Context()))
		i.Before = func(r *http.Request, path string) error {
			switch {
			case r.Method == http.MethodPost && path == policiesPath+"now":
				if tt.meanwhile != nil {
					tt.meanwhile(i, cancel)
				}
				return denied
			case r.Method == http.MethodDelete:
				return tt.deletion
			}
			return nil
		}
		name := "now"
		_, err := s.Trigger(ctx, TriggerInput{Instance: writetest.Name, Namespace: "shop", Name: "nightly", JobName: &name, DryRun: tt.dryRun})
		cancel()
		if err == nil || !strings.Contains(err.Error(), tt.says) || (tt.says == "" && strings.Contains(err.Error(), "delete")) {
			t.Errorf("%s: got %v, want it to say %q", tt.reason, err, tt.says)
		}
		if diff := cmp.Diff(tt.sent, i.Written()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
		if (i.Get(jobPath) != nil) != tt.left {
			t.Errorf("%s: the Job is %v", tt.reason, i.Get(jobPath))
		}
	}
}

// A CronJob that nothing sends, or whose policy no longer exists, runs nowhere.
func TestTriggerNeedsAPolicy(t *testing.T) {
	i, s := triggering(t)
	in := TriggerInput{Instance: writetest.Name, Namespace: "shop", Name: "nightly"}
	delete(i.Objects, policiesPath+"jobs")
	if _, err := s.Trigger(writetest.As(t.Context()), in); !apierror.Is(err, apierror.CodeNotFound) {
		t.Errorf("its policy was deleted: got %v", err)
	}
	c := i.Get(cronJobPath)
	c.SetAnnotations(nil)
	if _, err := s.Trigger(writetest.As(t.Context()), in); !apierror.Is(err, apierror.CodeInvalid) || !strings.HasPrefix(err.Error(), "input.name: ") {
		t.Errorf("nothing sends it: got %v", err)
	}
	if sent := i.Written(); len(sent) > 0 {
		t.Errorf("something was written: %v", sent)
	}
}

func TestJobOf(t *testing.T) {
	c := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Name: "nightly", Namespace: "shop", UID: "c"}, Spec: batchv1.CronJobSpec{JobTemplate: batchv1.JobTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "1"}, Annotations: map[string]string{"b": "2"}},
		Spec:       batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{NodeName: "n"}}},
	}}}
	name := "now"
	job := jobOf(c, &name)
	if job.Name != "now" || job.Labels["a"] != "1" || job.Annotations["b"] != "2" || job.Annotations[instantiate] != "manual" || job.Spec.Template.Spec.NodeName != "n" {
		t.Errorf("got %+v", job)
	}
	if owner := metav1.GetControllerOf(job); owner == nil || owner.UID != "c" || owner.Kind != "CronJob" {
		t.Errorf("its owner is %+v", owner)
	}
	if len(c.Spec.JobTemplate.Annotations) != 1 {
		t.Error("the CronJob was changed")
	}
	for _, long := range []string{strings.Repeat("a", 52), strings.Repeat("a", 51) + "-bbb", strings.Repeat("a", 253)} {
		c.Name = long
		made, again := jobOf(c, nil).Name, jobOf(c, nil).Name
		if len(made) > 63 || strings.Contains(made, "--") || made == again || !strings.HasPrefix(made, long[:40]) {
			t.Errorf("of %q it makes %q and %q", long, made, again)
		}
	}
}

func TestPolicyFor(t *testing.T) {
	spec := &policyv1alpha1.PropagationSpec{
		ResourceSelectors:  []policyv1alpha1.ResourceSelector{{APIVersion: "batch/v1", Kind: "CronJob"}, {APIVersion: "v1", Kind: "Secret"}},
		DependentOverrides: []string{"o"}, PropagateDeps: true,
		Placement: policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m1"}}},
	}
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "now", Namespace: "shop"}}
	p := policyFor(job, "u", spec)
	want := []policyv1alpha1.ResourceSelector{{APIVersion: "batch/v1", Kind: "Job", Namespace: "shop", Name: "now"}}
	if diff := cmp.Diff(want, p.Spec.ResourceSelectors); diff != "" {
		t.Errorf("it selects the Job alone (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(spec.Placement, p.Spec.Placement); diff != "" || !p.Spec.PropagateDeps || p.Spec.DependentOverrides != nil {
		t.Errorf("it sends it to where the CronJob is sent, with what it names: %s%+v", diff, p.Spec)
	}
	if len(p.OwnerReferences) != 1 || p.OwnerReferences[0].UID != types.UID("u") {
		t.Errorf("it goes with the Job: %+v", p.OwnerReferences)
	}
	if len(spec.ResourceSelectors) != 2 || len(policyFor(job, "", spec).OwnerReferences) != 0 {
		t.Error("the CronJob's policy was changed, or a dry run has an owner that is none")
	}
}
