package workload

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/index"
)

// OverriddenImage is an image that an override policy decides in one cluster.
type OverriddenImage struct {
	Cluster   string
	Container string
	Image     string
	// Override is the last one that changes the image.
	Override Override
}

// OverriddenImages finds the clusters in which some containers of a workload run
// another image than its template says, because of an override that Karmada applied
// last. The workload is whole: it was just written.
func (s *Service) OverriddenImages(ctx context.Context, w *Workload, containers []string) ([]OverriddenImage, error) {
	o, err := s.optional(ctx, bindingKey(w.Indexed), index.Whole)
	if err != nil {
		return nil, apierror.In(err, w.Instance)
	}
	b, err := decodeBinding(o)
	if err != nil || b == nil {
		return []OverriddenImage{}, err
	}
	whole, err := w.Indexed.Manifest()
	if err != nil {
		return nil, err
	}
	manifest, err := json.Marshal(whole)
	if err != nil {
		return nil, err
	}
	targets := slices.Clone(targetsOf(&b.Spec))
	slices.SortFunc(targets, func(x, y workv1alpha2.TargetCluster) int { return cmp.Compare(x.Name, y.Name) })
	keys := make([]index.Key, len(targets))
	for i := range targets {
		keys[i] = workKey(w.Indexed, targets[i].Name)
	}
	s.lister.Reader.Prefetch(ctx, keys, index.Metadata, nil)
	found := []OverriddenImage{}
	for i := range targets {
		p := &Placement{PlacementStatus: PlacementStatus{Cluster: targets[i].Name}, workload: w}
		overrides, err := s.Overrides(ctx, p)
		if err != nil {
			return nil, err
		}
		applied := make([]policyv1alpha1.Overriders, len(overrides))
		for j := range overrides {
			applied[j] = overrides[j].Overriders
		}
		for _, image := range overriddenImages(w.kind, manifest, applied, containers) {
			found = append(found, OverriddenImage{Cluster: p.Cluster, Container: image.container, Image: image.image, Override: overrides[image.by]})
		}
	}
	return found, nil
}

// overriddenImage is an image that the override at a place of a list decides.
type overriddenImage struct {
	container, image string
	by               int
}

// overriddenImages applies overriders to a manifest in their order, and finds the
// containers whose images they change. One that cannot be applied changes nothing:
// Karmada then sends nothing to the cluster at all.
func overriddenImages(kind Kind, manifest []byte, overrides []policyv1alpha1.Overriders, containers []string) []overriddenImage {
	asked := imagesIn(manifest)
	by := map[string]int{}
	now, document := asked, manifest
	for i := range overrides {
		changed, err := applyToImages(kind, document, &overrides[i])
		if err != nil {
			return nil
		}
		after := imagesIn(changed)
		for name, image := range after {
			if image != now[name] {
				by[name] = i
			}
		}
		now, document = after, changed
	}
	var found []overriddenImage
	for _, name := range containers {
		if i, overridden := by[name]; overridden && now[name] != asked[name] {
			found = append(found, overriddenImage{name, now[name], i})
		}
	}
	return found
}

// imagesIn are the images of the containers of a manifest by name, init containers too.
func imagesIn(manifest []byte) map[string]string {
	o, err := parseObject(manifest)
	if err != nil {
		return nil
	}
	return imagesOf(o)
}

// imagesOf are the images of the containers of an object by name, init containers too.
func imagesOf(o *Object) map[string]string {
	images := map[string]string{}
	pod := o.podTemplate()
	for _, c := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
		images[c.Name] = c.Image
	}
	return images
}

// patchStep is one operation of a JSON patch.
type patchStep struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// applyToImages applies those overriders to a manifest that can change images, as
// Karmada's override manager does and in its order. Its own package would bring the
// client of every API of Karmada with it.
func applyToImages(kind Kind, manifest []byte, o *policyv1alpha1.Overriders) ([]byte, error) {
	for i := range o.ImageOverrider {
		steps, err := imageSteps(kind, manifest, &o.ImageOverrider[i])
		if err == nil {
			manifest, err = patched(manifest, steps)
		}
		if err != nil {
			return nil, err
		}
	}
	steps := make([]patchStep, len(o.Plaintext))
	for i, p := range o.Plaintext {
		steps[i] = patchStep{string(p.Operator), p.Path, p.Value}
	}
	return patched(manifest, steps)
}

func patched(manifest []byte, steps []patchStep) ([]byte, error) {
	if len(steps) == 0 {
		return manifest, nil
	}
	raw, err := json.Marshal(steps)
	if err != nil {
		return nil, err
	}
	patch, err := jsonpatch.DecodePatch(raw)
	if err != nil {
		return nil, err
	}
	return patch.Apply(manifest)
}

// imageSteps are what an image overrider changes: the image at the path of its
// predicate, or those of all containers. Without a predicate Karmada changes neither
// init containers nor a CronJob.
func imageSteps(kind Kind, manifest []byte, o *policyv1alpha1.ImageOverrider) ([]patchStep, error) {
	var places []string
	switch {
	case o.Predicate != nil:
		places = []string{o.Predicate.Path}
	case kind != KindCronJob:
		t, err := parseObject(manifest)
		if err != nil {
			return nil, err
		}
		for i := range t.Spec.Template.Spec.Containers {
			places = append(places, "/spec/template/spec/containers/"+strconv.Itoa(i)+"/image")
		}
	}
	steps := make([]patchStep, len(places))
	for i, place := range places {
		image, err := textAt(manifest, place)
		if err == nil {
			image, err = overriddenBy(o, image)
		}
		if err != nil {
			return nil, err
		}
		steps[i] = patchStep{string(policyv1alpha1.OverriderOpReplace), place, image}
	}
	return steps, nil
}

// textAt is the string at a path of a manifest.
func textAt(manifest []byte, path string) (string, error) {
	var at any
	if err := json.Unmarshal(manifest, &at); err != nil {
		return "", err
	}
	for segment := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		switch node := at.(type) {
		case map[string]any:
			at = node[segment]
		case []any:
			i, err := strconv.Atoi(segment)
			if err != nil || i < 0 || i >= len(node) {
				return "", fmt.Errorf("the manifest has nothing at %s", path)
			}
			at = node[i]
		default:
			return "", fmt.Errorf("the manifest has nothing at %s", path)
		}
	}
	text, ok := at.(string)
	if !ok {
		return "", fmt.Errorf("the manifest has no text at %s", path)
	}
	return text, nil
}

// overriddenBy is an image after one component of it was changed.
func overriddenBy(o *policyv1alpha1.ImageOverrider, image string) (string, error) {
	parts := partsOf(image)
	var now string
	var set func(string)
	switch o.Component {
	case policyv1alpha1.Registry:
		now, set = parts.registry, func(v string) { parts.registry = v }
	case policyv1alpha1.Repository:
		now, set = parts.repository, func(v string) { parts.repository = v }
	case policyv1alpha1.Tag:
		now, set = parts.version(), parts.setVersion
	default:
		return "", fmt.Errorf("an image has no component %q", o.Component)
	}
	switch {
	case o.Operator == policyv1alpha1.OverriderOpAdd:
		set(now + o.Value)
	case o.Operator == policyv1alpha1.OverriderOpReplace:
		set(o.Value)
	case o.Component == policyv1alpha1.Tag:
		parts.tag, parts.digest = "", ""
	default:
		set("")
	}
	return parts.String(), nil
}
