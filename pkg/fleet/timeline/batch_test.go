package timeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/projection"
)

// source keeps how many objects each statement is about.
type source struct {
	mu         sync.Mutex
	statements []int
	err        error
}

func (s *source) History(_ context.Context, objects []projection.HistoryQuery, r *projection.HistoryRange) (*projection.Histories, time.Time, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.statements = append(s.statements, len(objects))
	pages := make([]projection.HistoryPage, len(objects))
	for i := range objects {
		pages[i].Entries = []projection.HistoryEntry{{Entry: projection.Entry{After: fmt.Sprintf("%s %d", objects[i].Name, r.Limit)}}}
	}
	return &projection.Histories{Pages: pages}, time.Time{}, s.err
}

// TestBatch: histories with one range are read with one statement, each by its own object.
func TestBatch(t *testing.T) {
	s := &source{}
	service := &Service{History: s}
	ctx := With(t.Context())
	var g errgroup.Group
	for i := range 50 {
		g.Go(func() error {
			name, limit := fmt.Sprint(i), 5+i%2
			p, err := service.load(ctx, []projection.HistoryQuery{{ObjectKey: projection.ObjectKey{Name: name}}}, &projection.HistoryRange{Limit: limit})
			if want := fmt.Sprintf("%s %d", name, limit); err == nil && p.Entries[0].After != want {
				err = fmt.Errorf("got %q, want %q", p.Entries[0].After, want)
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
	asked := 0
	for _, n := range s.statements {
		asked += n
	}
	if asked != 50 || len(s.statements) > 10 {
		t.Errorf("the statements are about %v objects", s.statements)
	}
	s.err = errors.New("the database is away")
	if _, err := service.load(ctx, []projection.HistoryQuery{{}}, &projection.HistoryRange{}); !errors.Is(err, s.err) {
		t.Errorf("got %v", err)
	}
}

// TestAPageIsReadAtOnce: the histories of a page are read with one statement, also where a slow machine asks for the next of
// them only after the first was read.
func TestAPageIsReadAtOnce(t *testing.T) {
	s := &source{}
	service := &Service{History: s}
	ctx := With(t.Context())
	page := make([]projection.HistoryQuery, 50)
	for i := range page {
		page[i].Name = fmt.Sprint(i)
	}
	for i := range page {
		all := append([]projection.HistoryQuery{page[i]}, page...)
		if p, err := service.load(ctx, all, &projection.HistoryRange{Limit: 5}); err != nil || p.Entries[0].After != fmt.Sprintf("%d 5", i) {
			t.Fatalf("%d: got %+v, %v", i, p, err)
		}
	}
	if !slices.Equal(s.statements, []int{len(page)}) {
		t.Errorf("the statements are about %v objects", s.statements)
	}
}

// TestObjects: only what has a timeline can be named.
func TestObjects(t *testing.T) {
	shop, none := "shop", ""
	for _, tt := range []struct {
		o    Object
		want string
	}{
		{Object{"DEPLOYMENT", &shop, "web"}, ""}, {Object{"Rollout.argoproj.io", &shop, "web"}, ""}, {Object{"PropagationPolicy", &shop, "web"}, ""},
		{Object{"MemberCluster", nil, "m1"}, ""}, {Object{"ClusterOverridePolicy", &none, "web"}, ""},
		{Object{"Secret", &shop, "web"}, "object.kind"}, {Object{"", nil, "web"}, "object.kind"}, {Object{"Instance", nil, "beta"}, "object.kind"},
		{Object{"DEPLOYMENT", nil, "web"}, "object.namespace"}, {Object{"MemberCluster", &shop, "m1"}, "object.namespace"}, {Object{"JOB", &shop, ""}, "object.name"},
	} {
		_, err := tt.o.key("alpha")
		is, _ := errors.AsType[*apierror.Error](err)
		if (tt.want == "") != (err == nil) || is != nil && is.Argument != tt.want {
			t.Errorf("%+v: got %v, want %q", tt.o, err, tt.want)
		}
	}
}

// TestArgs: what cannot be answered is refused before anything is read.
func TestArgs(t *testing.T) {
	now := time.Now()
	none, cursor := 0, "none"
	s := &Service{Now: time.Now}
	for argument, args := range map[string]Args{
		"first": {Args: page.Args{First: &none}}, "to": {From: &now, To: &now}, "after": {Args: page.Args{After: &cursor}},
	} {
		_, err := s.Of(t.Context(), projection.ObjectKey{}, &args)
		if is, ok := errors.AsType[*apierror.Error](err); !ok || is.Code != apierror.CodeInvalid || is.Argument != argument {
			t.Errorf("%s: got %v", argument, err)
		}
	}
}
