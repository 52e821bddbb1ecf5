package live

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// named is an object by its name.
type named struct {
	Name string `json:"name"`
}

// delivered is what a subscription said until it was synced, and where it was then.
func delivered(t *testing.T, as *gql.Client, field, noun, after string) (said []string, cursor string) {
	t.Helper()
	query := fmt.Sprintf(`subscription($after: String) { %s(after: $after) { type cursor %s { name } } }`, field, noun)
	variables := m{}
	if after != "" {
		variables["after"] = after
	}
	s := as.MustSubscribe(t, gql.Request{Query: query, Variables: variables})
	defer s.Close()
	for {
		e := s.Next(within)
		if e == nil || e.Lost != nil || e.Complete || len(e.Errors) > 0 {
			t.Fatalf("%s is not synced, and says %+v", field, e)
		}
		var data map[string]struct {
			Type     string `json:"type"`
			Cursor   string `json:"cursor"`
			Instance *named `json:"instance"`
			Cluster  *named `json:"cluster"`
		}
		if err := json.Unmarshal(e.Data, &data); err != nil {
			t.Fatal(err)
		}
		c := data[field]
		switch {
		case c.Instance != nil:
			said = append(said, c.Type+" "+c.Instance.Name)
		case c.Cluster != nil:
			said = append(said, c.Type+" "+c.Cluster.Name)
		default:
			said = append(said, c.Type)
		}
		if c.Type == "SYNCED" {
			return said, c.Cursor
		}
	}
}

// Who may see more or less than when their cursor was made is told everything again:
// of what came by a role nothing changed, and what went by one was not deleted.
func TestResumeAfterRolesChanged(t *testing.T) {
	f := fleet.Open(t)
	token, user, sa := account(t)
	as := gql.New(f.KairshipURL, token)
	sees := func(want ...string) {
		t.Helper()
		poll.Until(t, within, fmt.Sprintf("sees %v", want), func(context.Context) error {
			if got, _ := delivered(t, as, "instanceChanged", "instance", ""); !slices.Equal(got, added(want...)) {
				return fmt.Errorf("told %v", got)
			}
			return nil
		})
	}
	viewer(t, user, "")
	sees("alpha")
	_, instances := delivered(t, as, "instanceChanged", "instance", "")
	ofAlpha, clusters := delivered(t, as, "clusterChanged", "cluster", "")

	// Nothing changed.
	for field, want := range map[string]string{"instanceChanged": instances, "clusterChanged": clusters} {
		if got, _ := delivered(t, as, field, field[:len(field)-len("Changed")], want); !slices.Equal(got, []string{"SYNCED"}) {
			t.Errorf("%s goes on with %v", field, got)
		}
	}

	onBeta := &v1alpha1.InstanceRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: sa.Name + "-beta"},
		Spec: v1alpha1.InstanceRoleBindingSpec{
			InstanceRef: v1alpha1.InstanceReference{Name: "beta"},
			Subject:     v1alpha1.BindingSubject{Kind: v1alpha1.SubjectUser, Name: user},
			Role:        v1alpha1.RoleViewer,
		},
	}
	create(t, "global", onBeta)
	sees("alpha", "beta")
	got, more := delivered(t, as, "instanceChanged", "instance", instances)
	if want := append([]string{"GAP"}, added("alpha", "beta")...); !slices.Equal(got, want) {
		t.Errorf("with one more instance it goes on with %v, want %v", got, want)
	}
	both, _ := delivered(t, as, "clusterChanged", "cluster", "")
	if got, _ := delivered(t, as, "clusterChanged", "cluster", clusters); len(both) <= len(ofAlpha) || !slices.Equal(got, append([]string{"GAP"}, both...)) {
		t.Errorf("with one more instance the clusters go on with %v, want a gap and %v, which were %v", got, both, ofAlpha)
	}

	remove(t, "global", onBeta)
	sees("alpha")
	got, _ = delivered(t, as, "instanceChanged", "instance", more)
	if want := append([]string{"GAP"}, added("alpha")...); !slices.Equal(got, want) {
		t.Errorf("with one instance less it goes on with %v, want %v", got, want)
	}
}

func added(names ...string) []string {
	var all []string
	for _, name := range names {
		all = append(all, "ADDED "+name)
	}
	return append(all, "SYNCED")
}
