package authz

import (
	"crypto/sha256"
	"encoding/hex"
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

// Instance tells what the user may do on an instance; false when the user may
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

// Sees tells whether the user may know of an instance.
func (v *Visibility) Sees(name string) bool {
	_, ok := v.Instance(name)
	return ok
}

// All tells that the user may know of every instance, those included that are
// yet to be registered.
func (v *Visibility) All() bool { return v.all }

// Filter keeps the names of instances that the user may know of, in their order.
func (v *Visibility) Filter(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !v.Sees(name) })
}

// Key stands for everything that is permitted on some instances; see Grant.Key.
func (v *Visibility) Key(instances []string) string {
	h := sha256.New()
	for _, name := range instances {
		g, _ := v.Instance(name)
		writePart(h, name)
		writePart(h, g.Key())
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
