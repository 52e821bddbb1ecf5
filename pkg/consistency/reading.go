package consistency

import (
	"context"
	"slices"
	"strings"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// Header brings tokens, parted by commas where there are several.
const Header = "Kairship-Consistency-Token"

// Extension is the key of the same in the extensions of a request's body, for
// clients that cannot set headers: a string, or a list of them.
const Extension = "consistencyToken"

// maxTokens is how many tokens one request may bring.
const maxTokens = 20

// reading is what one operation has to see.
type reading struct {
	versions []Version
	// settled is closed when the index was waited for, or was not; see settle.
	begun   chan struct{}
	settled chan struct{}
	overlay []replacement
	err     error
}

type readingKey struct{}

// With returns a context in which the index is read only once it has the versions.
func With(ctx context.Context, versions []Version) context.Context {
	if len(versions) == 0 {
		return ctx
	}
	r := &reading{versions: newest(versions), begun: make(chan struct{}, 1), settled: make(chan struct{})}
	return context.WithValue(ctx, readingKey{}, r)
}

func readingFrom(ctx context.Context) *reading {
	r, _ := ctx.Value(readingKey{}).(*reading)
	return r
}

// newest keeps the last version of every object.
func newest(versions []Version) []Version {
	type identity struct{ instance, group, resource, namespace, name string }
	at := map[identity]int{}
	var kept []Version
	for _, v := range versions {
		id := identity{v.Instance, v.Group, v.Resource, v.Namespace, v.Name}
		i, again := at[id]
		if !again {
			at[id] = len(kept)
			kept = append(kept, v)
			continue
		}
		// A deletion has no version; it is the last of its object, unless the object
		// was made anew, which has another UID.
		old := kept[i]
		switch {
		case v.Deleted && v.UID == old.UID, old.Deleted && v.UID != old.UID, !v.Deleted && !old.Deleted && older(old.ResourceVersion, v.ResourceVersion):
			kept[i] = v
		}
	}
	return kept
}

// concerns tells that the reading is about one of some clusters.
func (r *reading) concerns(clusters []string) bool {
	return slices.ContainsFunc(r.versions, func(v Version) bool {
		return slices.Contains(clusters, v1alpha1.VirtualClusterName(v.Instance))
	})
}

// Requested finds the tokens of a request: those of the header, and what its
// extensions say.
func Requested(header []string, extension any) ([]string, error) {
	var tokens []string
	for _, line := range header {
		for token := range strings.SplitSeq(line, ",") {
			if token = strings.TrimSpace(token); token != "" {
				tokens = append(tokens, token)
			}
		}
	}
	switch e := extension.(type) {
	case nil:
	case string:
		tokens = append(tokens, e)
	case []any:
		for _, one := range e {
			token, ok := one.(string)
			if !ok {
				return nil, malformed()
			}
			tokens = append(tokens, token)
		}
	default:
		return nil, malformed()
	}
	if len(tokens) > maxTokens {
		return nil, apierror.Invalid(Argument, "a request brings at most %d consistency tokens", maxTokens)
	}
	return tokens, nil
}

func malformed() error {
	return apierror.Invalid("extensions."+Extension, "must be a token, or a list of tokens")
}

// Begin reads the tokens of a request and returns the context of its operation.
func (t *Tokens) Begin(ctx context.Context, header []string, extension any) (context.Context, error) {
	tokens, err := Requested(header, extension)
	if err != nil || len(tokens) == 0 {
		return ctx, err
	}
	var all []Version
	for _, token := range tokens {
		versions, err := t.Read(ctx, token)
		if err != nil {
			return ctx, err
		}
		all = append(all, versions...)
	}
	return With(ctx, all), nil
}
