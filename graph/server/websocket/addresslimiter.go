package websocket

import (
	"net/netip"
	"sync"

	"github.com/kairship-io/kairship/pkg/peer"
)

// addressLimiter limits the WebSockets whose callers are not authenticated yet. Their limit is
// separate from that of authenticated callers, so that they cannot exhaust it, and each address has
// a share, so that one address cannot exhaust theirs.
type addressLimiter struct {
	places int

	mu  sync.Mutex
	all int
	by  map[netip.Prefix]int
}

func newAddressLimiter(places int) *addressLimiter {
	return &addressLimiter{places: places, by: map[netip.Prefix]int{}}
}

// enter reserves a place for a connection from an address; false if there is none. leave releases
// it; only the first call has an effect.
func (l *addressLimiter) enter(address string) (leave func(), ok bool) {
	from := peer.Network(address)
	l.mu.Lock()
	defer l.mu.Unlock()
	if !mayWait(l.places, l.all, l.by[from]) {
		return nil, false
	}
	l.all++
	l.by[from]++
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.all--
		l.by[from]--
		if l.by[from] == 0 {
			delete(l.by, from)
		}
	}), true
}

// mayWait decides whether an address that has some places may have one more: as many
// as are left for all others afterwards. One address has half of all at most, two have
// a third each, and some are always left for the next one.
func mayWait(places, taken, own int) bool {
	return own < max(1, places-taken-1) && taken < places
}
