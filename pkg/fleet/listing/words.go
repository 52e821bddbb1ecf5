package listing

import (
	"strings"

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
