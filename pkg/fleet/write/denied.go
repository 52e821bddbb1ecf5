package write

import (
	"encoding/json"
	"regexp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/internal/excerpt"
	"github.com/kairship-io/kairship/pkg/apierror"
)

// denied matches the API server's message when a webhook of Karmada refuses an object.
var denied = regexp.MustCompile(`^admission webhook "[a-z.-]*karmada[a-z.-]*" denied the request: `)

// deniedByKarmada returns an error with the inputs that a webhook of Karmada refused; nil when none
// did, or when it names no field. Karmada reports such a violation as text, with the status
// Forbidden; but the input is wrong, not the caller's permission. Other webhooks decide on
// permissions, so their status stands.
func (s subject) deniedByKarmada(status *metav1.Status) *apierror.Error {
	mark := denied.FindString(status.Message)
	if mark == "" || s.secret() {
		return nil
	}
	wrong := s.said(strings.TrimPrefix(status.Message, mark))
	if len(wrong) == 0 {
		return nil
	}
	return invalid(wrong)
}

// fieldStart is where a field's part of a webhook's text begins.
var fieldStart = regexp.MustCompile(`(?:^\[?|, )((?:spec|metadata)(?:\.[A-Za-z][A-Za-z0-9]*|\[[^\]]*\])*): `)

// rules are texts of Karmada that name no field, and the field that each is about.
var rules = []struct{ words, field string }{
	{"schedulerName should not be updated", "spec.schedulerName"},
	{"permanent-id is immutable", "metadata.labels"},
}

// karmadasFields are fields that Karmada's webhooks call by another name than theirs.
var karmadasFields = strings.NewReplacer("spec.suspension.suspension", "spec.suspension")

// said returns the violations that a webhook of Karmada names: one, or a list in brackets. It
// leaves out the quoted values: the caller knows them, and no other user should see them.
func (s subject) said(text string) []apierror.Field {
	for _, rule := range rules {
		if strings.Contains(text, rule.words) {
			return []apierror.Field{{Argument: s.paths.Argument(rule.field), Message: excerpt.Of(text, mostOfInstance)}}
		}
	}
	if strings.HasPrefix(text, "[") {
		text = strings.TrimSuffix(text, "]")
	}
	starts := fieldStart.FindAllStringSubmatchIndex(text, -1)
	if len(starts) == 0 || starts[0][0] != 0 {
		return nil
	}
	var wrong []apierror.Field
	for i, at := range starts {
		end := len(text)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		wrong = append(wrong, apierror.Field{
			Argument: s.paths.Argument(karmadasFields.Replace(text[at[2]:at[3]])), Message: excerpt.Of(detail(text[at[1]:end]), mostOfInstance),
		})
	}
	return wrong
}

// detail returns Kubernetes' message about a field without the value: the text has the type of the
// error, for most types the value as JSON, and the message.
func detail(text string) string {
	kind, rest, ok := strings.Cut(text, ": ")
	if !ok {
		return text
	}
	switch kind {
	case "Required value", "Forbidden", "Too long":
		return rest
	}
	value := json.NewDecoder(strings.NewReader(rest))
	var skipped json.RawMessage
	if err := value.Decode(&skipped); err != nil {
		return kind
	}
	if words, ok := strings.CutPrefix(rest[value.InputOffset():], ": "); ok {
		return words
	}
	return kind
}
