package instancestatistics

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// store keeps what counts of the objects of one kind in one instance. Client-go's
// reflector fills it.
type store struct {
	source  watched
	changed func()
	// patience is how long the kind may go without a watch before that counts. An
	// apiserver that starts refuses for a moment what it serves later.
	patience time.Duration

	mu      sync.Mutex
	objects map[types.NamespacedName]entry
	// filled means that there was a first list; denied, that there is none now,
	// because the instance does not serve the kind, or not to us.
	filled, denied bool
	// open means that there is a watch. Since is since when the objects are not
	// followed by one; zero while they are.
	open  bool
	since time.Time
	late  *time.Timer
}

func (s *store) put(object any) error {
	i, ok := object.(*item)
	if !ok {
		return fmt.Errorf("%T is no %s", object, s.source.kind)
	}
	name, now := types.NamespacedName{Namespace: i.Namespace, Name: i.Name}, s.source.read(i)
	s.mu.Lock()
	before, found := s.objects[name]
	s.objects[name] = now
	s.mu.Unlock()
	if !found || before != now {
		s.changed()
	}
	return nil
}

// Add is for cache.ReflectorStore.
func (s *store) Add(object any) error { return s.put(object) }

// Update is for cache.ReflectorStore.
func (s *store) Update(object any) error { return s.put(object) }

// Delete is for cache.ReflectorStore.
func (s *store) Delete(object any) error {
	i, ok := object.(*item)
	if !ok {
		return fmt.Errorf("%T is no %s", object, s.source.kind)
	}
	s.mu.Lock()
	delete(s.objects, types.NamespacedName{Namespace: i.Namespace, Name: i.Name})
	s.mu.Unlock()
	s.changed()
	return nil
}

// Replace is for cache.ReflectorStore.
func (s *store) Replace(list []any, _ string) error {
	objects := make(map[types.NamespacedName]entry, len(list))
	for _, object := range list {
		i, ok := object.(*item)
		if !ok {
			return fmt.Errorf("%T is no %s", object, s.source.kind)
		}
		objects[types.NamespacedName{Namespace: i.Namespace, Name: i.Name}] = s.source.read(i)
	}
	s.mu.Lock()
	s.objects, s.filled = objects, true
	s.follow()
	s.mu.Unlock()
	s.changed()
	return nil
}

// Resync is for cache.ReflectorStore.
func (s *store) Resync() error { return nil }

// deny takes note that the kind cannot be watched here.
func (s *store) deny() {
	s.mu.Lock()
	news := !s.denied
	s.denied = true
	s.mu.Unlock()
	if news {
		s.changed()
	}
}

// ask takes note of a request for a list or a watch: there is no watch meanwhile.
func (s *store) ask() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = false
	if s.since.IsZero() {
		s.since, s.late = time.Now(), time.AfterFunc(s.patience, s.changed)
	}
}

// opened takes note that a watch began.
func (s *store) opened() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = true
	s.follow()
}

// follow records that a watch follows the objects, if it does: a list alone, which may be repeated,
// is not followed.
func (s *store) follow() {
	if !s.open || !s.filled || s.since.IsZero() {
		return
	}
	if !s.late.Stop() {
		s.changed() // The figures were reported as stale.
	}
	s.since, s.denied = time.Time{}, false
}

// tried reports whether the first list has succeeded or was refused.
func (s *store) tried() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.filled || s.denied
}

// listed reports whether there was a list.
func (s *store) listed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.filled
}

// lasting reports whether the objects have not been followed for too long.
func (s *store) lasting() bool { return !s.since.IsZero() && time.Since(s.since) >= s.patience }

// stale is since when the objects are old; zero when they are not. A kind that may
// not be read has none that could be, but without the members there are no figures.
func (s *store) stale() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lasting() && (s.source.use == members || s.filled && !s.denied) {
		return s.since
	}
	return time.Time{}
}

// entries are what is known; nil when nothing is, or not any more.
func (s *store) entries() []entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.filled || s.denied && s.lasting() {
		return nil
	}
	all := make([]entry, 0, len(s.objects))
	for _, e := range s.objects {
		all = append(all, e)
	}
	return all
}
