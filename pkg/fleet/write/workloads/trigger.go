package workloads

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/fleet/write"
)

// TriggerInput is the input of triggerCronJob.
type TriggerInput struct {
	Instance        string
	Namespace, Name string
	// JobName is the name of the Job; nil has one made.
	JobName *string
	DryRun  bool
}

// TriggerPayload is the Job that was made.
type TriggerPayload struct {
	Job              *workload.Job
	ConsistencyToken *string
}

// policyResource is a resource of the policies' group.
func policyResource(name string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: policyv1alpha1.GroupVersion.Group, Version: policyv1alpha1.GroupVersion.Version, Resource: name}
}

var (
	propagationPolicies        = write.Kind{GroupVersionResource: policyResource("propagationpolicies"), Kind: "PropagationPolicy", Namespaced: true}
	clusterPropagationPolicies = write.Kind{GroupVersionResource: policyResource("clusterpropagationpolicies"), Kind: "ClusterPropagationPolicy"}
)

const (
	// instantiate sets of a Job what kubectl sets of one that it makes of a CronJob.
	instantiate = "cronjob.kubernetes.io/instantiate"
	// maxCronJobName leaves room for what is appended.
	maxCronJobName = 52
)

// Trigger runs a CronJob now: a Job of its template, sent to where the CronJob is
// sent. The policy of the CronJob selects no Jobs, so the Job gets a policy of its
// own with the same placement, which goes when the Job goes.
func (s *Service) Trigger(ctx context.Context, in TriggerInput) (*TriggerPayload, error) {
	t := Target{Instance: in.Instance, Kind: workload.KindCronJob, Namespace: in.Namespace, Name: in.Name, DryRun: in.DryRun}
	site, err := s.at(ctx, t, authz.VerbCreate, "triggered", workload.KindCronJob)
	if err != nil {
		return nil, err
	}
	raw, err := site.Get(ctx, kindOf(t.Kind), in.Namespace, in.Name, t.paths(nil))
	if err != nil {
		return nil, err
	}
	var cronJob batchv1.CronJob
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw.Object, &cronJob); err != nil {
		return nil, err
	}
	spec, err := s.sentBy(ctx, site, &cronJob)
	if err != nil {
		return nil, err
	}
	job := jobOf(&cronJob, in.JobName)
	o := write.Options{DryRun: in.DryRun, Paths: write.Paths{"": "input!", "metadata.name": "input.jobName", "metadata.namespace": "input.namespace"}}
	madeJob, err := create(ctx, site, kindOf(workload.KindJob), job, o)
	if err != nil {
		return nil, err
	}
	policy := policyFor(job, madeJob.Version.UID, spec)
	madePolicy, err := create(ctx, site, propagationPolicies, policy, o)
	if err != nil {
		if in.DryRun {
			return nil, err
		}
		return nil, takeBack(ctx, site, madeJob, err)
	}
	p := &TriggerPayload{ConsistencyToken: s.Writer.Token(ctx, madeJob, madePolicy)}
	if madeJob.Object != nil {
		p.Job, _ = s.Workloads.Written(ctx, in.Instance, madeJob.Object).(*workload.Job)
	}
	return p, nil
}

// takeBack deletes a Job whose policy was refused: it would run nowhere. It does so even if the
// caller has disconnected. It returns why the policy was refused, and adds to that if the Job could
// not be deleted.
func takeBack(ctx context.Context, site *write.Site, job *write.Outcome, refused error) error {
	background := metav1.DeletePropagationBackground
	v := job.Version
	_, err := site.Delete(context.WithoutCancel(ctx), kindOf(workload.KindJob), v.Namespace, v.Name, write.Deletion{UID: v.UID, Propagation: &background}, write.Options{})
	e, told := errors.AsType[*apierror.Error](refused)
	if err == nil || apierror.Is(err, apierror.CodeNotFound) || !told {
		return refused
	}
	left := *e
	left.Message += fmt.Sprintf("; Job %q was made, could not be deleted again, and is sent nowhere: delete it", v.Name)
	return &left
}

// sentBy is the spec of the policy that sends the CronJob to its clusters.
func (s *Service) sentBy(ctx context.Context, site *write.Site, c *batchv1.CronJob) (*policyv1alpha1.PropagationSpec, error) {
	k, namespace, name := propagationPolicies, c.Annotations[policyv1alpha1.PropagationPolicyNamespaceAnnotation], c.Annotations[policyv1alpha1.PropagationPolicyNameAnnotation]
	if name == "" {
		k, namespace, name = clusterPropagationPolicies, "", c.Annotations[policyv1alpha1.ClusterPropagationPolicyAnnotation]
	}
	if name == "" {
		return nil, apierror.Invalid("input.name", "no policy sends this CronJob to any cluster, so a Job of it would run nowhere")
	}
	raw, err := site.Get(ctx, k, namespace, name, write.Paths{"": "input!", "metadata.name": "input.name"})
	if err != nil {
		return nil, err
	}
	var policy policyv1alpha1.PropagationPolicy // The cluster's own kind has the same spec.
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw.Object, &policy); err != nil {
		return nil, err
	}
	return &policy.Spec, nil
}

func jobOf(c *batchv1.CronJob, name *string) *batchv1.Job {
	job := &batchv1.Job{
		TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: c.Namespace, Labels: c.Spec.JobTemplate.Labels, Annotations: map[string]string{instantiate: "manual"},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(c, batchv1.SchemeGroupVersion.WithKind("CronJob"))},
		},
		Spec: c.Spec.JobTemplate.Spec,
	}
	maps.Copy(job.Annotations, c.Spec.JobTemplate.Annotations)
	if name != nil {
		job.Name = *name
		return job
	}
	base := strings.TrimRight(c.Name[:min(len(c.Name), maxCronJobName)], "-.")
	job.Name = base + "-" + rand.String(6)
	return job
}

// policyFor sends a Job, and nothing else, to where a policy sends its CronJob.
func policyFor(job *batchv1.Job, uid string, spec *policyv1alpha1.PropagationSpec) *policyv1alpha1.PropagationPolicy {
	p := &policyv1alpha1.PropagationPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: policyv1alpha1.GroupVersion.String(), Kind: "PropagationPolicy"},
		ObjectMeta: metav1.ObjectMeta{Name: job.Name, Namespace: job.Namespace, Labels: map[string]string{"app.kubernetes.io/managed-by": write.FieldManager}},
		Spec:       *spec.DeepCopy(),
	}
	if uid != "" {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: job.Name, UID: types.UID(uid)}}
	}
	p.Spec.ResourceSelectors = []policyv1alpha1.ResourceSelector{{APIVersion: "batch/v1", Kind: "Job", Namespace: job.Namespace, Name: job.Name}}
	p.Spec.DependentOverrides = nil
	return p
}

func create(ctx context.Context, site *write.Site, k write.Kind, typed any, o write.Options) (*write.Outcome, error) {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		return nil, err
	}
	delete(object, "status")
	return site.Create(ctx, k, &unstructured.Unstructured{Object: object}, o)
}
