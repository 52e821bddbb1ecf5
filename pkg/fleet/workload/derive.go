package workload

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// ErrNotDerivable reports that no template makes a member's earlier revision with the overrides of now.
var ErrNotDerivable = errors.New("the overrides of now cannot make it of any template")

// Derive returns the pod template with which a member that overrides apply to would have an earlier
// revision again. What the member changed between its current revision and the earlier one is changed in
// the template too, so what overrides add to both is left out. An image is chosen so that the overrides make
// the earlier one of it, with as much of the template's own name of it as possible. What overrides replace
// altogether cannot be told from a revision, and stays.
//
// The manifest is the workload in the instance; current and earlier are pod templates of the member.
func Derive(kind Kind, manifest []byte, overrides []policyv1alpha1.Overriders, current, earlier map[string]any) (*corev1.PodTemplateSpec, error) {
	var has struct {
		Spec struct {
			Template corev1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(manifest, &has); err != nil {
		return nil, err
	}
	template := &has.Spec.Template
	now, err := json.Marshal(template)
	if err != nil {
		return nil, err
	}
	from, to, err := templatesAlike(current, earlier)
	if err != nil {
		return nil, err
	}
	patch, err := strategicpatch.CreateTwoWayMergePatch(from, to, corev1.PodTemplateSpec{})
	if err != nil {
		return nil, fmt.Errorf("comparing two revisions: %w", err)
	}
	raw, err := strategicpatch.StrategicMergePatch(now, patch, corev1.PodTemplateSpec{})
	if err != nil {
		return nil, fmt.Errorf("changing the template: %w", err)
	}
	out := &corev1.PodTemplateSpec{}
	if err := json.Unmarshal(raw, out); err != nil {
		return nil, err
	}
	return out, deriveImages(kind, manifest, overrides, template, out)
}

// templatesAlike are two templates as JSON in which equal fields are alike.
func templatesAlike(a, b map[string]any) (from, to []byte, err error) {
	for _, t := range []struct {
		template map[string]any
		into     *[]byte
	}{{a, &from}, {b, &to}} {
		raw, err := json.Marshal(t.template)
		if err != nil {
			return nil, nil, err
		}
		typed := corev1.PodTemplateSpec{}
		if err := json.Unmarshal(raw, &typed); err != nil {
			return nil, nil, err
		}
		if *t.into, err = json.Marshal(typed); err != nil {
			return nil, nil, err
		}
	}
	return from, to, nil
}

// deriveImages replaces the images that came from the member by those that the overrides make them of.
func deriveImages(kind Kind, manifest []byte, overrides []policyv1alpha1.Overriders, before, out *corev1.PodTemplateSpec) error {
	had := map[string]string{}
	for _, c := range slices.Concat(before.Spec.Containers, before.Spec.InitContainers) {
		had[c.Name] = c.Image
	}
	for _, containers := range [][]corev1.Container{out.Spec.Containers, out.Spec.InitContainers} {
		for i := range containers {
			c := &containers[i]
			now, known := had[c.Name]
			if !known || now == c.Image {
				continue
			}
			image, err := derivedImage(kind, manifest, overrides, out, c.Name, now, c.Image)
			if err != nil {
				return err
			}
			c.Image = image
		}
	}
	return nil
}

// derivedImage finds the image of which the overrides make the one that a member had.
func derivedImage(kind Kind, manifest []byte, overrides []policyv1alpha1.Overriders, template *corev1.PodTemplateSpec, container, now, had string) (string, error) {
	own, theirs := partsOf(now), partsOf(had)
	// The version of the member in the template's name of the image; then more and more of the member's.
	version := own
	version.tag, version.digest = theirs.tag, theirs.digest
	registry := theirs
	registry.registry = own.registry
	for _, candidate := range []string{version.String(), registry.String(), had} {
		made, err := overriddenTo(kind, manifest, overrides, template, container, candidate)
		if err != nil {
			return "", err
		}
		if made == had {
			return candidate, nil
		}
	}
	return "", fmt.Errorf("the image %s of container %s: %w", had, container, ErrNotDerivable)
}

// overriddenTo is the image that overrides make of one in a template.
func overriddenTo(kind Kind, manifest []byte, overrides []policyv1alpha1.Overriders, template *corev1.PodTemplateSpec, container, image string) (string, error) {
	tried := template.DeepCopy()
	for _, containers := range [][]corev1.Container{tried.Spec.Containers, tried.Spec.InitContainers} {
		for i := range containers {
			if containers[i].Name == container {
				containers[i].Image = image
			}
		}
	}
	var document map[string]any
	if err := json.Unmarshal(manifest, &document); err != nil {
		return "", err
	}
	spec, _ := document["spec"].(map[string]any)
	if spec == nil {
		return "", ErrNotDerivable
	}
	spec["template"] = tried
	raw, err := json.Marshal(document)
	if err != nil {
		return "", err
	}
	for i := range overrides {
		if raw, err = applyToImages(kind, raw, &overrides[i]); err != nil {
			return "", fmt.Errorf("%w: %w", ErrNotDerivable, err)
		}
	}
	return imagesIn(raw)[container], nil
}
