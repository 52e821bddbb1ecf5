package index

import (
	"errors"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// uids are objects of these UIDs.
func uids(names ...string) []*Object {
	var objects []*Object
	for _, name := range names {
		o := &Object{}
		o.Meta.UID = types.UID(name)
		objects = append(objects, o)
	}
	return objects
}

// told returns the index's answers for a part of some size: its first rows, and those of them whose
// bit is set and not set.
func told(size int) (ranks, set, unset []*Object) {
	for i := range min(size, sizeBits) {
		o := uids(fmt.Sprint(i))
		ranks = append(ranks, o...)
		if size>>i&1 == 1 {
			set = append(set, o...)
		} else {
			unset = append(unset, o...)
		}
	}
	return ranks, set, unset
}

// Every size can be determined, at the edges of what the first rows show and far beyond.
func TestSizeOf(t *testing.T) {
	for _, size := range []int{1, 2, 3, 30, 31, 32, 33, 63, 64, 65, 1000, 1<<31 - 1, 1 << 31, 1<<32 - 1} {
		ranks, set, unset := told(size)
		if got, err := sizeOf(ranks, set, unset); err != nil || got != int64(size) {
			t.Errorf("size %d: told %d, %v", size, got, err)
		}
		// The rows of one answer come in an order that has no meaning.
		for i, j := 0, len(set)-1; i < j; i, j = i+1, j-1 {
			set[i], set[j] = set[j], set[i]
		}
		if got, err := sizeOf(ranks, set, unset); err != nil || got != int64(size) {
			t.Errorf("size %d, in another order: told %d, %v", size, got, err)
		}
	}
}

// Three answers that do not fit each other are no size.
func TestSizeOfWhatMoved(t *testing.T) {
	rows := func(n int) []*Object { r, _, _ := told(n); return r }
	set := func(n int) []*Object { _, s, _ := told(n); return s }
	unset := func(n int) []*Object { _, _, u := told(n); return u }
	for _, tt := range []struct {
		name              string
		ranks, set, unset []*Object
		why               string
	}{
		{"nothing is left", nil, nil, nil, "a part is counted because it had rows"},
		{"one came", rows(3), set(4), unset(3), "the answers are of different moments"},
		{"one went", rows(3), set(2), unset(2), "a row of the first answer is in neither other"},
		{"one went and another came", rows(2), uids("0"), uids("other"), "a row was replaced by one of another UID"},
		{"in both", rows(2), uids("0", "1"), uids("1"), "a bit is set or it is not"},
		{"in both, and another is missing", rows(2), uids("0"), uids("0"), "as many as there should be, and not the same"},
		{"twice set", rows(2), uids("0", "0"), nil, "as many as there should be, and not the same"},
		{"fewer rows than their size", rows(3), uids("2"), uids("0", "1"), "three rows that tell a size of four"},
		{"a large part of a small size", rows(32), set(31), append(unset(31), uids("31")...), "thirty-two rows that tell a size of thirty-one"},
		{"grown past a bit", rows(40), set(40), unset(41), "a bit that turned is in both or in neither"},
		{"too many rows", append(rows(32), uids("x")...), set(33), append(unset(33), uids("x")...), "more rows than were asked for"},
	} {
		if size, err := sizeOf(tt.ranks, tt.set, tt.unset); !errors.Is(err, errMoved) {
			t.Errorf("%s: told %d, %v; want it to be noticed: %s", tt.name, size, err, tt.why)
		}
	}
}

// A change by one between any two of the three answers is always noticed: adding one flips at least
// one bit.
func TestSizeOfNoticesEveryStep(t *testing.T) {
	for size := 1; size < 300; size++ {
		for _, other := range []int{size - 1, size + 1} {
			if other == 0 {
				continue
			}
			ranks, set, _ := told(size)
			_, _, unset := told(other)
			if got, err := sizeOf(ranks, set, unset); err == nil {
				t.Errorf("of %d rows that became %d, %d were told", size, other, got)
			}
		}
	}
}
