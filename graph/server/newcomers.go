package server

import (
	"net/netip"
	"sync"

	"github.com/kairship-io/kairship/pkg/peer"
)

// newcomers limits the WebSockets whose callers are not known yet. They have places of
// their own, so that they cannot take those of callers who are known, and each address
// has a share, so that one address cannot take the places of all newcomers.
type newcomers struct {
	places int

	mu  sync.Mutex
	all int
	by  map[netip.Prefix]int
}

func newNewcomers(places int) *newcomers {
	return &newcomers{places: places, by: map[netip.Prefix]int{}}
}

// enter takes a place for a connection from an address; false if there is none. leave
// gives it back, at most once.
func (n *newcomers) enter(address string) (leave func(), ok bool) {
	from := peer.Network(address)
	n.mu.Lock()
	defer n.mu.Unlock()
	if !mayWait(n.places, n.all, n.by[from]) {
		return nil, false
	}
	n.all++
	n.by[from]++
	return sync.OnceFunc(func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.all--
		n.by[from]--
		if n.by[from] == 0 {
			delete(n.by, from)
		}
	}), true
}

// mayWait decides whether an address that has some places may have one more: as many
// as are left for all others afterwards. One address has half of all at most, two have
// a third each, and some are always left for the next one.
func mayWait(places, taken, own int) bool {
	return own < max(1, places-taken-1) && taken < places
}
