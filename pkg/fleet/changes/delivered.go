package changes

import "hash/maphash"

// maxDelivered bounds what one stream remembers of what it told. Changes of further
// objects are told although nothing that is selected may have changed.
const maxDelivered = 10_000

// seed is that of all hashes: they are compared within one process alone.
var seed = maphash.MakeSeed()

// delivered remembers by object what a stream told last, as a hash. It belongs to the
// one goroutine that asks for the stream's events.
type delivered struct {
	last map[uint64]uint64
}

func newDelivered() *delivered { return &delivered{last: map[uint64]uint64{}} }

// update remembers what is told of an object, and reports whether it differs from what
// was told last.
func (t *delivered) update(key string, what []byte) bool {
	k, h := maphash.String(seed, key), maphash.Bytes(seed, what)
	before, known := t.last[k]
	if known || len(t.last) < maxDelivered {
		t.last[k] = h
	}
	return !known || before != h
}

func (t *delivered) forget(key string) { delete(t.last, maphash.String(seed, key)) }
