package authz

import (
	"testing"
	"time"
)

func TestCacheStaysSmall(t *testing.T) {
	c := &clock{}
	cache := newTTLCache[int, string](10*time.Second, 3, c.now)
	for i := range 5 {
		cache.put(i, "v")
	}
	if n := cache.len(); n != 3 {
		t.Errorf("got %d entries, want the bound of 3", n)
	}
	for key, want := range map[int]bool{0: false, 1: false, 2: true, 3: true, 4: true} {
		if _, got := cache.get(key); got != want {
			t.Errorf("key %d is there: %v, want %v: the oldest leave first", key, got, want)
		}
	}
	// Putting a key again must not count twice, and begins its time anew.
	c.advance(5 * time.Second)
	cache.put(2, "w")
	if v, _ := cache.get(2); v != "w" || cache.len() != 3 {
		t.Errorf("got %q with %d entries, want w with 3", v, cache.len())
	}
	c.advance(5 * time.Second)
	if _, ok := cache.get(4); ok {
		t.Error("an entry outlived its time")
	}
	if n := cache.len(); n != 1 {
		t.Errorf("%d entries are kept, want the one that is still good", n)
	}
}

func (c *ttlCache[K, V]) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.entries)
}
