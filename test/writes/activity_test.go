package writes

import (
	"context"
	"fmt"
	"testing"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/gql"
)

type controllerChange struct {
	User, Verb, Kind, Name, Outcome string
	Mutation                        *string
}

// byControllers reads what controllers changed in alpha, as a user sees it.
func byControllers(ctx context.Context, as *gql.Client, filter map[string]any) ([]controllerChange, error) {
	data, r, err := gql.Query[struct {
		Activity struct {
			Nodes      []controllerChange
			TotalCount int
		}
	}](ctx, as, `query($filter: ActivityFilter) { activity(filter: $filter) { nodes { user verb kind name outcome mutation } totalCount } }`,
		map[string]any{"filter": but(filter, "instances", []string{"alpha"}, "ways", []string{"CONTROLLER"})})
	if err == nil && data.Activity.TotalCount != len(data.Activity.Nodes) {
		err = fmt.Errorf("it counts %d: %s", data.Activity.TotalCount, r.Body)
	}
	return data.Activity.Nodes, err
}

// movesAreRecorded checks that the controller that finished two moves in a namespace is in the activity, once for each, for those
// who may read the namespace, and the rules of a role for those who manage access.
func movesAreRecorded(t *testing.T, namespace string) {
	t.Helper()
	other := namespaceIn(t)
	editor, outsider := editorIn(t, namespace), editorIn(t, other)
	for as, in := range map[*gql.Client]string{editor: namespace, outsider: other} {
		poll.Until(t, within, "the role has taken effect", func(ctx context.Context) error {
			if may, err := readsNamespace(ctx, as, "alpha", in); err != nil || !may {
				return fmt.Errorf("it has not: %w", err)
			}
			return nil
		})
	}
	finished := controllerChange{"controller:workload-moves", "PATCH", "PropagationPolicy", "cart", "SUCCEEDED", nil}
	made := func(by string) controllerChange {
		return controllerChange{"controller:" + by, "CREATE", "InstanceRoleBinding", namespace, "SUCCEEDED", nil}
	}
	role := []controllerChange{made("instance-access"), made("instance-role-binding")}
	for _, tt := range []struct {
		who    string
		as     *gql.Client
		filter map[string]any
		want   []controllerChange
	}{
		{"alice", person(t, "alice"), map[string]any{"namespaces": []string{namespace}}, []controllerChange{finished, finished}},
		{"an editor of the namespace", editor, map[string]any{}, []controllerChange{finished, finished}},
		{"an editor of another namespace", outsider, map[string]any{}, nil},
		{"bob", person(t, "bob"), map[string]any{}, nil},
		{"mallory", person(t, "mallory"), map[string]any{}, nil},
		{"the administrator, about the role", person(t, "admin"), map[string]any{"names": []string{namespace}}, role},
		{"alice, about the role", person(t, "alice"), map[string]any{"names": []string{namespace}}, nil},
	} {
		poll.Until(t, within, tt.who+" sees it", func(ctx context.Context) error {
			got, err := byControllers(ctx, tt.as, tt.filter)
			if err != nil || !sameChanges(got, tt.want) {
				return fmt.Errorf("got %+v, want %+v: %w", got, tt.want, err)
			}
			return nil
		})
	}
}

// sameChanges reports whether the same changes are in two lists, as often in each.
func sameChanges(a, b []controllerChange) bool {
	count := map[controllerChange]int{}
	for _, c := range a {
		count[c]++
	}
	for _, c := range b {
		count[c]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}
