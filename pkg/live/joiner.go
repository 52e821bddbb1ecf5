package live

import (
	"maps"
	"reflect"
	"slices"
)

// joiner computes the objects of a Join. The view's lock guards it.
type joiner struct {
	join *Join
	// objects are those of the inputs; the first is the primary one.
	objects []map[Key]*Object
	// concerning are, for each secondary input, its objects by the primary key that they concern.
	concerning []map[Key]map[Key]*Object

	joined  map[Key]*Object
	ordered []*Object
}

func newJoiner(join *Join) *joiner {
	j := &joiner{
		join:       join,
		objects:    make([]map[Key]*Object, 1+len(join.With)),
		concerning: make([]map[Key]map[Key]*Object, 1+len(join.With)),
		joined:     map[Key]*Object{},
	}
	for i := range j.objects {
		j.objects[i] = map[Key]*Object{}
		j.concerning[i] = map[Key]map[Key]*Object{}
	}
	return j
}

// keysOf are the primary objects that an object of an input concerns.
func (j *joiner) keysOf(input int, o *Object) []Key {
	switch {
	case o == nil:
		return nil
	case input == 0:
		return []Key{o.Key()}
	}
	return j.join.With[input-1].Keys(o)
}

// load takes over what an input has when it is first known.
func (j *joiner) load(input int, objects map[Key]*Object) {
	j.objects[input], j.concerning[input] = map[Key]*Object{}, map[Key]map[Key]*Object{}
	for key, o := range objects {
		j.set(input, key, o)
	}
}

// set replaces one object of an input; nil removes it.
func (j *joiner) set(input int, key Key, o *Object) {
	old := j.objects[input][key]
	if o == nil {
		delete(j.objects[input], key)
	} else {
		j.objects[input][key] = o
	}
	if input == 0 {
		return
	}
	for _, k := range j.keysOf(input, old) {
		delete(j.concerning[input][k], key)
		if len(j.concerning[input][k]) == 0 {
			delete(j.concerning[input], k)
		}
	}
	for _, k := range j.keysOf(input, o) {
		if j.concerning[input][k] == nil {
			j.concerning[input][k] = map[Key]*Object{}
		}
		j.concerning[input][k][key] = o
	}
}

// build computes everything, once all inputs are known.
func (j *joiner) build() {
	for key := range j.objects[0] {
		j.joined[key] = j.compute(key, nil)
	}
	j.ordered = nil
}

// transitioned takes over what turned in an input, and returns what turned because of it.
func (j *joiner) transitioned(input int, transitions []transition, ready bool) []change {
	affected := map[Key]*Object{}
	for i := range transitions {
		t := &transitions[i]
		for _, o := range []*Object{t.old, t.now} {
			for _, key := range j.keysOf(input, o) {
				affected[key] = nil
			}
		}
		if input == 0 {
			affected[t.key] = t.last
		}
		j.set(input, t.key, t.now)
	}
	if !ready {
		return nil
	}
	spread(affected, j.objects[0])
	var changes []change
	for _, key := range slices.SortedFunc(maps.Keys(affected), compareKeys) {
		old, now := j.joined[key], j.compute(key, nil)
		if now == nil {
			delete(j.joined, key)
		} else {
			j.joined[key] = now
		}
		if j.same(old, now) {
			continue
		}
		j.ordered = nil
		last := affected[key]
		if last != nil && old != nil {
			last = last.with(old.Joined)
		}
		changes = append(changes, change{key: key, old: old, now: now, last: last})
	}
	if len(affected) > 0 {
		j.ordered = nil
	}
	return changes
}

// spread puts the primary objects that Every and EveryIn stand for in their place.
func spread[V any](affected map[Key]V, primaries map[Key]*Object) {
	namespaces := map[string]bool{}
	for key := range affected {
		if key == EveryIn(key.Namespace) {
			namespaces[key.Namespace] = true
			delete(affected, key)
		}
	}
	if len(namespaces) == 0 {
		return
	}
	for key := range primaries {
		if _, known := affected[key]; !known && (namespaces[""] || namespaces[key.Namespace]) {
			var none V
			affected[key] = none
		}
	}
}

// same reports whether a joined object is unchanged for the subscribers of the join.
func (j *joiner) same(old, now *Object) bool {
	if old == nil || now == nil {
		return old == now
	}
	if old.Meta.UID != now.Meta.UID || old.version != now.version {
		return false
	}
	if j.join.Equal != nil {
		return j.join.Equal(old.Joined, now.Joined)
	}
	return reflect.DeepEqual(old.Joined, now.Joined)
}

// compute joins one object, with the inputs as they are or, where bases say so, as they were.
func (j *joiner) compute(key Key, were []map[Key]*Object) *Object {
	primary := j.objects[0][key]
	if were != nil {
		if base, differs := were[0][key]; differs {
			primary = base
		}
	}
	if primary == nil {
		return nil
	}
	with := make([][]*Object, len(j.join.With))
	for i := range with {
		input := i + 1
		found := map[Key]*Object{}
		for _, k := range []Key{key, EveryIn(key.Namespace), Every} {
			maps.Copy(found, j.concerning[input][k])
		}
		if were != nil {
			for k, base := range were[input] {
				delete(found, k)
				for _, concerned := range j.keysOf(input, base) {
					if concerned == key || concerned == EveryIn(key.Namespace) || concerned == Every {
						found[k] = base
					}
				}
			}
		}
		with[i] = sortedObjects(found)
	}
	return primary.with(j.join.Combine(primary, with))
}

// with is an object with a joined value.
func (o *Object) with(value any) *Object {
	joined := *o
	joined.Joined, joined.memo = value, &memo{}
	return &joined
}

// since returns what is otherwise than before the inputs' objects were touched.
func (j *joiner) since(touched [][]touch) []change {
	were := make([]map[Key]*Object, len(touched))
	affected := map[Key]struct{}{}
	for i, touches := range touched {
		were[i] = map[Key]*Object{}
		for _, t := range touches {
			were[i][t.key] = t.base
			for _, o := range []*Object{t.base, j.objects[i][t.key]} {
				for _, key := range j.keysOf(i, o) {
					affected[key] = struct{}{}
				}
			}
		}
	}
	spread(affected, j.objects[0])
	var changes []change
	for _, key := range slices.SortedFunc(maps.Keys(affected), compareKeys) {
		old, now := j.compute(key, were), j.joined[key]
		if !j.same(old, now) {
			changes = append(changes, change{key: key, old: old, now: now, last: old})
		}
	}
	return changes
}

func (j *joiner) sorted() []*Object {
	if j.ordered == nil {
		j.ordered = sortedObjects(j.joined)
	}
	return j.ordered
}
