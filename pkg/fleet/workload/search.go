package workload

import (
	"maps"
	"slices"
	"strings"

	"github.com/kairship-io/kairship/pkg/fleet/listing"
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

// SearchText is the text of a template in which words are searched for.
func SearchText(template *Object) string {
	return listing.SearchText(&template.ObjectMeta, template.Images())
}
