package listing

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"

	"github.com/kairship-io/kairship/pkg/apierror"
)

// The bounds of a text that is searched for.
const (
	maxWords = 10
	maxText  = 253
)

// Words returns the words of filter.text, in small letters; none for no text. It refuses a text that
// says nothing, or more than can be searched for.
func Words(text *string) ([]string, error) {
	if text == nil {
		return nil, nil
	}
	words := strings.Fields(strings.ToLower(*text))
	if len(words) == 0 || len(words) > maxWords || len(*text) > maxText {
		return nil, apierror.Invalid("filter.text", "Give 1 to %d words, together of at most %d bytes", maxWords, maxText)
	}
	return words, nil
}

// permanentIDs are the labels that hold IDs which Karmada made. They are no use to a search by
// words, and would be more than a third of the text.
var permanentIDs = []string{
	policyv1alpha1.PropagationPolicyPermanentIDLabel, policyv1alpha1.ClusterPropagationPolicyPermanentIDLabel, workv1alpha2.ResourceBindingPermanentIDLabel,
}

// SearchText returns the text of an object in which Words are searched for: its name, its namespace,
// its labels but for permanentIDs, and its images, a line for each, in small letters.
func SearchText(meta *metav1.ObjectMeta, images []string) string {
	lines := []string{meta.Name, meta.Namespace}
	for _, key := range slices.Sorted(maps.Keys(meta.Labels)) {
		if !slices.Contains(permanentIDs, key) {
			lines = append(lines, key+"="+meta.Labels[key])
		}
	}
	return strings.ToLower(strings.Join(append(lines, images...), "\n"))
}
