// Package workloads implements the mutations of workloads, such as scaling and
// restarting, which need no manifest.
package workloads

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/fleet/write"
)

// Service changes workloads.
type Service struct {
	Writer    *write.Writer
	Workloads *workload.Service
	Now       func() time.Time
}

// Target is what every input of a workload's mutation has.
type Target struct {
	Instance        string
	Kind            workload.Kind
	Namespace, Name string
	ResourceVersion *string
	DryRun          bool
	// UID has only the object that has it changed; empty for any. No input has it.
	UID string
}

// Payload is a workload that was changed.
type Payload struct {
	// Workload is what the instance stored; nil for one that was deleted.
	Workload         workload.Any
	ConsistencyToken *string
	// Outcome is what the write did.
	Outcome *write.Outcome
}

// kindOf is a kind of workload for the core.
func kindOf(k workload.Kind) write.Kind {
	return write.Kind{GroupVersionResource: k.GVR(), Kind: k.GVK().Kind, Namespaced: true}
}

// at finds the instance of a target, and whether the caller may do this there.
// Only some kinds can do it.
func (s *Service) at(ctx context.Context, t Target, verb authz.Verb, can string, kinds ...workload.Kind) (*write.Site, error) {
	site, err := s.Writer.To(ctx, t.Instance)
	if err != nil {
		return nil, err
	}
	if err := one(t.Kind, can, kinds); err != nil {
		return nil, err
	}
	if t.Namespace == "" {
		return nil, apierror.Invalid("input.namespace", "a workload is in a namespace: say which")
	}
	if err := write.CheckNamespace(t.Namespace, "input.namespace"); err != nil {
		return nil, err
	}
	if err := write.CheckName(t.Name, "input.name"); err != nil {
		return nil, err
	}
	if err := write.CheckPreconditions(t.ResourceVersion, nil); err != nil {
		return nil, err
	}
	return site, site.Permit(ctx, verb, t.Namespace)
}

func one(kind workload.Kind, can string, kinds []workload.Kind) error {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		if k == kind {
			return nil
		}
		names[i] = string(k)
	}
	if kind == workload.KindCustom {
		return apierror.Invalid("input.kind", "a custom workload cannot be %s here, because nothing is known of its spec: change it with patchResource or applyManifests; these can: %s", can, strings.Join(names, ", "))
	}
	return apierror.Invalid("input.kind", "a %s cannot be %s; these can: %s", kind, can, strings.Join(names, ", "))
}

// paths are the inputs of a target, with those of some fields.
func (t Target) paths(of write.Paths) write.Paths {
	p := write.Paths{"": "input!", "metadata.name": "input.name", "metadata.namespace": "input.namespace", "metadata.resourceVersion": "input.resourceVersion"}
	maps.Copy(p, of)
	return p
}

// merge changes fields of a workload by a merge patch.
func (s *Service) merge(ctx context.Context, site *write.Site, t Target, change map[string]any, paths write.Paths) (*Payload, error) {
	metadata, _ := change["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
	}
	if t.ResourceVersion != nil {
		metadata["resourceVersion"] = *t.ResourceVersion
	}
	if t.UID != "" {
		metadata["uid"] = t.UID
	}
	if len(metadata) > 0 {
		change["metadata"] = metadata
	}
	return s.patch(ctx, site, t, types.MergePatchType, change, paths)
}

func (s *Service) patch(ctx context.Context, site *write.Site, t Target, of types.PatchType, change any, paths write.Paths) (*Payload, error) {
	raw, err := json.Marshal(change)
	if err != nil {
		return nil, err
	}
	out, err := site.Patch(ctx, kindOf(t.Kind), t.Namespace, t.Name, of, raw, write.Options{DryRun: t.DryRun, Paths: t.paths(paths)})
	if err != nil {
		return nil, err
	}
	return s.payload(ctx, t.Instance, out), nil
}

func (s *Service) payload(ctx context.Context, instance string, out *write.Outcome) *Payload {
	p := &Payload{ConsistencyToken: s.Writer.Token(ctx, out), Outcome: out}
	if out.Object != nil {
		p.Workload = s.Workloads.Written(ctx, instance, out.Object)
	}
	return p
}

// ScaleInput is the input of scaleWorkload.
type ScaleInput struct {
	Target
	Replicas int
}

// Scale sets the number of replicas, in all clusters in total or in each one, as the policy
// decides.
func (s *Service) Scale(ctx context.Context, in ScaleInput) (*Payload, error) {
	site, err := s.at(ctx, in.Target, authz.VerbUpdate, "scaled", Scalable()...)
	if err != nil {
		return nil, err
	}
	return s.merge(ctx, site, in.Target, map[string]any{"spec": map[string]any{"replicas": in.Replicas}}, write.Paths{"spec.replicas": "input.replicas"})
}

// restartedAt is where kubectl notes it too.
const restartedAt = "kubectl.kubernetes.io/restartedAt"

// Restart replaces all pods, in every cluster, as a new template would. A Job runs once, so it is
// run again under another name.
func (s *Service) Restart(ctx context.Context, in Target) (*Payload, error) {
	site, err := s.at(ctx, in, authz.VerbUpdate, "restarted", Restartable()...)
	if err != nil {
		return nil, err
	}
	if in.Kind == workload.KindJob {
		return s.runAgain(ctx, site, in)
	}
	// Two restarts within a second are two.
	now := s.Now().UTC().Format(time.RFC3339Nano)
	return s.merge(ctx, site, in, map[string]any{"spec": map[string]any{"template": map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{restartedAt: now}},
	}}}, nil)
}

// Pause stops the roll-out of a Deployment, or a Job or CronJob from starting pods.
func (s *Service) Pause(ctx context.Context, in Target) (*Payload, error) {
	return s.setPaused(ctx, in, "paused", true)
}

// Resume goes on with what Pause stopped.
func (s *Service) Resume(ctx context.Context, in Target) (*Payload, error) {
	return s.setPaused(ctx, in, "resumed", false)
}

func (s *Service) setPaused(ctx context.Context, in Target, can string, paused bool) (*Payload, error) {
	site, err := s.at(ctx, in, authz.VerbUpdate, can, Pausable()...)
	if err != nil {
		return nil, err
	}
	field := "suspend"
	if in.Kind == workload.KindDeployment {
		field = "paused"
	}
	return s.merge(ctx, site, in, map[string]any{"spec": map[string]any{field: paused}}, nil)
}

// Image is the image of one container.
type Image struct {
	Container, Image string
}

// SetImageInput is the input of setImage.
type SetImageInput struct {
	Target
	Images []Image
}

// SetImagePayload is a workload whose images were changed.
type SetImagePayload struct {
	Payload
	// set are the images that were asked for.
	set []Image
}

// Overridden finds the clusters in which an override policy decides another image
// than the one that was set.
func (s *Service) Overridden(ctx context.Context, p *SetImagePayload) ([]workload.OverriddenImage, error) {
	if p.Workload == nil {
		return []workload.OverriddenImage{}, nil
	}
	containers := make([]string, len(p.set))
	for i := range p.set {
		containers[i] = p.set[i].Container
	}
	return s.Workloads.OverriddenImages(ctx, p.Workload.Base(), containers)
}

// SetImage changes images of containers, those of init containers too.
func (s *Service) SetImage(ctx context.Context, in SetImageInput) (*SetImagePayload, error) {
	site, err := s.at(ctx, in.Target, authz.VerbUpdate, "given another image", WithImages()...)
	if err != nil {
		return nil, err
	}
	if len(in.Images) == 0 {
		return nil, apierror.Invalid("input.images", "say for at least one container which image it gets")
	}
	p, err := again(in.Target, func() (*Payload, error) { return s.setImage(ctx, site, in) })
	if err != nil {
		return nil, err
	}
	return &SetImagePayload{Payload: *p, set: in.Images}, nil
}

// attempts is how often a change without a caller's version is tried: Karmada writes the status of
// workloads at any time.
const attempts = 10

// again repeats a change on conflicts, unless the caller gave the version that it is based on.
func again[T any](t Target, change func() (T, error)) (T, error) {
	for try := 1; ; try++ {
		p, err := change()
		if err == nil || t.ResourceVersion != nil || try == attempts || !apierror.Is(err, apierror.CodeConflict) {
			return p, err
		}
	}
}

func (s *Service) setImage(ctx context.Context, site *write.Site, in SetImageInput) (*Payload, error) {
	now, err := site.Get(ctx, kindOf(in.Kind), in.Namespace, in.Name, in.paths(nil))
	if err != nil {
		return nil, err
	}
	if in.UID != "" && string(now.GetUID()) != in.UID {
		return nil, apierror.At(apierror.New(apierror.CodeConflict, "there is another object of this name now"), "input.name")
	}
	at := "spec.template.spec"
	if in.Kind == workload.KindCronJob {
		at = "spec.jobTemplate.spec.template.spec"
	}
	steps, paths, err := imageSteps(now.Object, at, in.Images)
	if err != nil {
		return nil, err
	}
	version := now.GetResourceVersion()
	if in.ResourceVersion != nil {
		version = *in.ResourceVersion
	}
	// The places of containers are those of this version.
	steps = append(steps, step{"replace", "/metadata/resourceVersion", version})
	return s.patch(ctx, site, in.Target, types.JSONPatchType, steps, paths)
}

// step is one of a JSON patch.
type step struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// imageSteps finds the containers of a pod template by name, and sets their images.
func imageSteps(object map[string]any, podSpec string, images []Image) ([]step, write.Paths, error) {
	spec := object
	for name := range strings.SplitSeq(podSpec, ".") {
		spec, _ = spec[name].(map[string]any)
	}
	var steps []step
	paths := write.Paths{}
	seen := map[string]bool{}
	for i, image := range images {
		argument := fmt.Sprintf("input.images[%d]", i)
		if seen[image.Container] {
			return nil, nil, apierror.Invalid(argument+".container", "%q is given twice", image.Container)
		}
		seen[image.Container] = true
		if image.Image == "" || strings.ContainsAny(image.Image, " \t\r\n") {
			return nil, nil, apierror.Invalid(argument+".image", "%q is not the name of an image", image.Image)
		}
		field, known := placeOf(spec, image.Container)
		if field == "" {
			return nil, nil, apierror.Invalid(argument+".container", "there is no container %q; there are %s", image.Container, strings.Join(known, ", "))
		}
		steps = append(steps, step{"replace", "/" + strings.ReplaceAll(podSpec, ".", "/") + "/" + field + "/image", image.Image})
		list, number, _ := strings.Cut(field, "/")
		paths[fmt.Sprintf("%s.%s[%s]", podSpec, list, number)] = argument
	}
	return steps, paths, nil
}

// placeOf is where a container is in a pod's spec, such as "containers/1"; empty
// when there is none, and then the names of those that there are.
func placeOf(spec map[string]any, container string) (field string, known []string) {
	for _, list := range []string{"containers", "initContainers"} {
		containers, _ := spec[list].([]any)
		for i, c := range containers {
			fields, _ := c.(map[string]any)
			name, _ := fields["name"].(string)
			if name == container {
				return fmt.Sprintf("%s/%d", list, i), nil
			}
			known = append(known, name)
		}
	}
	return "", known
}
