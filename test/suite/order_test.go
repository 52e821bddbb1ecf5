package suite

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/schema"
)

// TestEveryOrderOfEveryList reads every list in every order, a few items at a
// time: sorted as the schema says, the other way round in the other direction,
// and with nothing lost or shown twice where items are equal.
func TestEveryOrderOfEveryList(t *testing.T) {
	on := open(t)
	w := theWorld(t)
	w.settled(t, on)
	for _, list := range schema.ObjectLists(theSchema) {
		argument := list.Field.Arguments.ForName("orderBy")
		if argument == nil {
			continue
		}
		order := theSchema.Types[argument.Type.Name()]
		for _, field := range schema.Values(theSchema, order.Fields.ForName("field").Type.Name()) {
			t.Run(list.Key()+"/"+field, func(t *testing.T) { w.tryOrder(t, on, list, field) })
		}
	}
}

// fromBestToWorst are the states of health as the schema orders them.
var fromBestToWorst = []string{"HEALTHY", "PROGRESSING", "UNMANAGED", "UNPROPAGATED", "UNSCHEDULED", "UNKNOWN", "DEGRADED"}

// keyOf is what an item is sorted by: the field, then what the schema says next.
func keyOf(field string, i item) []string {
	switch field {
	case "NAME":
		return []string{i.GetName(), i.GetNamespace()}
	case "NAMESPACE":
		return []string{i.GetNamespace(), i.GetName()}
	case "CREATED_AT":
		return []string{i.GetCreationTimestamp().UTC().Format(time.RFC3339)}
	case "HEALTH":
		return []string{string(rune('a' + slices.Index(fromBestToWorst, i.health)))}
	case "READY":
		return []string{fmt.Sprintf("%09d", i.ready)}
	case "RESTARTS":
		return []string{fmt.Sprintf("%09d", restartsOf(i))}
	}
	panic("no test knows how a list is ordered by " + field + ": add it here")
}

// ordered narrows a list to what is looked at, with items that are equal in every order.
func (w *world) ordered(list schema.List) (map[string]any, func(item) bool) {
	v := kindIn(list)
	filter := theSchema.Types[list.Field.Arguments.ForName("filter").Type.Name()]
	clusterScoped := list.Node == "ClusterPropagationPolicy" || list.Node == "ClusterOverridePolicy" || list.Node == "WorkloadRebalancer"
	switch {
	case filter.Fields.ForName("namespaces") != nil && !clusterScoped:
		v["filter"] = map[string]any{"namespaces": w.suiteNamespaces()}
		return v, w.inHere
	case filter.Fields.ForName("includeHidden") != nil:
		v["filter"] = map[string]any{"includeHidden": true}
	}
	return v, everything
}

func (w *world) tryOrder(t *testing.T, on *target, list schema.List, field string) {
	t.Helper()
	variables, match := w.ordered(list)
	r := w.filterRoute(t, list)
	poll.Until(t, soon, "the list is in order", func(ctx context.Context) error {
		all, err := w.items(ctx, t, list)
		if err != nil {
			return err
		}
		keys := map[string][]string{}
		equal := map[string]int{}
		for _, i := range all {
			if match(i) {
				keys[i.name] = keyOf(field, i)
				equal[keys[i.name][0]]++
			}
		}
		// Names without namespace are unique, those of most pods are random, and a policy may claim one
		// workload of each name. Karmada creates what is in a member when it comes to it.
		unique := field == "CREATED_AT" && list.Parent == "MemberCluster" ||
			field == "NAME" && (theSchema.Types[list.Node].Fields.ForName("namespace") == nil || list.Node == "Instance" || list.Node == "Pod" || list.Node == "WorkloadRebalancer" ||
				strings.HasPrefix(list.Node, "Cluster") || strings.HasSuffix(list.Parent, "Policy"))
		if len(equal) == len(keys) && !unique {
			return fmt.Errorf("no two of the %d items are equal in %s: the test proves nothing", len(keys), field)
		}
		ask := func(direction string, first int) ([]string, error) {
			orderBy := map[string]any{"field": field}
			if direction != "" {
				orderBy["direction"] = direction
			}
			return everyPage(ctx, on, list, r, with(variables, "orderBy", orderBy), first, len(keys))
		}
		ascending, err := ask("ASC", 500)
		if err != nil {
			return err
		}
		sorted := slices.SortedStableFunc(slices.Values(ascending), func(a, b string) int { return slices.Compare(keys[a], keys[b]) })
		if diff := gocmp.Diff(sorted, ascending); diff != "" {
			return fmt.Errorf("ascending (-in order +shown):\n%s", diff)
		}
		if names := slices.Compact(slices.Sorted(slices.Values(ascending))); len(names) != len(keys) {
			return fmt.Errorf("%d of %d items are shown", len(names), len(keys))
		}
		backwards := slices.Clone(ascending)
		slices.Reverse(backwards)
		for _, try := range []struct {
			direction string
			first     int
			want      []string
		}{{"ASC", 7, ascending}, {"", 500, ascending}, {"DESC", 500, backwards}, {"DESC", 3, backwards}} {
			got, err := ask(try.direction, try.first)
			if err != nil {
				return err
			}
			if diff := gocmp.Diff(try.want, got); diff != "" {
				return fmt.Errorf("direction %q by %d (-want +got):\n%s", try.direction, try.first, diff)
			}
		}
		return nil
	})
}

// TestOrderWhenNoneIsAskedFor checks the orders that the schema promises.
func TestOrderWhenNoneIsAskedFor(t *testing.T) {
	on := open(t)
	w := theWorld(t)
	w.settled(t, on)
	for _, list := range schema.ObjectLists(theSchema) {
		t.Run(list.Key(), func(t *testing.T) {
			variables := map[string]any{}
			match := everything
			if list.Field.Arguments.ForName("filter") != nil {
				variables, match = w.ordered(list)
			}
			field, sign := "NAMESPACE", 1
			switch {
			case list.Node == "Event":
				field, sign = "CREATED_AT", -1
			case theSchema.Types[list.Node].Fields.ForName("namespace") == nil || list.Node == "Instance":
				field = "NAME"
			}
			poll.Until(t, soon, "the list is in order", func(ctx context.Context) error {
				all, err := w.items(ctx, t, list)
				if err != nil {
					return err
				}
				keys := map[string][]string{}
				for _, i := range all {
					if match(i) {
						keys[i.name] = keyOf(field, i)
					}
				}
				got, err := everyPage(ctx, on, list, w.filterRoute(t, list), variables, 500, len(keys))
				if err != nil {
					return err
				}
				want := slices.SortedStableFunc(slices.Values(got), func(a, b string) int { return sign * cmp.Or(slices.Compare(keys[a], keys[b])) })
				if diff := gocmp.Diff(want, got); diff != "" {
					return fmt.Errorf("by %s (-in order +shown):\n%s", field, diff)
				}
				return nil
			})
		})
	}
}
