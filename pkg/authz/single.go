package authz

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"

	"golang.org/x/sync/errgroup"
)

// Bounds of asking one by one.
const (
	// maxParallelReviews is how many reviews a process has under way at a time.
	maxParallelReviews = 16
	// maxReviewedInstances is how many instances one list is asked about. Those that
	// a rule names go first; of the others beyond the bound, only what holds for
	// every instance is known.
	maxReviewedInstances = 1000
	// maxThorough is up to how many instances everything is asked about each. It
	// covers a page; of more instances only what reading needs is asked.
	maxThorough = 64
)

// singleMemory holds one entry for each user and instance. An answer is built on
// what is known of all instances, which may be three seconds old already; so it
// lives shorter, to stay within five seconds in all.
var singleMemory = memory{positive: 1500 * time.Millisecond, negative: 1500 * time.Millisecond, size: 1 << 16}

// singleReviews finds out by SubjectAccessReviews what can't be read from rules. The rules do not
// decide here, because an authorizer that can't list may also refuse what a rule permits. They only
// limit which reviews are worth sending.
type singleReviews struct {
	reviews authorizationclient.SubjectAccessReviewInterface
	slots   chan struct{}
	grantOf *decisions[Grant]
	logger  *slog.Logger
	warn    sync.Once
}

// unlisted is what a user may do on every instance, where rules can't be listed.
type unlisted struct {
	everything, everyNamespace facts
}

// grant is what is known of an instance before it is asked about.
func (u *unlisted) grant() Grant { return Grant{whole: u.everything, every: u.everyNamespace} }

func newSingleReviews(reviews authorizationclient.SubjectAccessReviewInterface, now func() time.Time, logger *slog.Logger) *singleReviews {
	return &singleReviews{
		reviews: reviews,
		slots:   make(chan struct{}, maxParallelReviews),
		grantOf: newDecisions[Grant]("your permissions", singleMemory, now),
		logger:  logger,
	}
}

func (s *singleReviews) flush() { s.grantOf.flush() }

// everywhere sends reviews without a name. A user who may do something for every name need not be
// reviewed for single ones. Most users may see single instances only, and cost one review here.
func (s *singleReviews) everywhere(ctx context.Context, u User, r *rules) (*unlisted, error) {
	see, err := s.askAll(ctx, u, "", questions[:1])
	if err != nil {
		return nil, err
	}
	about := only(questions, r.everything&^seeInstance)
	if see.has(seeInstance) {
		about = questions[1:]
	}
	whole, err := s.askAll(ctx, u, "", about)
	if err != nil {
		return nil, err
	}
	every, err := s.askAll(ctx, u, "", only(namespaceQuestions, r.everyNamespace))
	if err != nil {
		return nil, err
	}
	return &unlisted{everything: see | whole, everyNamespace: every}, nil
}

// grants sends reviews for each instance, and shares the answers with all callers that ask about
// the same user and instance.
func (s *singleReviews) grants(ctx context.Context, u User, id identity, known ruling, instances []string) (map[string]Grant, error) {
	names := known.rules.mentionedFirst(instances)
	thorough := len(names) <= maxThorough
	grants := make(map[string]Grant, len(names))
	if len(names) > maxReviewedInstances {
		for _, name := range names[maxReviewedInstances:] {
			grants[name] = known.unlisted.grant()
		}
		names = names[:maxReviewedInstances]
		if !known.unlisted.grant().visible() {
			s.warn.Do(func() {
				s.logger.Warn("the global cluster can't list the rules of a user, and there are more instances than can be asked about one by one; "+
					"lists show those that a rule names and the first of the others", "instances", len(instances), "asked", maxReviewedInstances)
			})
		}
	}
	found := make([]Grant, len(names))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(maxParallelReviews)
	for i, name := range names {
		g.Go(func() error {
			var err error
			found[i], err = s.grantOf.decide(gctx, singleKey(id, name, thorough), func(ctx context.Context) (answer[Grant], error) {
				grant, err := s.grant(ctx, u, known, name, thorough)
				return answer[Grant]{value: grant}, err
			})
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for i, name := range names {
		grants[name] = found[i]
	}
	return grants, nil
}

func singleKey(id identity, name string, thorough bool) [sha256.Size]byte {
	h := sha256.New()
	h.Write(id[:])
	writePart(h, name)
	if thorough {
		writeCount(h, 1)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// grant asks about one instance: first whether it may be seen, because that is
// where most end.
func (s *singleReviews) grant(ctx context.Context, u User, known ruling, name string, thorough bool) (Grant, error) {
	grant := known.unlisted.grant()
	if !grant.visible() {
		see, err := s.ask(ctx, u, name, questions[0])
		if err != nil || !see {
			return Grant{}, err
		}
		grant.whole |= seeInstance
	}
	wanted := ^grant.whole
	if !thorough {
		wanted &= readFacts
	}
	more, err := s.askAll(ctx, u, name, only(questions, wanted))
	if err != nil {
		return Grant{}, err
	}
	grant.whole |= more
	// Single namespaces can't be guessed; only those that a rule names can be asked about.
	named := known.rules.namespaces[name]
	for _, namespace := range slices.Sorted(maps.Keys(named)) {
		permitted, err := s.askAll(ctx, u, namespaceName(name, namespace), only(namespaceQuestions, named[namespace]&wanted&^grant.whole))
		if err != nil {
			return Grant{}, err
		}
		if grant.namespaces == nil {
			grant.namespaces = make(map[string]facts, len(named))
		}
		grant.namespaces[namespace] = permitted
	}
	return grant, nil
}

// only keeps the questions about some facts.
func only(about []question, f facts) []question {
	return slices.DeleteFunc(slices.Clone(about), func(q question) bool { return !f.has(q.fact) })
}

// askAll asks several questions about one name side by side.
func (s *singleReviews) askAll(ctx context.Context, u User, name string, about []question) (facts, error) {
	yes := make([]bool, len(about))
	g, gctx := errgroup.WithContext(ctx)
	for i, q := range about {
		g.Go(func() error {
			var err error
			yes[i], err = s.ask(gctx, u, name, q)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return 0, err
	}
	var f facts
	for i, q := range about {
		if yes[i] {
			f |= q.fact
		}
	}
	return f, nil
}

// ask asks one question; name "" asks about all names at once.
func (s *singleReviews) ask(ctx context.Context, u User, name string, q question) (bool, error) {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	review := accessReview(u, authorizationv1.ResourceAttributes{
		Verb: q.verb, Group: apiGroup, Resource: instanceResource, Subresource: q.subresource, Name: name,
	})
	result, err := s.reviews.Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return result.Status.Allowed, nil
}
