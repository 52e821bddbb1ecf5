package specs

import (
	"errors"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/write"
)

// Manifest returns the object that an input describes, to be written with other objects. at is the
// path of the input, which errors name.
func (c *Changes[T, S]) Manifest(at string, in CreateInput[S]) (*unstructured.Unstructured, error) {
	u, err := c.draft(in)
	if err != nil {
		return nil, under(err, at)
	}
	return u, nil
}

// Paths are the inputs that the fields of an object come from, below the path of
// the input that holds it.
func Paths(at string) write.Paths {
	below := make(write.Paths, len(paths))
	for field, input := range paths {
		below[field] = moved(input, at)
	}
	return below
}

// under is an error about an input that is below a path.
func under(err error, at string) error {
	e, ours := errors.AsType[*apierror.Error](err)
	if !ours {
		return err
	}
	lower := *e
	lower.Argument = moved(e.Argument, at)
	lower.Fields = slices.Clone(e.Fields)
	for i := range lower.Fields {
		lower.Fields[i].Argument = moved(lower.Fields[i].Argument, at)
	}
	return &lower
}

func moved(argument, at string) string {
	rest, ok := strings.CutPrefix(argument, "input")
	if !ok {
		return argument
	}
	return at + rest
}

// Argument is the input that a field of an object comes from, for example `input.spec.rules[0]`.
func Argument(field string) string { return paths.Argument(field) }
