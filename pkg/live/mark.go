package live

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/types"
)

// Mark is what a subscriber knows to have happened to an object, because they did it.
type Mark struct {
	// Source is where; the version of its resource does not count.
	Source Source
	Key    Key
	// Version is the resourceVersion that the object had then; it does not count where
	// the object was deleted.
	Version uint64
	// Gone is the UID of the object, where it was deleted.
	Gone types.UID
}

// marksOf are the marks that are about the inputs of a view; nil when there is none.
func (v *view) marksOf(marks []Mark) map[*feed][]Mark {
	var of map[*feed][]Mark
	for _, m := range marks {
		for _, in := range v.inputs {
			s := in.feed.source
			if s.Instance != m.Source.Instance || s.Resource.GroupResource() != m.Source.Resource.GroupResource() {
				continue
			}
			if of == nil {
				of = map[*feed][]Mark{}
			}
			of[in.feed] = append(of[in.feed], m)
		}
	}
	return of
}

// shows reports whether an object is as a mark says, or was it before. The lock is held.
func (f *feed) shows(m *Mark) bool {
	if m.Gone == "" {
		return f.version >= m.Version
	}
	o := f.objects[m.Key]
	return o == nil || o.Meta.UID != m.Gone
}

// showsAll is shows for all. The lock is held.
func (f *feed) showsAll(marks []Mark) bool {
	for i := range marks {
		if !f.shows(&marks[i]) {
			return false
		}
	}
	return true
}

// meet brings the inputs of a part to where its subscriber has been. A cluster that
// reports that it never was there has another history by now, and the part begins with
// that.
func (p *part) meet(ctx context.Context) error {
	for f, marks := range p.marks {
		err := f.advance(ctx, func() bool { return f.showsAll(marks) })
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
