package loaders_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kairship-io/kairship/pkg/index"
)

// fakeSource is an index that keeps what it was asked. It has every object but
// those whose name says otherwise.
type fakeSource struct {
	mu sync.Mutex
	// many, parts and owned are the questions, in order.
	many   []question
	parts  []string
	owners [][]index.PodOwner
	listed int

	// before is called while a question waits for its answer.
	before func(ctx context.Context) error
}

// question is one call of GetMany.
type question struct {
	Names  []string
	Detail index.Detail
}

const missing = "missing"

func (s *fakeSource) wait(ctx context.Context) error {
	if s.before == nil {
		return nil
	}
	return s.before(ctx)
}

func (s *fakeSource) GetMany(ctx context.Context, keys []index.Key, detail index.Detail) (map[index.Key]*index.Object, error) {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.Name
	}
	slices.Sort(names)
	s.mu.Lock()
	s.many = append(s.many, question{names, detail})
	s.mu.Unlock()
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	found := map[index.Key]*index.Object{}
	for _, k := range keys {
		if k.Name != missing {
			o := &index.Object{Cluster: k.Cluster, Kind: k.Type.Kind}
			o.Meta.Namespace, o.Meta.Name = k.Namespace, k.Name
			found[k] = o
		}
	}
	return found, nil
}

func (s *fakeSource) ListParts(ctx context.Context, q index.ListQuery, parts []index.Part) (map[index.Part]*index.Page, error) {
	clusters := map[string]struct{}{}
	for _, p := range parts {
		clusters[p.Cluster+p.Value] = struct{}{}
	}
	s.mu.Lock()
	s.parts = append(s.parts, fmt.Sprintf("%s %d %v", q.NameContains, q.Limit, slices.Sorted(maps.Keys(clusters))))
	s.mu.Unlock()
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	pages := map[index.Part]*index.Page{}
	for _, p := range parts {
		if p.Cluster != missing {
			o := &index.Object{Cluster: p.Cluster}
			o.Meta.Name = q.NameContains + p.Value
			pages[p] = &index.Page{Items: []*index.Object{o}}
		}
	}
	return pages, nil
}

func (s *fakeSource) List(ctx context.Context, q index.ListQuery) (*index.Page, error) { //nolint:revive // The interface names it.
	s.mu.Lock()
	s.listed++
	s.mu.Unlock()
	return &index.Page{}, s.wait(ctx)
}

func (s *fakeSource) PodsOf(ctx context.Context, owners []index.PodOwner) (map[index.PodOwner][]*index.Object, error) {
	s.mu.Lock()
	s.owners = append(s.owners, owners)
	s.mu.Unlock()
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	found := map[index.PodOwner][]*index.Object{}
	for _, o := range owners {
		if o.UID != missing {
			pod := &index.Object{Cluster: o.Cluster}
			pod.Meta.Name = "pod-of-" + string(o.UID)
			found[o] = []*index.Object{pod}
		}
	}
	return found, nil
}

func deployment(name string) index.Key {
	return index.Key{Cluster: "k-alpha", Type: index.Deployments, Namespace: "shop", Name: name}
}

func podOwner(uid types.UID, namespace string) index.PodOwner {
	return index.PodOwner{Owner: index.Owner{Cluster: "m1", UID: uid}, Namespace: namespace}
}
