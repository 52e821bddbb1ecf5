package resources

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/write"
	"github.com/kairship-io/kairship/pkg/index"
)

// readingSteps are the operations of a JSON patch that reveal something of the current object: the
// first two copy a value to a visible place such as an annotation, and the third tests a guessed
// value. Other types of patches reveal nothing.
var readingSteps = []string{"copy", "move", "test"}

// permitReading refuses a patch that would reveal concealed content to the caller: the values of a
// Secret, or the manifests of a Work, which may contain Secrets.
func (in PatchInput) permitReading(ctx context.Context, site *write.Site, k write.Kind, namespace string) error {
	isSecret := k.Group == "" && k.Resource == "secrets"
	isWork := k.Group == index.Works.Group && k.Resource == index.Works.Resource
	if in.Type != PatchJSON || !isSecret && !isWork {
		return nil
	}
	reads, err := readsObject(in.Patch)
	if err != nil || !reads {
		return err
	}
	if isWork {
		namespace = "" // A Work may hold Secrets of any namespace.
	}
	return site.PermitSecrets(ctx, namespace)
}

// readsObject reports whether a JSON patch has operations that reveal something of the object.
func readsObject(patch any) (bool, error) {
	var steps []map[string]any // A struct's fields would take other letters for the same.
	raw, err := json.Marshal(patch)
	if err == nil {
		err = json.Unmarshal(raw, &steps)
	}
	if err != nil {
		return false, apierror.Invalid("input.patch", "a JSON patch is a list of steps, such as {op: \"replace\", path: \"/spec/replicas\", value: 3}")
	}
	for _, step := range steps {
		if op, _ := step["op"].(string); slices.Contains(readingSteps, op) {
			return true, nil
		}
	}
	return false, nil
}
