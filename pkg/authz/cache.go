package authz

import (
	"container/list"
	"sync"
	"time"
)

// ttlCache keeps decisions for a fixed time and a fixed number of keys; it evicts the oldest
// decision first. Every entry lives equally long, so the order of insertion is also the order of
// expiry.
type ttlCache[K comparable, V any] struct {
	ttl  time.Duration
	size int
	now  func() time.Time

	mu      sync.Mutex
	order   *list.List
	entries map[K]*list.Element
}

type ttlEntry[K comparable, V any] struct {
	key     K
	value   V
	expires time.Time
}

func newTTLCache[K comparable, V any](ttl time.Duration, size int, now func() time.Time) *ttlCache[K, V] {
	return &ttlCache[K, V]{ttl: ttl, size: size, now: now, order: list.New(), entries: map[K]*list.Element{}}
}

func (c *ttlCache[K, V]) get(key K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dropExpired()
	if el, ok := c.entries[key]; ok {
		return el.Value.(*ttlEntry[K, V]).value, true
	}
	var zero V
	return zero, false
}

func (c *ttlCache[K, V]) put(key K, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dropExpired()
	if el, ok := c.entries[key]; ok {
		c.remove(el)
	}
	for len(c.entries) >= c.size {
		c.remove(c.order.Front())
	}
	c.entries[key] = c.order.PushBack(&ttlEntry[K, V]{key: key, value: value, expires: c.now().Add(c.ttl)})
}

// dropExpired also keeps the cache from holding identities that are not asked for any more.
func (c *ttlCache[K, V]) dropExpired() {
	now := c.now()
	for el := c.order.Front(); el != nil; el = c.order.Front() {
		if now.Before(el.Value.(*ttlEntry[K, V]).expires) {
			return
		}
		c.remove(el)
	}
}

func (c *ttlCache[K, V]) remove(el *list.Element) {
	c.order.Remove(el)
	delete(c.entries, el.Value.(*ttlEntry[K, V]).key)
}

func (c *ttlCache[K, V]) drop(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if el, ok := c.entries[key]; ok {
		c.remove(el)
	}
}

func (c *ttlCache[K, V]) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.order.Init()
	clear(c.entries)
}
