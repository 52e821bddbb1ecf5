package page_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/page"
)

func TestLimit(t *testing.T) {
	for _, tt := range []struct {
		first *int
		want  int
		why   string
	}{
		{nil, page.DefaultSize, "it is not stated"},
		{new(1), 1, "the least"},
		{new(50), 50, "as asked"},
		{new(page.MaxSize), page.MaxSize, "the most"},
		{new(0), 0, "a page of nothing is a mistake"},
		{new(-1), 0, "a page of less is a mistake"},
		{new(page.MaxSize + 1), 0, "more would cost too much"},
	} {
		got, err := page.Args{First: tt.first}.Limit()
		var e *apierror.Error
		refused := errors.As(err, &e) && e.Code == apierror.CodeInvalid && e.Argument == "first"
		if got != tt.want || (tt.want == 0) != refused {
			t.Errorf("%v: got %d, %v; want %d: %s", tt.first, got, err, tt.want, tt.why)
		}
	}
}

func TestBuild(t *testing.T) {
	fresh := freshness.Freshness{Source: freshness.SourceIndex}
	cursor := func(s string) string { return "at " + s }
	after, count := "x", int64(7)
	for _, tt := range []struct {
		name    string
		args    page.Args
		items   []string
		hasNext bool
		count   *int64
		want    *page.Connection[string]
		why     string
	}{
		{
			"nothing", page.Args{}, nil, false, nil,
			&page.Connection[string]{Edges: []*page.Edge[string]{}, Nodes: []string{}, Freshness: fresh}, "lists are empty and never null",
		},
		{
			"one", page.Args{}, []string{"a"}, false, new(int64(1)),
			&page.Connection[string]{
				Edges: []*page.Edge[string]{{Node: "a", Cursor: "at a"}}, Nodes: []string{"a"}, TotalCount: new(1), Freshness: fresh,
				PageInfo: page.Info{StartCursor: new("at a"), EndCursor: new("at a")},
			}, "one item is the first and the last",
		},
		{
			"in the middle", page.Args{After: &after}, []string{"a", "b"}, true, &count,
			&page.Connection[string]{
				Edges: []*page.Edge[string]{{Node: "a", Cursor: "at a"}, {Node: "b", Cursor: "at b"}}, Nodes: []string{"a", "b"}, TotalCount: new(7), Freshness: fresh,
				PageInfo: page.Info{HasNextPage: true, HasPreviousPage: true, StartCursor: new("at a"), EndCursor: new("at b")},
			}, "a position means that something was before it",
		},
		{
			"past the end", page.Args{After: &after}, []string{}, false, nil,
			&page.Connection[string]{Edges: []*page.Edge[string]{}, Nodes: []string{}, Freshness: fresh, PageInfo: page.Info{HasPreviousPage: true}}, "there is no cursor of nothing",
		},
	} {
		got := page.Build(tt.args, tt.items, cursor, tt.hasNext, tt.count, fresh)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", tt.name, tt.why, diff)
		}
	}
}

// A list that could not be read says so, and nothing else.
func TestUnread(t *testing.T) {
	why := "The index does not answer"
	want := &page.Connection[int]{
		Edges: []*page.Edge[int]{}, Nodes: []int{},
		Freshness: freshness.Freshness{Source: freshness.SourceIndex, Stale: true, Message: &why},
	}
	if diff := cmp.Diff(want, page.Unread[int](why)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
