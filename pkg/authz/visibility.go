package authz

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
)

// Visibility is what one user may do on which instances and namespaces. It is a
// snapshot, safe for concurrent use; its zero value permits nothing.
type Visibility struct {
	// rules say it for every instance, or, where the global cluster can't list the
	// rules, reviewed says it for those that were asked about.
	rules    *rules
	reviewed map[string]Grant
	all      bool
}

// Instance returns what the user may do on an instance; false when the user may
// not know that it exists. Whether it does exist is not known here.
func (v *Visibility) Instance(name string) (Grant, bool) {
	// With a colon in it, the name could be read as that of a namespace.
	if name == "" || strings.Contains(name, ":") {
		return Grant{}, false
	}
	g := v.reviewed[name]
	if v.rules != nil {
		g = v.rules.grant(name)
	}
	if !g.visible() {
		return Grant{}, false
	}
	return g, true
}

// Sees reports whether the user may know of an instance.
func (v *Visibility) Sees(name string) bool {
	_, ok := v.Instance(name)
	return ok
}

// All reports whether the user may know of every instance, those included that are
// yet to be registered.
func (v *Visibility) All() bool { return v.all }

// Filter keeps the names of instances that the user may know of, in their order.
func (v *Visibility) Filter(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !v.Sees(name) })
}

// ReadingKey stands for everything that may be read, of whatever instance there is or
// will be; see Grant.ReadingKey. Where the global cluster was asked about instances
// one by one it is about those.
func (v *Visibility) ReadingKey() string { return v.keyOf(Grant.ReadingKey) }

// Key stands for everything that the user may do, on whatever instance there is or will
// be: two users with the same key may do the same. There is none, and false, where the
// global cluster was asked about instances one by one.
func (v *Visibility) Key() (string, bool) {
	if v.rules == nil {
		return "", false
	}
	v.rules.keyed.Do(func() { v.rules.key = v.keyOf(Grant.Key) })
	return v.rules.key, true
}

// keyOf joins the keys of the grants on all instances.
func (v *Visibility) keyOf(key func(Grant) string) string {
	// otherwise is what holds for instances that are not named.
	named, otherwise := v.reviewed, Grant{}
	if v.rules != nil {
		named, otherwise = v.rules.named(), v.rules.grant("")
	}
	h := sha256.New()
	if v.all {
		writePart(h, "all")
	}
	rest := key(otherwise)
	writePart(h, rest)
	for _, name := range slices.Sorted(maps.Keys(named)) {
		// A rule that adds nothing makes no difference.
		if own := key(named[name]); own != rest {
			writePart(h, name)
			writePart(h, own)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
