package live

import (
	"encoding/json"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Object is one version of an object. It is shared by all subscribers: do not
// change anything in it.
type Object struct {
	Source     Source
	APIVersion string
	Kind       string
	// Meta has no managedFields and no last-applied-configuration.
	Meta metav1.ObjectMeta
	// Raw is the object in JSON, without these as well.
	Raw json.RawMessage
	// Heard is when Kairship learned of this version.
	Heard time.Time
	// Joined is the value of the interest's Join; nil without one.
	Joined any

	version uint64
	memo    *memo
}

// Key names the object within its source.
func (o *Object) Key() Key { return Key{Namespace: o.Meta.Namespace, Name: o.Meta.Name} }

// memo keeps what was made of an object.
type memo struct {
	mu     sync.Mutex
	values map[any]any
}

// memoKey is a type as a key.
type memoKey[T any] struct{}

type memoized[T any] struct {
	value T
	err   error
}

// Memo returns what build makes of the object, which it is asked for once for each
// version of the object and each T: subscribers share the result. T should be a
// type of the caller's own. Build must not call Memo for the same object.
func Memo[T any](o *Object, build func(*Object) (T, error)) (T, error) {
	o.memo.mu.Lock()
	defer o.memo.mu.Unlock()
	if known, ok := o.memo.values[memoKey[T]{}].(memoized[T]); ok {
		return known.value, known.err
	}
	value, err := build(o)
	if o.memo.values == nil {
		o.memo.values = map[any]any{}
	}
	o.memo.values[memoKey[T]{}] = memoized[T]{value, err}
	return value, err
}

// Decoded is the object decoded as T, once for all subscribers. Do not change it.
func Decoded[T any](o *Object) (*T, error) {
	return Memo(o, func(o *Object) (*T, error) {
		v := new(T)
		return v, json.Unmarshal(o.Raw, v)
	})
}
