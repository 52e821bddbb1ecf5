package globalmanagementwebhook

import (
	"sync"
	"time"
)

// memory knows the signed requests of the last while. It holds two generations
// and forgets the older as a whole, so that what is received is remembered for
// at least the length of a generation, and it never holds more than two
// generations' size. Only requests with a right signature get into it. When more
// of them come than it holds, it forgets the oldest early, and loses nothing by
// it but an early answer: a replay never changes a binding, regardless of what notices it,
// because its sequence is stored already.
type memory struct {
	lasts time.Duration // a generation, at most
	size  int           // of a generation, in requests

	mu            sync.Mutex
	began         time.Time
	young, former map[string]struct{}
}

// first reports whether the digest is new, and remembers it.
func (m *memory) first(digest string, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.young == nil, now.Sub(m.began) >= 2*m.lasts:
		m.former, m.young, m.began = nil, map[string]struct{}{}, now
	case now.Sub(m.began) >= m.lasts, len(m.young) >= m.size:
		m.former, m.young, m.began = m.young, map[string]struct{}{}, now
	}
	_, inYoung := m.young[digest]
	_, inFormer := m.former[digest]
	if inYoung || inFormer {
		return false
	}
	m.young[digest] = struct{}{}
	return true
}
