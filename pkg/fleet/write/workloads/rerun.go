package workloads

import (
	"context"
	"maps"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/write"
)

// runAgain makes another Job of the spec of one, and sends it to the same clusters. The first stays
// with what it did: to delete it and make it again could lose it half-way.
func (s *Service) runAgain(ctx context.Context, site *write.Site, in Target) (*Payload, error) {
	raw, err := site.Get(ctx, kindOf(in.Kind), in.Namespace, in.Name, in.paths(nil))
	if err != nil {
		return nil, err
	}
	var job batchv1.Job
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw.Object, &job); err != nil {
		return nil, err
	}
	switch {
	case in.UID != "" && string(job.UID) != in.UID:
		return nil, apierror.At(apierror.New(apierror.CodeConflict, "there is another object of this name now"), "input.name")
	case in.ResourceVersion != nil && *in.ResourceVersion != job.ResourceVersion:
		return nil, apierror.At(apierror.New(apierror.CodeConflict, "the Job is at version %s now: look at it, and repeat with that", job.ResourceVersion), "input.resourceVersion")
	}
	spec, err := s.sentBy(ctx, site, "Job", &job)
	if err != nil {
		return nil, err
	}
	return s.run(ctx, site, rerun(&job), spec, write.Options{DryRun: in.DryRun, Paths: in.paths(nil)})
}

// madeByJobs are the labels that Kubernetes gives to a Job and its pods.
var madeByJobs = []string{"controller-uid", "job-name", batchv1.ControllerUidLabel, batchv1.JobNameLabel}

// rerun is a Job that does what another one did.
func rerun(of *batchv1.Job) *batchv1.Job {
	job := &batchv1.Job{
		TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: metav1.ObjectMeta{
			Name: another(of.Name), Namespace: of.Namespace, OwnerReferences: of.OwnerReferences,
			Labels: withoutKarmadas(of.Labels), Annotations: withoutKarmadas(of.Annotations),
		},
		Spec: *of.Spec.DeepCopy(),
	}
	// A Job that was suspended is run, too.
	job.Spec.Suspend = nil
	if manual := job.Spec.ManualSelector; manual == nil || !*manual {
		job.Spec.Selector = nil
		for _, key := range madeByJobs {
			delete(job.Labels, key)
			delete(job.Spec.Template.Labels, key)
		}
	}
	return job
}

// withoutKarmadas are labels or annotations without those of Karmada and of kubectl's apply, which are
// about the object that has them.
func withoutKarmadas(from map[string]string) map[string]string {
	out := maps.Clone(from)
	for _, key := range slices.Collect(maps.Keys(from)) {
		domain, _, _ := strings.Cut(key, "/")
		if domain == "karmada.io" || strings.HasSuffix(domain, ".karmada.io") || key == "kubectl.kubernetes.io/last-applied-configuration" {
			delete(out, key)
		}
	}
	return out
}
