package clusternode

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/projection"
)

// statements answers for the nodes n1 of some members, and counts what it was asked.
type statements struct {
	sent atomic.Int64
	err  error
}

func (s *statements) NodeRequests(_ context.Context, members []projection.MemberKey) (map[projection.NodeKey]projection.Requested, error) {
	s.sent.Add(1)
	found := map[projection.NodeKey]projection.Requested{}
	for _, m := range members {
		found[projection.NodeKey{MemberKey: m, Node: "n1"}] = projection.Requested{CPU: 1.5, Memory: 64, Pods: 3}
	}
	return found, s.err
}

// What the pods on the nodes of several members request is read with one statement where it was announced, and once for
// each member otherwise.
func TestAllocated(t *testing.T) {
	node := func(name string) *Node {
		n, err := New("alpha", stored(t, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}), freshness.Freshness{})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, tt := range []struct {
		reason    string
		announced []object.Name
		sent      int64
	}{
		{"nothing was announced", nil, 1},
		{"its member was", []object.Name{{Instance: "alpha", Name: "m1"}, {Instance: "alpha", Name: "m2"}}, 1},
		{"others were", []object.Name{{Instance: "beta", Name: "m1"}}, 1},
	} {
		sql := &statements{}
		s := &Service{Requests: sql}
		ctx := With(t.Context())
		s.PrefetchAllocated(ctx, tt.announced)
		busy, err := s.Allocated(ctx, node("n1"))
		if err != nil || *busy != (Allocated{CPU: 1.5, Memory: 64, Pods: 3}) {
			t.Errorf("%s: got %+v, %v", tt.reason, busy, err)
		}
		empty, err := s.Allocated(ctx, node("n2"))
		if err != nil || *empty != (Allocated{}) {
			t.Errorf("%s: a node without pods has %+v, %v", tt.reason, empty, err)
		}
		if n := sql.sent.Load(); n != tt.sent {
			t.Errorf("%s: %d statements were sent, want %d", tt.reason, n, tt.sent)
		}
	}
	s := &Service{Requests: &statements{err: errors.New("no")}}
	if got, err := s.Allocated(t.Context(), node("n1")); got != nil || err == nil {
		t.Errorf("without an answer: got %+v, %v", got, err)
	}
}
