package suite

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// dropOwnEvents takes the events out of an answer that the instance itself has that
// they are shown of. They are its own words, whatever they tell: of a cluster that was
// joined to it before it was joined to another one, for an hour.
func (on *target) dropOwnEvents(t *testing.T, data map[string]any) {
	t.Helper()
	if activity, asked := data["activity"].(map[string]any); asked {
		for _, node := range activity["nodes"].([]any) {
			// So are the names of clusters that Kairship joined to it, as long as the history is kept.
			if e := node.(map[string]any); e["way"] == "CONTROLLER" && e["kind"] == "Cluster" {
				e["name"] = ""
			}
		}
	}
	type event struct{ Namespace, Name, Message string }
	instances, _ := data["instances"].(map[string]any)
	nodes, _ := instances["nodes"].([]any)
	for _, node := range nodes {
		instance := node.(map[string]any)
		shown, asked := instance["events"].(map[string]any)
		if !asked {
			continue
		}
		var list corev1.EventList
		if err := on.fleet.Client(t, instance["name"].(string)).List(t.Context(), &list); err != nil {
			t.Fatal(err)
		}
		own := map[event]bool{}
		for i := range list.Items {
			own[event{list.Items[i].Namespace, list.Items[i].Name, list.Items[i].Message}] = true
		}
		shown["nodes"] = slices.DeleteFunc(shown["nodes"].([]any), func(node any) bool {
			e := node.(map[string]any)
			return own[event{e["namespace"].(string), e["name"].(string), e["message"].(string)}]
		})
	}
}
