package workload

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
)

// earlierImages reports whether the object in a cluster has other images than the override
// policies ask for, and those that it had without them, or with what the Work records of
// policies that no longer exist. Any other images are the member's own affair: it may have an
// admission webhook that changes them.
func (in Facts) earlierImages(cluster string, seen *observation) bool {
	asked, known := in.askedOverrides(cluster)
	recorded := in.Overrides[cluster]
	if !known || seen == nil || seen.object == nil || len(asked)+len(recorded) == 0 {
		return false
	}
	manifest, err := json.Marshal(in.Template)
	if err != nil {
		return false
	}
	has := imagesOf(seen.object)
	is := func(overrides []AppliedOverride) bool {
		images, known := imagesWith(in.Kind, manifest, overrides)
		return !known || maps.Equal(images, has)
	}
	if is(asked) {
		return false
	}
	without, known := imagesWith(in.Kind, manifest, nil)
	before, certain := imagesWith(in.Kind, manifest, recorded)
	return known && maps.Equal(without, has) || certain && maps.Equal(before, has)
}

// imagesWith returns the images of a template after some overrides; false when overrides replace
// more than images, so that the result is unknown.
func imagesWith(kind Kind, manifest []byte, overrides []AppliedOverride) (images map[string]string, known bool) {
	for i := range overrides {
		o := policyv1alpha1.Overriders{ImageOverrider: overrides[i].Overriders.ImageOverrider}
		for _, p := range overrides[i].Overriders.Plaintext {
			path := strings.TrimSuffix(p.Path, "/")
			_, field, container := strings.Cut(path, "ontainers/") // Init containers too.
			switch {
			case container && strings.HasSuffix(field, "/image"):
				o.Plaintext = append(o.Plaintext, p)
			case container && strings.Contains(field, "/"):
				// Another field of a container.
			case container, strings.HasSuffix(path, "ontainers"), slices.Contains([]string{"", "/spec", "/spec/template", "/spec/template/spec", "/spec/jobTemplate",
				"/spec/jobTemplate/spec", "/spec/jobTemplate/spec/template", "/spec/jobTemplate/spec/template/spec"}, path):
				return nil, false
			}
		}
		var err error
		if manifest, err = applyToImages(kind, manifest, &o); err != nil {
			return nil, false
		}
	}
	images = imagesIn(manifest)
	return images, images != nil
}
