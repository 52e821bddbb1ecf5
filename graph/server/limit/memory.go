package limit

import (
	"context"
	"encoding/json"

	"github.com/99designs/gqlgen/graphql"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/kairship-io/kairship/graph/cost"
	"github.com/kairship-io/kairship/pkg/quota"
	"github.com/kairship-io/kairship/pkg/requeststats"
)

// ErrorMemory is what the executor keeps for each error.
const ErrorMemory = 1024

const (
	// bytesPerValue is how long a value of an answer is, with its name, on average.
	bytesPerValue = 16
	// fieldMemory is what the executor keeps for each field of each object until the
	// answer is written.
	fieldMemory = 192
	// textCopies is how many copies of a text there are at most while an answer is
	// written: in a buffer that doubles, and in what it grew from.
	textCopies = 3
)

// Spent returns what an operation cost whose answer has so many bytes.
func Spent(bytes int, used *requeststats.Recorder) int {
	requests := 0
	for _, use := range used.Uses() {
		requests += use.Requests
	}
	return bytes/bytesPerValue + requests*cost.RequestCost
}

// HoldField resolves a field and counts its part of the memory of an answer while that is made: what was
// read once may be in it as often as an operation has aliases.
func HoldField(ctx context.Context, next graphql.Resolver) (any, error) {
	operation := quota.From(ctx)
	if operation == nil {
		return next(ctx)
	}
	if err := operation.Hold(fieldMemory); err != nil {
		return nil, err
	}
	value, err := next(ctx)
	if err != nil {
		return value, err
	}
	if err := operation.Hold(textCopies * textOf(value)); err != nil {
		return nil, err
	}
	return value, nil
}

// textOf returns how many bytes a value will have in the answer, where it may have many. The
// fields of an object are values of their own.
func textOf(value any) int64 {
	switch v := value.(type) {
	case string:
		return jsonLength(v)
	case *string:
		if v != nil {
			return jsonLength(*v)
		}
	case []string:
		var sum int64
		for _, s := range v {
			sum += jsonLength(s)
		}
		return sum
	case json.RawMessage:
		return int64(len(v))
	case apiextensionsv1.JSON:
		return int64(len(v.Raw))
	case map[string]any, []any:
		return textWithin(v)
	}
	return 0
}

// textWithin returns the same of generic JSON, of which the values are counted too.
func textWithin(value any) int64 {
	const each = 64
	switch v := value.(type) {
	case map[string]any:
		sum := int64(each)
		for key, inner := range v {
			sum += jsonLength(key) + textWithin(inner)
		}
		return sum
	case []any:
		sum := int64(each)
		for _, inner := range v {
			sum += textWithin(inner)
		}
		return sum
	case string:
		return each + jsonLength(v)
	}
	return each
}

// jsonLength returns how long a text is in JSON, where a control character has six bytes.
func jsonLength(s string) int64 {
	const short = 64
	n := int64(len(s))
	if n <= short {
		return n
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ':
			n += 5
		case c == '"' || c == '\\':
			n++
		}
	}
	return n
}
