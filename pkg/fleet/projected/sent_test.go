package projected

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
)

// sent is where workloads were sent to. It counts.
type sent struct {
	has   map[projection.Sent]bool
	asked int
	err   error
}

func (s *sent) SentTo(context.Context, []projection.Scope) (map[projection.Sent]bool, projection.Moment, error) {
	s.asked++
	return s.has, projection.Moment{Now: 100, Pending: 98}, s.err
}

// scoped keeps the scopes that the index is asked with.
type scoped struct {
	Index
	queries []index.ListQuery
}

func (s *scoped) List(_ context.Context, q index.ListQuery) (*index.Page, error) {
	s.queries = append(s.queries, q)
	return &index.Page{}, nil
}

func (s *scoped) ListParts(_ context.Context, q index.ListQuery, parts []index.Part) (map[index.Part]*index.Page, error) {
	s.queries = append(s.queries, q)
	pages := map[index.Part]*index.Page{}
	for _, part := range parts {
		pages[part] = &index.Page{}
	}
	return pages, nil
}

// TestScopesOfMembers restricts the scopes of members to where workloads were sent, with one statement
// for all of them. A scope in which nothing remains stays: without it, its cluster would be read whole.
func TestScopesOfMembers(t *testing.T) {
	in := &sent{has: map[projection.Sent]bool{
		{Instance: "alpha", Namespace: "shop", Cluster: "m1"}: true,
		{Instance: "alpha", Namespace: "ops", Cluster: "m2"}:  true,
		{Instance: "beta", Namespace: "ops", Cluster: "m1"}:   true,
		{Instance: "alpha", Namespace: "web", Cluster: "m1"}:  true, // It is not asked for.
	}}
	below := &scoped{}
	s := &Source{Index: below, Sent: in, Timeout: time.Minute, Now: func() time.Time { return podsNow }}
	q := index.ListQuery{Types: []index.Type{index.Deployments}, Limit: 5, Scopes: []index.Scope{
		{Cluster: "m1", Namespaces: []string{"shop", "ops"}, SentBy: "alpha"},
		{Cluster: "m2", Names: []string{"shop", "ops"}, SentBy: "alpha"},
		{Cluster: "m3", Namespaces: []string{"shop"}, SentBy: "alpha"},
		{Cluster: "m4", EveryNamespace: true},
		{Cluster: "k-alpha", Namespaces: []string{"shop"}},
	}}
	want := []index.Scope{
		{Cluster: "m1", Namespaces: []string{"shop"}, Names: []string{}},
		{Cluster: "m2", Names: []string{"ops"}},
		{Cluster: "m3", Namespaces: []string{}},
		{Cluster: "m4", EveryNamespace: true},
		{Cluster: "k-alpha", Namespaces: []string{"shop"}},
	}
	same := cmp.Comparer(func(a, b []string) bool {
		return len(a) == 0 && len(b) == 0 || cmp.Equal(append([]string{}, a...), append([]string{}, b...))
	})
	parts := []index.Part{{Cluster: "m1"}, {Cluster: "m2"}, {Cluster: "m3"}, {Cluster: "m4"}}
	pages, err := s.ListParts(t.Context(), q, parts)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, below.queries[0].Scopes, same); diff != "" || in.asked != 1 {
		t.Errorf("%d statements, the scopes are (-want +got):\n%s", in.asked, diff)
	}
	// What was sent where is known as of two seconds ago.
	for i, asOf := range []time.Time{podsNow.Add(-2 * time.Second), podsNow.Add(-2 * time.Second), podsNow.Add(-2 * time.Second), {}} {
		if got := pages[parts[i]].AsOf; !got.Equal(asOf) {
			t.Errorf("the page of %s is as of %s, want %s", parts[i].Cluster, got, asOf)
		}
	}
	page, err := s.List(t.Context(), q)
	if err != nil || !page.AsOf.Equal(podsNow.Add(-2*time.Second)) {
		t.Fatalf("got %+v, %v", page, err)
	}
	if diff := cmp.Diff(want, below.queries[1].Scopes, same); diff != "" || in.asked != 2 {
		t.Errorf("%d statements, the scopes of a list are (-want +got):\n%s", in.asked, diff)
	}
	q.Scopes = q.Scopes[3:]
	if _, err := s.ListParts(t.Context(), q, parts); err != nil || in.asked != 2 {
		t.Errorf("%d statements where nothing depends on workloads, %v", in.asked, err)
	}
}

// TestScopesOfMembersThatAreNotKnown reads nothing where it is not known where workloads were sent.
func TestScopesOfMembersThatAreNotKnown(t *testing.T) {
	for name, in := range map[string]Sent{
		"no projection": nil, "it is built": &sent{err: projection.ErrIncomplete}, "an error": &sent{err: context.DeadlineExceeded},
	} {
		below := &scoped{}
		s := &Source{Index: below, Sent: in, Timeout: time.Minute, Now: func() time.Time { return podsNow }}
		q := index.ListQuery{Types: []index.Type{index.Deployments}, Scopes: []index.Scope{{Cluster: "m1", Namespaces: []string{"shop"}, SentBy: "alpha"}}}
		if _, err := s.ListParts(t.Context(), q, []index.Part{{Cluster: "m1"}}); !apierror.Is(err, apierror.CodeIndexUnavailable) {
			t.Errorf("%s: got %v", name, err)
		}
		if _, err := s.List(t.Context(), q); !apierror.Is(err, apierror.CodeIndexUnavailable) || len(below.queries) > 0 {
			t.Errorf("%s: got %v after %d questions", name, err, len(below.queries))
		}
	}
}
