package workload

import (
	"maps"
	"slices"
	"strings"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
)

// ImageKeys are what some images can be found by: each whole, without its digest, and
// without its tag too.
func ImageKeys(images []string) []string {
	keys := map[string]struct{}{}
	for _, image := range images {
		keys[image] = struct{}{}
		image, _, _ = strings.Cut(image, "@")
		keys[image] = struct{}{}
		if i := strings.LastIndex(image, ":"); i > strings.LastIndex(image, "/") {
			keys[image[:i]] = struct{}{}
		}
	}
	delete(keys, "")
	return slices.AppendSeq(make([]string, 0, len(keys)), slices.Values(slices.Sorted(maps.Keys(keys))))
}

// permanentIDs are the labels that hold IDs which Karmada made. They are no use to a search by
// words, and would be more than a third of the text.
var permanentIDs = []string{
	policyv1alpha1.PropagationPolicyPermanentIDLabel, policyv1alpha1.ClusterPropagationPolicyPermanentIDLabel, workv1alpha2.ResourceBindingPermanentIDLabel,
}

// SearchText is the text of a template in which words are searched for: its name, its
// namespace, its labels but for permanentIDs, and its images, a line for each, in small letters.
func SearchText(template *Object) string {
	lines := []string{template.Name, template.Namespace}
	for _, key := range slices.Sorted(maps.Keys(template.Labels)) {
		if !slices.Contains(permanentIDs, key) {
			lines = append(lines, key+"="+template.Labels[key])
		}
	}
	return strings.ToLower(strings.Join(append(lines, template.Images()...), "\n"))
}
