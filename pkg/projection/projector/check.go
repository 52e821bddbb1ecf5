package projector

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"

	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/projection"
)

// most is how many changes may be pending while rows are compared: a row that they affect can't be
// distinguished from a difference, so they have to be resolved for each page.
const most = 2000

// compared is how many rows are compared at a time.
const compared = 500

// ErrBusy means that rows cannot be compared now, because too many changes wait.
var ErrBusy = errors.New("too many changes wait for the projector")

// Check compares all rows with what is computed from the index now, repairs those that
// differ, and returns how many there were. Rows that a waiting change concerns are left out.
func (p *Projector) Check(ctx context.Context) (differences int, err error) {
	return p.check(ctx, func() error { return nil })
}

// check does what Check does. It calls rest before each page of rows.
func (p *Projector) check(ctx context.Context, rest func() error) (differences int, err error) {
	differences, err = p.DB.Recount(ctx)
	p.Metrics.differences.Add(float64(differences))
	if err != nil {
		return differences, err
	}
	for _, check := range []func(context.Context, func() error) (int, error){p.checkMembers, p.checkRows, p.checkMissing, p.checkPods} {
		repaired, err := check(ctx, rest)
		differences += repaired
		if err != nil {
			return differences, err
		}
	}
	return differences, nil
}

// checkRows compares the rows of workloads.
func (p *Projector) checkRows(ctx context.Context, rest func() error) (differences int, err error) {
	for after, found := int64(0), compared; found == compared; {
		if err := rest(); err != nil {
			return differences, err
		}
		last := after
		var repaired int
		found, repaired, err = p.page(ctx, func(s *projection.Snapshot) (keys []projection.WorkloadKey, err error) {
			keys, last, err = s.Keys(after, compared)
			return keys, err
		})
		differences += repaired
		if err != nil {
			return differences, err
		}
		after = last
	}
	return differences, nil
}

// checkMissing finds the workloads that have no row.
func (p *Projector) checkMissing(ctx context.Context, rest func() error) (differences int, err error) {
	for _, kind := range workload.Kinds() {
		// What is missing is there afterwards, unless a waiting change concerns it.
		for found, repaired := compared, compared; found == compared && repaired > 0; {
			gvr := kind.GVR()
			if err := rest(); err != nil {
				return differences, err
			}
			found, repaired, err = p.page(ctx, func(s *projection.Snapshot) ([]projection.WorkloadKey, error) {
				return s.Missing(string(kind), gvr.Group, gvr.Version, gvr.Resource, compared)
			})
			differences += repaired
			if err != nil {
				return differences, err
			}
		}
	}
	for found, repaired := compared, compared; found == compared && repaired > 0; {
		if err := rest(); err != nil {
			return differences, err
		}
		found, repaired, err = p.page(ctx, missingCustom)
		differences += repaired
		if err != nil {
			return differences, err
		}
	}
	return differences, nil
}

// missingCustom finds custom workloads that have no row.
func missingCustom(s *projection.Snapshot) ([]projection.WorkloadKey, error) {
	keys, err := s.MissingCustom(compared)
	return slices.DeleteFunc(keys, func(key projection.WorkloadKey) bool { return !workload.Kind(key.Kind).Valid() }), err
}

// page compares some rows. It looks at them first, for which no change waits, and has a Round for those alone
// that differ: there are none, as a rule.
func (p *Projector) page(ctx context.Context, find func(*projection.Snapshot) ([]projection.WorkloadKey, error)) (found, repaired int, err error) {
	var differ []projection.WorkloadKey
	err = p.DB.View(ctx, func(s *projection.Snapshot) error {
		keys, err := find(s)
		if err != nil || len(keys) == 0 {
			return err
		}
		found = len(keys)
		w, err := compareRows(s, keys, func(projection.WorkloadKey, string, []string) {})
		if err != nil {
			return err
		}
		for i := range w.Workloads {
			differ = append(differ, w.Workloads[i].WorkloadKey)
		}
		differ = append(differ, w.GoneWorkloads...)
		return nil
	})
	if err != nil || len(differ) == 0 {
		return found, 0, err
	}
	err = untilFirst(ctx, p.DB.Round, func(s *projection.Snapshot) (*projection.Writes, error) {
		w, err := compareRows(s, differ, func(key projection.WorkloadKey, what string, fields []string) {
			p.Log.Info("Row of the projection "+what, "workload", key, "fields", fields)
		})
		if err != nil {
			return nil, err
		}
		repaired = len(w.Workloads) + len(w.GoneWorkloads)
		return w, nil
	})
	if err != nil {
		return found, 0, err
	}
	p.Metrics.differences.Add(float64(repaired))
	return found, repaired, nil
}

// compareRows computes some rows, and returns what is to be stored of those that differ. It calls tell for each.
func compareRows(s *projection.Snapshot, keys []projection.WorkloadKey, tell func(key projection.WorkloadKey, what string, fields []string)) (*projection.Writes, error) {
	l, all, err := waiting(s)
	if err != nil {
		return nil, err
	}
	rows, gone, err := l.evaluate(keys)
	if err != nil {
		return nil, err
	}
	stored, err := s.Workloads(keys)
	if err != nil {
		return nil, err
	}
	return compare(stored, rows, gone, all.workloads, tell), nil
}

// waiting finds what the changes that wait concern.
func waiting(s *projection.Snapshot) (*loader, *concerns, error) {
	changes, err := s.Pending(most + 1)
	if err != nil {
		return nil, nil, err
	}
	if len(changes) > most {
		return nil, nil, ErrBusy
	}
	l, err := newLoader(s)
	if err != nil {
		return nil, nil, err
	}
	all, err := concernsOf(s, changes, l.joined)
	if err != nil {
		return nil, nil, err
	}
	for key := range all.members {
		all.many = append(all.many, projection.Affected{Instance: key.Instance, Member: key.Name})
	}
	for i := range all.many {
		keys, err := s.Affected(&all.many[i])
		if err != nil {
			return nil, nil, err
		}
		for _, key := range keys {
			all.workloads[key] = true
		}
	}
	return l, all, nil
}

// compare finds the rows that differ from what was computed.
func compare(stored, computed []projection.Workload, gone []projection.WorkloadKey, waiting map[projection.WorkloadKey]bool, tell func(projection.WorkloadKey, string, []string)) *projection.Writes {
	w := &projection.Writes{}
	rows := make(map[projection.WorkloadKey]*projection.Workload, len(stored))
	for i := range stored {
		rows[stored[i].WorkloadKey] = &stored[i]
	}
	for i := range computed {
		now := &computed[i]
		if waiting[now.WorkloadKey] {
			continue
		}
		row := rows[now.WorkloadKey]
		if row == nil {
			tell(now.WorkloadKey, "was missing, stored", nil)
		} else if fields := differing(*row, *now); len(fields) > 0 {
			tell(now.WorkloadKey, "differed, repaired", fields)
		} else {
			continue
		}
		w.Workloads = append(w.Workloads, *now)
	}
	for _, key := range gone {
		if !waiting[key] {
			tell(key, "was left over, removed", nil)
			w.GoneWorkloads = append(w.GoneWorkloads, key)
		}
	}
	return w
}

// checkMembers compares the rows of the members.
func (p *Projector) checkMembers(ctx context.Context, _ func() error) (repaired int, err error) {
	different := func(s *projection.Snapshot) (*projection.Writes, error) {
		l, all, err := waiting(s)
		if err != nil {
			return nil, err
		}
		keys, err := s.MemberKeys()
		if err != nil {
			return nil, err
		}
		keys = slices.DeleteFunc(keys, func(key projection.MemberKey) bool { return all.members[key] })
		w := &projection.Writes{}
		err = l.compareMembers(keys, w)
		repaired = len(w.Members) + len(w.GoneMembers)
		return w, err
	}
	err = p.DB.View(ctx, func(s *projection.Snapshot) error {
		_, err := different(s)
		return err
	})
	if err == nil && repaired > 0 {
		err = untilFirst(ctx, p.DB.Round, different)
	}
	if err != nil {
		return 0, err
	}
	p.Metrics.differences.Add(float64(repaired))
	return repaired, nil
}

// untilFirst does a Round until no other projector is faster.
func untilFirst[W any](ctx context.Context, round func(context.Context, func(*projection.Snapshot) (W, error)) error, compute func(*projection.Snapshot) (W, error)) error {
	for {
		err := round(ctx, compute)
		if !projection.Overtaken(err) {
			return err
		}
		if err := pause(ctx, shortestPause); err != nil {
			return err
		}
	}
}

// differing names the fields in which two rows differ.
func differing(a, b any) []string {
	x, y := fields(a), fields(b)
	var names []string
	for _, name := range slices.Sorted(maps.Keys(y)) {
		if !reflect.DeepEqual(x[name], y[name]) {
			names = append(names, name)
		}
	}
	return names
}

// fields are those of a row as JSON has them, in which a database may store them in
// another order.
func fields(row any) map[string]any {
	all := map[string]any{}
	text, err := json.Marshal(row)
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		panic(err) // Rows are plain data.
	}
	return all
}
