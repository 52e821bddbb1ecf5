package live

// Every is, as a key that Secondary.Keys returns, for all objects of the primary
// source.
var Every = EveryIn("")

// EveryIn is the same for the objects of a namespace.
func EveryIn(namespace string) Key { return Key{Namespace: namespace, Name: "*"} }

// Join gives each object of an Interest's source, the primary one, a value made of
// it and of objects of other sources. All sources are of the same instance.
//
// The functions must depend on their arguments alone: results are kept and shared
// by all subscribers that name the same ID and sources.
type Join struct {
	// ID names the functions: two joins with the same ID have the same ones.
	ID string
	// With are the other sources.
	With []Secondary
	// Combine makes the value; with has the objects that concern the primary one, for
	// each of With, ordered by key. It becomes Object.Joined.
	Combine func(primary *Object, with [][]*Object) any
	// Equal reports whether two values mean the same. Nil compares with reflect.DeepEqual.
	Equal func(a, b any) bool
}

// Secondary is a source that a Join takes objects from.
type Secondary struct {
	Source Source
	// Keys are the primary objects that an object concerns. An error of its data is no
	// key. [Every] and [EveryIn] stand for many.
	Keys func(*Object) []Key
}
