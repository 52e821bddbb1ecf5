package globalmanagementwebhook

import (
	"context"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	gm "github.com/kairship-io/kairship/pkg/globalmanagement"
)

// writers is how many bindings of a resync are written at once.
const writers = 16

// resync makes the stored bindings of global management equal to the platform's.
// A binding that cannot be stored does not keep the others from being stored.
// The error is the first that made one fail; without a report, nothing was done.
func (s *store) resync(ctx context.Context, all gm.Resync, delivery gm.Delivery) (gm.ResyncReport, error) {
	stored, err := s.bindings(ctx)
	if err != nil {
		return gm.ResyncReport{}, err
	}
	instances, err := s.instances(ctx)
	if err != nil {
		return gm.ResyncReport{}, err
	}
	asOf := time.UnixMilli(all.AsOf)

	tasks := make([]task, 0, len(all.Bindings))
	for _, b := range all.Bindings {
		name := v1alpha1.BindingName(b.BindingID)
		tasks = append(tasks, task{name: name, id: b.BindingID, seen: &look{stored[name]}, judge: func(is *v1alpha1.InstanceRoleBinding) (decision, *refusal) {
			return decideResync(is, b, asOf, delivery)
		}})
		delete(stored, name)
	}
	absent := func(is *v1alpha1.InstanceRoleBinding) (decision, *refusal) {
		return decideAbsent(is, asOf, delivery), nil
	}
	for _, name := range slices.Sorted(maps.Keys(stored)) {
		// What is revoked stays so, and no one need hear of it.
		if is := stored[name]; decideAbsent(is, asOf, delivery).result != gm.Unchanged {
			tasks = append(tasks, task{name: name, id: is.Spec.Source.BindingID, seen: &look{is}, judge: absent})
		}
	}

	report := gm.ResyncReport{Counts: map[gm.Result]int{}, Bindings: make([]gm.BindingReport, len(tasks))}
	causes := make([]error, len(tasks))
	var group errgroup.Group
	group.SetLimit(writers)
	for i, t := range tasks {
		group.Go(func() error {
			done, refused := s.decideAndWrite(ctx, t.name, t.seen, instances, t.judge)
			report.Bindings[i] = reportOf(t.id, done, refused)
			if refused != nil {
				causes[i] = refused.cause
			}
			return nil
		})
	}
	_ = group.Wait() // What fails is in the report.
	for i := range report.Bindings {
		report.Counts[report.Bindings[i].Result]++
	}
	return report, first(causes)
}

// first is the first error that is one. The others are mostly the same.
func first(all []error) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}

// names are the instances that there are.
type names map[string]bool

func (n names) instance(_ context.Context, name string) (bool, error) { return n[name], nil }

// task is one binding of a resync.
type task struct {
	name, id string
	seen     *look
	judge    decide
}

func reportOf(id string, done outcome, refused *refusal) gm.BindingReport {
	r := gm.BindingReport{BindingID: id, Result: done.result, Sequence: done.sequence}
	if refused == nil {
		return r
	}
	r.Result = gm.Refused
	if refused.Code == gm.Unavailable {
		r.Result = gm.Failed
	}
	r.Code, r.Field, r.Message = refused.Code, refused.Field, refused.Message
	return r
}
