package authz

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/requeststats"
)

// visibilityMemory is how long a Visibility is cached. No event reports that a person changed RBAC
// directly, so this alone bounds how long a role works after it was revoked. An empty Visibility is
// an answer like any other.
var visibilityMemory = memory{positive: 3 * time.Second, negative: 3 * time.Second, size: 4096}

// Resolver resolves what users may do on which instances. It is safe for concurrent
// use.
type Resolver struct {
	reviewer RulesReviewer
	known    *decisions[ruling]
	single   *singleReviews
}

var _ Authorizer = (*Resolver)(nil)

// ruling is what one review of a user's rules said.
type ruling struct {
	rules *rules
	// unlisted is set when the rules are incomplete: the global cluster has an authorizer that
	// answers access reviews, but can't list its rules. Then the rules only limit which reviews are
	// worth sending.
	unlisted *unlisted
}

// NewResolver makes a Resolver. It sends access reviews only where the global cluster can't list a
// user's rules. now is the clock of its caches; nil means time.Now. logger gets a warning when
// there are too many instances to ask about one by one; nil means slog.Default().
func NewResolver(rules RulesReviewer, access authorizationclient.SubjectAccessReviewInterface, now func() time.Time, logger *slog.Logger) *Resolver {
	if now == nil {
		now = time.Now
	}
	if logger == nil {
		logger = slog.Default()
	}
	return &Resolver{
		reviewer: rules,
		known:    newDecisions[ruling]("your permissions", visibilityMemory, now),
		single:   newSingleReviews(access, now, logger),
	}
}

// For returns what the user of the context may do on some instances; see
// Visibility. Outside of an authenticated request there is no user to ask about:
// CodeUnauthenticated.
func (r *Resolver) For(ctx context.Context, instances ...string) (*Visibility, error) {
	caller, ok := ctx.Value(userKey{}).(identified)
	if !ok {
		return nil, apierror.New(apierror.CodeUnauthenticated,
			"no credentials: send a bearer token of the global cluster in the Authorization header")
	}
	v, err := r.ofIdentified(ctx, caller, instances)
	grantsFrom(ctx).observe(v, err)
	if err == nil {
		sessionFrom(ctx).depend(v, instances)
	}
	return v, err
}

// Visibility holds what a user may do on some instances.
//
// Where the global cluster lists the user's rules, one review answers for every
// instance there is, and the names play no part. Where it can't, each of them is
// asked about separately, in a bounded number of reviews, and the Visibility
// answers for these alone: an instance that is not named is not visible in it.
//
// Errors are *apierror.Error: CodeTimeout when the global cluster did not
// answer, CodeForbidden for a user who can't be asked about at all. Answers are
// used again for three seconds.
func (r *Resolver) Visibility(ctx context.Context, u User, instances ...string) (*Visibility, error) {
	return r.ofIdentified(ctx, identified{u, u.identity()}, instances)
}

func (r *Resolver) ofIdentified(ctx context.Context, u identified, instances []string) (*Visibility, error) {
	var asked atomic.Bool
	known, err := r.known.decide(ctx, u.id, func(ctx context.Context) (answer[ruling], error) {
		asked.Store(true)
		return r.review(ctx, u.User)
	})
	if asked.Load() {
		requeststats.From(ctx).Look(requeststats.Permissions, 0, 1)
	} else {
		requeststats.From(ctx).Look(requeststats.Permissions, 1, 0)
	}
	if err != nil {
		return nil, err
	}
	return r.visibility(ctx, u.User, u.id, known, instances)
}

// Review returns a Visibility like the method Visibility, but never a cached one; later callers get
// the new answer too. Where the rules can't be listed, the answers about single instances may be
// 1.5 seconds old.
func (r *Resolver) Review(ctx context.Context, u User, instances ...string) (*Visibility, error) {
	id := u.identity()
	known, err := r.known.renew(ctx, id, func(ctx context.Context) (answer[ruling], error) { return r.review(ctx, u) })
	if err != nil {
		return nil, err
	}
	return r.visibility(ctx, u, id, known, instances)
}

func (r *Resolver) visibility(ctx context.Context, u User, id identity, known ruling, instances []string) (*Visibility, error) {
	if known.unlisted == nil {
		return &Visibility{rules: known.rules, all: known.rules.everything.has(seeInstance)}, nil
	}
	reviewed, err := r.single.grants(ctx, u, id, known, instances)
	if err != nil {
		return nil, err
	}
	return &Visibility{reviewed: reviewed, all: known.unlisted.everything.has(seeInstance)}, nil
}

// CanServe implements Authorizer: a known user is served, and sees what they
// may see, which may be nothing. It asks already now, because a request for
// which nothing can be decided is better refused as a whole.
func (r *Resolver) CanServe(ctx context.Context, u User) error {
	_, err := r.Visibility(ctx, u)
	return err
}

// Flush forgets every answer, those included that are on their way. It is called
// when a role was given or taken away, so that it shows at once.
func (r *Resolver) Flush() {
	r.known.flush()
	r.single.flush()
}

func (r *Resolver) review(ctx context.Context, u User) (answer[ruling], error) {
	status, err := r.reviewer.Rules(ctx, u)
	if err != nil {
		return answer[ruling]{}, err
	}
	known := ruling{rules: parseRules(status)}
	if status.Incomplete {
		if known.unlisted, err = r.single.everywhere(ctx, u, known.rules); err != nil {
			return answer[ruling]{}, err
		}
	}
	return answer[ruling]{value: known}, nil
}
