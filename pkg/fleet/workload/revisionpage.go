package workload

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/graph-gophers/dataloader/v7"
	"golang.org/x/sync/errgroup"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/index"
)

// revisionWait is how long pages are collected whose revisions are read together: also workloads in no list, such as those
// that the objects of a page refer to.
const revisionWait = 5 * time.Millisecond

// operation is what one operation reads of revisions: those of all workloads of a page together, and those of pages that
// are asked for at the same time.
type operation struct {
	mu     sync.Mutex
	pages  map[*Workload]*revisionPage
	loader *dataloader.Loader[*revisionPage, map[index.Type][]*index.Object]
}

type operationKey struct{}

// With returns a context for a new operation.
func With(ctx context.Context) context.Context {
	return context.WithValue(ctx, operationKey{}, &operation{})
}

// revisionPage are workloads whose revisions are read together.
type revisionPage struct {
	workloads []*Workload
	// copies and errs are set when the page is read.
	copies []*copies
	errs   []error
}

// gather finds the copies of all workloads. What it reads is read together by the loaders.
func (p *revisionPage) gather(ctx context.Context, s *Service) {
	p.copies, p.errs = make([]*copies, len(p.workloads)), make([]error, len(p.workloads))
	var g errgroup.Group
	for i, w := range p.workloads {
		g.Go(func() error {
			p.copies[i], p.errs[i] = s.copiesOf(ctx, w)
			return nil
		})
	}
	_ = g.Wait() // The errors are each workload's own.
}

// pageOf returns the page of a workload: the one that it is in already, or else that of those beside it.
func (o *operation) pageOf(s *Service, w *Workload, beside []*Workload) *revisionPage {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.loader == nil {
		o.pages = map[*Workload]*revisionPage{}
		o.loader = dataloader.NewBatchedLoader(s.fetchRevisions, dataloader.WithWait[*revisionPage, map[index.Type][]*index.Object](revisionWait))
	}
	if p := o.pages[w]; p != nil {
		return p
	}
	if !slices.Contains(beside, w) {
		beside = []*Workload{w}
	}
	p := &revisionPage{workloads: beside}
	for _, one := range beside {
		o.pages[one] = p
	}
	return p
}

// fetchRevisions reads what the members keep of the workloads of pages.
func (s *Service) fetchRevisions(ctx context.Context, pages []*revisionPage) []*dataloader.Result[map[index.Type][]*index.Object] {
	s.announceCopies(ctx, pages)
	var g errgroup.Group
	for _, p := range pages {
		g.Go(func() error {
			p.gather(ctx, s)
			return nil
		})
	}
	_ = g.Wait() // The errors are each workload's own.
	var all []*copies
	for _, p := range pages {
		for i, c := range p.copies {
			if p.errs[i] == nil {
				all = append(all, c)
			}
		}
	}
	kept, err := s.keptOf(ctx, all)
	results := make([]*dataloader.Result[map[index.Type][]*index.Object], len(pages))
	for i := range pages {
		results[i] = &dataloader.Result[map[index.Type][]*index.Object]{Data: kept, Error: err}
	}
	return results
}

// announceCopies starts reading what gather needs of all workloads, so that it is one request of each sort.
func (s *Service) announceCopies(ctx context.Context, pages []*revisionPage) {
	var (
		g              errgroup.Group
		mu             sync.Mutex
		objects, works []index.Key
	)
	for _, p := range pages {
		for _, w := range p.workloads {
			if _, ok := records[w.kind]; !ok {
				continue
			}
			g.Go(func() error {
				placements, err := s.Placements(ctx, w)
				mu.Lock()
				defer mu.Unlock()
				for i := range placements {
					objects = append(objects, memberObjectKey(w.Indexed, placements[i].Cluster))
					works = append(works, workKey(w.Indexed, placements[i].Cluster))
				}
				return err
			})
		}
	}
	_ = g.Wait() // gather meets the error again.
	if len(objects) > 0 {
		s.lister.Reader.Prefetch(ctx, objects, index.Known, nil)
		s.lister.Reader.Prefetch(ctx, works, index.Metadata, nil)
	}
}

// RevisionList returns the revisions of a workload, those of each member with the newest first. Those of the workloads
// beside it, which will be asked for too, are read with them.
func (s *Service) RevisionList(ctx context.Context, w *Workload, beside []*Workload) ([]Revision, error) {
	all := []Revision{}
	if _, ok := records[w.kind]; !ok {
		return all, nil
	}
	o, ok := ctx.Value(operationKey{}).(*operation)
	if !ok {
		o = &operation{}
	}
	p := o.pageOf(s, w, beside)
	kept, err := o.loader.Load(ctx, p)()
	if err != nil {
		return nil, apierror.In(err, w.Instance)
	}
	i := slices.Index(p.workloads, w)
	if p.errs[i] != nil {
		return nil, p.errs[i]
	}
	members, err := p.copies[i].revisions(kept)
	for i := range members {
		for _, r := range slices.Backward(members[i].Revisions) {
			all = append(all, r)
		}
	}
	return all, err
}
