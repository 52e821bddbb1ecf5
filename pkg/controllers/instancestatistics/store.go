package instancestatistics

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// store keeps what counts of the objects of one kind in one instance. Client-go's
// reflector fills it.
type store struct {
	source  watched
	changed func()

	mu      sync.Mutex
	objects map[types.NamespacedName]entry
	// filled means that there was a first list; denied, that there will be none,
	// because the instance does not serve the kind, or not to us.
	filled, denied bool
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
	s.objects, s.filled, s.denied = objects, true, false
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

// settled says that there is nothing to wait for.
func (s *store) settled() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.filled || s.denied
}

// entries are what is known; nil when nothing is.
func (s *store) entries() []entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.filled {
		return nil
	}
	all := make([]entry, 0, len(s.objects))
	for _, e := range s.objects {
		all = append(all, e)
	}
	return all
}
