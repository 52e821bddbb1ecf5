package live

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/types"
)

// KnownWrite is a write that a subscriber knows of, because it was their own.
type KnownWrite struct {
	// Source is the source of the object; the version of its resource is ignored.
	Source Source
	Key    Key
	// Version is the resourceVersion that the object had then; it is ignored where the object was
	// deleted.
	Version uint64
	// Deleted is the UID of the object, where it was deleted.
	Deleted types.UID
}

// knownWritesOf returns the known writes to the inputs of a view; nil when there are none.
func (v *view) knownWritesOf(writes []KnownWrite) map[*feed][]KnownWrite {
	var of map[*feed][]KnownWrite
	for _, m := range writes {
		for _, in := range v.inputs {
			s := in.feed.source
			if s.Instance != m.Source.Instance || s.Resource.GroupResource() != m.Source.Resource.GroupResource() {
				continue
			}
			if of == nil {
				of = map[*feed][]KnownWrite{}
			}
			of[in.feed] = append(of[in.feed], m)
		}
	}
	return of
}

// shows reports whether the feed is at a known write or beyond it. The lock is held.
func (f *feed) shows(m *KnownWrite) bool {
	if m.Deleted == "" {
		return f.version >= m.Version
	}
	o := f.objects[m.Key]
	return o == nil || o.Meta.UID != m.Deleted
}

// showsAll reports whether shows holds for all. The lock is held.
func (f *feed) showsAll(writes []KnownWrite) bool {
	for i := range writes {
		if !f.shows(&writes[i]) {
			return false
		}
	}
	return true
}

// meet brings the inputs of a part to where its subscriber has been. A cluster that
// reports that it never was there has another history by now, and the part begins with
// that.
func (p *part) meet(ctx context.Context) error {
	for f, writes := range p.knownWrites {
		err := f.advance(ctx, func() bool { return f.showsAll(writes) })
		if err != nil && !beyondRecovery(err) {
			return err
		}
	}
	return nil
}

// beyondRecovery reports whether asking the cluster again won't help.
func beyondRecovery(err error) bool {
	for _, final := range []error{errExpired, errOtherHistory, errNoWatchList, errNotServed} {
		if errors.Is(err, final) {
			return true
		}
	}
	return false
}
