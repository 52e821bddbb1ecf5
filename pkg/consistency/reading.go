package consistency

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/index"
)

// Header is the request header with tokens, separated by commas.
const Header = "Kairship-Consistency-Token"

// Extension is the key of the tokens in the extensions of a request's body, for clients that cannot
// set headers: a string, or a list of strings.
const Extension = "consistencyToken"

// maxTokens is how many tokens one request may bring.
const maxTokens = 20

// reading holds the versions that one operation has to see.
type reading struct {
	versions []Version
	// begun admits one caller to the index wait; done is closed when the wait is over.
	begun   chan struct{}
	done    chan struct{}
	overlay []replacement
	err     error
}

type readingKey struct{}

// With returns a context in which the index is read only once it has the versions.
func With(ctx context.Context, versions []Version) context.Context {
	if len(versions) == 0 {
		return ctx
	}
	r := &reading{versions: newest(versions), begun: make(chan struct{}, 1), done: make(chan struct{})}
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
		case v.Deleted && v.UID == old.UID, old.Deleted && v.UID != old.UID, !v.Deleted && !old.Deleted && index.OlderVersion(old.ResourceVersion, v.ResourceVersion):
			kept[i] = v
		}
	}
	return kept
}

// Concerns reports whether an operation has to see a version in one of some clusters.
func Concerns(ctx context.Context, clusters ...string) bool {
	r := readingFrom(ctx)
	return r != nil && r.concerns(clusters)
}

// concerns reports whether the reading is about one of some clusters.
func (r *reading) concerns(clusters []string) bool {
	return slices.ContainsFunc(r.versions, func(v Version) bool {
		return slices.Contains(clusters, v1alpha1.VirtualClusterName(v.Instance))
	})
}

// requestedToken returns the tokens of a request, from its header and its extensions.
func requestedToken(header []string, extension any) ([]string, error) {
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
		return nil, apierror.Invalid(tokenArgument, "a request brings at most %d consistency tokens", maxTokens)
	}
	return tokens, nil
}

func malformed() error {
	return apierror.Invalid("extensions."+Extension, "must be a token, or a list of tokens")
}

// Begin reads the tokens of a request and returns the context of its operation.
func (t *Tokens) Begin(ctx context.Context, header []string, extension any) (context.Context, error) {
	versions, err := t.requested(ctx, header, extension, t.Read)
	if err != nil {
		return ctx, err
	}
	return With(ctx, versions), nil
}

// BeginStream begins a subscription. The named versions are delivered before anything else
// (Written). Later reads of the index must be as late as the events that they are for, and do not
// wait for the named versions.
//
// A client sends the same request whenever it reconnects, perhaps for days. So an expired token is
// ignored.
func (t *Tokens) BeginStream(ctx context.Context, header []string, extension any) (context.Context, error) {
	versions, err := t.requested(ctx, header, extension, func(ctx context.Context, token string) ([]Version, error) {
		versions, err := t.Read(ctx, token)
		if errors.Is(err, errExpired) {
			return nil, nil
		}
		return versions, err
	})
	if err != nil || len(versions) == 0 {
		return ctx, err
	}
	return context.WithValue(ctx, writtenKey{}, newest(versions)), nil
}

type writtenKey struct{}

// Written returns the versions that the tokens of a subscription name, the last one of every
// object.
func Written(ctx context.Context) []Version {
	versions, _ := ctx.Value(writtenKey{}).([]Version)
	return versions
}

// requested returns the versions that all tokens of a request name.
func (t *Tokens) requested(
	ctx context.Context, header []string, extension any, read func(context.Context, string) ([]Version, error),
) ([]Version, error) {
	tokens, err := requestedToken(header, extension)
	if err != nil {
		return nil, err
	}
	var all []Version
	for _, token := range tokens {
		versions, err := read(ctx, token)
		if err != nil {
			return nil, err
		}
		all = append(all, versions...)
	}
	return all, nil
}
