package clusternode

import (
	"context"
	"sync"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/projection"
)

// Allocated is what the pods on a node request that have not ended.
type Allocated struct {
	// CPU is in cores, Memory in bytes.
	CPU, Memory float64
	Pods        int
}

// Requests reads what the pods on the nodes of some member clusters request; *projected.Source does.
type Requests interface {
	NodeRequests(ctx context.Context, members []projection.MemberKey) (map[projection.NodeKey]projection.Requested, error)
}

// requested are the requests on the nodes of member clusters that were read together.
type requested = func() (map[projection.NodeKey]projection.Requested, error)

// operation is what one operation reads. Each member cluster is read once.
type operation struct {
	mu      sync.Mutex
	members map[projection.MemberKey]requested
}

type operationKey struct{}

// With returns a context for a new operation.
func With(ctx context.Context) context.Context {
	return context.WithValue(ctx, operationKey{}, &operation{members: map[projection.MemberKey]requested{}})
}

// from returns the operation of a context. Without one, each read is an operation of its own.
func from(ctx context.Context) *operation {
	if o, ok := ctx.Value(operationKey{}).(*operation); ok {
		return o
	}
	return &operation{members: map[projection.MemberKey]requested{}}
}

// read returns the read that a member cluster is part of, after it has begun one of those of some members that are in
// none.
func (s *Service) read(ctx context.Context, of projection.MemberKey, members []projection.MemberKey) requested {
	o := from(ctx)
	o.mu.Lock()
	defer o.mu.Unlock()
	var asked []projection.MemberKey
	for _, m := range members {
		if o.members[m] == nil {
			asked = append(asked, m)
		}
	}
	if len(asked) > 0 {
		read := sync.OnceValues(func() (map[projection.NodeKey]projection.Requested, error) {
			return s.Requests.NodeRequests(ctx, asked)
		})
		for _, m := range asked {
			o.members[m] = read
		}
	}
	return o.members[of]
}

// PrefetchAllocated announces that Allocated will be asked of nodes of some member clusters, so that they are read
// together.
func (s *Service) PrefetchAllocated(ctx context.Context, members []object.Name) {
	if len(members) == 0 {
		return
	}
	keys := make([]projection.MemberKey, len(members))
	for i, m := range members {
		keys[i] = projection.MemberKey{Instance: m.Instance, Name: m.Name}
	}
	s.read(ctx, keys[0], keys)
}

// Allocated returns what the pods on a node request, which the caller sees with the node: both need a role on the whole
// instance.
func (s *Service) Allocated(ctx context.Context, n *Node) (*Allocated, error) {
	member := projection.MemberKey{Instance: n.Instance, Name: n.ClusterName()}
	found, err := s.read(ctx, member, []projection.MemberKey{member})()
	if err != nil {
		return nil, apierror.In(err, n.Instance)
	}
	r := found[projection.NodeKey{MemberKey: member, Node: n.Name()}]
	return &Allocated{CPU: r.CPU, Memory: r.Memory, Pods: int(r.Pods)}, nil
}
