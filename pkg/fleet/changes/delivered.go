package changes

import "hash/maphash"

// maxDelivered limits the objects that one stream keeps hashes of. Changes of further objects are
// sent even if no selected field has changed.
const maxDelivered = 10_000

// seed is the seed of all hashes, which are only compared within one process.
var seed = maphash.MakeSeed()

// delivered holds, for each object, a hash of what a stream delivered last. Only the goroutine that
// reads the stream's events uses it.
type delivered struct {
	last map[uint64]uint64
}

func newDelivered() *delivered { return &delivered{last: map[uint64]uint64{}} }

// update records what is delivered of an object, and reports whether it differs from the last
// delivery.
func (t *delivered) update(key string, what []byte) bool {
	k, h := maphash.String(seed, key), maphash.Bytes(seed, what)
	before, known := t.last[k]
	if known || len(t.last) < maxDelivered {
		t.last[k] = h
	}
	return !known || before != h
}

func (t *delivered) forget(key string) { delete(t.last, maphash.String(seed, key)) }
