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
	spec, err := s.sentBy(ctx, site, "CronJob", &cronJob)
	if err != nil {
		return nil, err
	}
	paths := write.Paths{"": "input!", "metadata.name": "input.jobName", "metadata.namespace": "input.namespace"}
	p, err := s.run(ctx, site, jobOf(&cronJob, in.JobName), spec, write.Options{DryRun: in.DryRun, Paths: paths})
	if err != nil {
		return nil, err
	}
	job, _ := p.Workload.(*workload.Job)
	return &TriggerPayload{Job: job, ConsistencyToken: p.ConsistencyToken}, nil
}

// run creates a Job, and a policy that sends it where another one sends something else.
func (s *Service) run(ctx context.Context, site *write.Site, job *batchv1.Job, spec *policyv1alpha1.PropagationSpec, o write.Options) (*Payload, error) {
	madeJob, err := create(ctx, site, kindOf(workload.KindJob), job, o)
	if err != nil {
		return nil, err
	}
	madePolicy, err := create(ctx, site, propagationPolicies, policyFor(job, madeJob.Version.UID, spec), o)
	if err != nil {
		if o.DryRun {
			return nil, err
		}
		return nil, takeBack(ctx, site, kindOf(workload.KindJob), madeJob, err)
	}
	p := s.payload(ctx, site.Instance, madeJob)
	p.ConsistencyToken = s.Writer.Token(ctx, madeJob, madePolicy)
	return p, nil
}

// takeBack deletes an object whose policy was refused: it would go nowhere. It does so even if the
// caller has disconnected. It returns why the policy was refused, and adds to that if the object could
// not be deleted.
func takeBack(ctx context.Context, site *write.Site, k write.Kind, made *write.Outcome, refused error) error {
	background := metav1.DeletePropagationBackground
	v := made.Version
	_, err := site.Delete(context.WithoutCancel(ctx), k, v.Namespace, v.Name, write.Deletion{UID: v.UID, Propagation: &background}, write.Options{})
	e, told := errors.AsType[*apierror.Error](refused)
	if err == nil || apierror.Is(err, apierror.CodeNotFound) || !told {
		return refused
	}
	left := *e
	left.Message += fmt.Sprintf("; %s %q was made, could not be deleted again, and is sent nowhere: delete it", k.Kind, v.Name)
	return &left
}

// sentBy is the spec of the policy that sends an object of a kind to its clusters.
func (s *Service) sentBy(ctx context.Context, site *write.Site, kind string, o metav1.Object) (*policyv1alpha1.PropagationSpec, error) {
	k, namespace, name := ClaimedBy(o.GetAnnotations())
	if name == "" {
		return nil, apierror.Invalid("input.name", "no policy sends this %s to any cluster, so what is made of it would go nowhere", kind)
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

// ClaimedBy is the policy that Karmada noted in the annotations of a template; no name where none claimed it.
func ClaimedBy(annotations map[string]string) (k write.Kind, namespace, name string) {
	if name := annotations[policyv1alpha1.PropagationPolicyNameAnnotation]; name != "" {
		return propagationPolicies, annotations[policyv1alpha1.PropagationPolicyNamespaceAnnotation], name
	}
	return clusterPropagationPolicies, "", annotations[policyv1alpha1.ClusterPropagationPolicyAnnotation]
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
	job.Name = another(c.Name)
	return job
}

// another makes a name of one that another Job gets.
func another(name string) string {
	return strings.TrimRight(name[:min(len(name), maxCronJobName)], "-.") + "-" + rand.String(6)
}

// policyFor sends a Job, and nothing else, to where a policy sends its CronJob.
func policyFor(job *batchv1.Job, uid string, spec *policyv1alpha1.PropagationSpec) *policyv1alpha1.PropagationPolicy {
	return policyOf(kindOf(workload.KindJob), job, job.Name, uid, spec)
}

func create(ctx context.Context, site *write.Site, k write.Kind, typed any, o write.Options) (*write.Outcome, error) {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		return nil, err
	}
	delete(object, "status")
	return site.Create(ctx, k, &unstructured.Unstructured{Object: object}, o)
}
