package projector

import (
	"strings"
	"testing"
	"time"

	"github.com/kairship-io/kairship/pkg/projection"
	"github.com/kairship-io/kairship/pkg/projection/projectiontest"
)

// TestActivity: a program that only reads adds what users did, and each reach, filter and page has its part of it.
func TestActivity(t *testing.T) {
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		w := historyWorld(t, index)
		recorder, err := projection.OpenRecorder(func() (string, error) { return index.DSN, nil })
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = recorder.Close() }()
		for _, one := range []struct{ uid, instance, kind, namespace, name, user, outcome string }{
			{"uid-a", "alpha", "Deployment", "shop", "web", "alice", "SUCCEEDED"},
			{"uid-a", "alpha", "ConfigMap", "ops", "settings", "alice", "REFUSED"},
			{"uid-a", "alpha", "Cluster", "", "m1", "admin", "SUCCEEDED"},
			{"uid-a", "alpha", projection.KindRoleBinding, "", "bob", "admin", "SUCCEEDED"},
			{"uid-b", "beta", "Deployment", "shop", "api", "bob", "FAILED"},
			{"uid-former", "former", "Deployment", "shop", "old", "admin", "SUCCEEDED"},
			{"", "", "Cluster", "", "m9", "admin", "SUCCEEDED"},
		} {
			e := &projection.Entry{ObjectKey: projection.ObjectKey{Instance: one.instance, Kind: one.kind, Namespace: one.namespace, Name: one.name}, Change: projection.Written}
			a := &projection.Activity{
				Instance: one.instance, Kind: one.kind, Namespace: one.namespace, Name: one.name, User: one.user,
				Verb: projection.ActivityPatch, Way: projection.ByGraphQL, Outcome: projection.ActivityOutcome(one.outcome), Mutation: "patchResource",
			}
			if err := recorder.RecordWrite(t.Context(), one.uid, e, a); err != nil {
				t.Fatal(err)
			}
		}
		all := projection.ActivityReach{Everything: true, AllAccess: true}
		for _, tt := range []struct {
			name string
			q    projection.ActivityQuery
			want string
		}{
			{"everything", projection.ActivityQuery{Reach: all}, "m9 old api bob m1 settings web"},
			{"nothing", projection.ActivityQuery{}, ""},
			{"a whole instance, without roles", projection.ActivityQuery{Reach: projection.ActivityReach{Wholes: []string{"uid-a"}}}, "m1 settings web"},
			{"and its roles", projection.ActivityQuery{Reach: projection.ActivityReach{Wholes: []string{"uid-a"}, Access: []string{"uid-a"}}}, "bob m1 settings web"},
			{"roles of another instance", projection.ActivityQuery{Reach: projection.ActivityReach{Wholes: []string{"uid-a"}, Access: []string{"uid-b"}}}, "m1 settings web"},
			{"each namespace", projection.ActivityQuery{Reach: projection.ActivityReach{EveryNamespace: []string{"uid-a"}}}, "settings web"},
			{"one namespace", projection.ActivityQuery{Reach: projection.ActivityReach{Namespaces: [][2]string{{"uid-a", "shop"}}}}, "web"},
			{"two in two instances", projection.ActivityQuery{Reach: projection.ActivityReach{Namespaces: [][2]string{{"uid-a", "ops"}, {"uid-b", "shop"}}}}, "api settings"},
			{"by instance", projection.ActivityQuery{Reach: all, Instances: []string{"beta", "former"}}, "old api"},
			{"by user", projection.ActivityQuery{Reach: all, Users: []string{"bob"}}, "api"},
			{"by kind", projection.ActivityQuery{Reach: all, Kinds: []string{"Deployment"}}, "old api web"},
			{"by namespace", projection.ActivityQuery{Reach: all, Namespaces: []string{"ops"}}, "settings"},
			{"by name", projection.ActivityQuery{Reach: all, Names: []string{"web"}}, "web"},
			{"by outcome", projection.ActivityQuery{Reach: all, Outcomes: []projection.ActivityOutcome{projection.ActivityRefused, projection.ActivityFailed}}, "api settings"},
			{"by no kind at all", projection.ActivityQuery{Reach: all, Kinds: []string{}}, ""},
			{"by way", projection.ActivityQuery{Reach: all, Ways: []projection.ActivityWay{projection.ByNativeAPI}}, ""},
			{"later", projection.ActivityQuery{Reach: all, From: float64(time.Now().Add(time.Hour).Unix())}, ""},
			{"earlier", projection.ActivityQuery{Reach: all, To: 1}, ""},
		} {
			tt.q.Limit, tt.q.WithCount = 2, true
			var names []string
			for {
				found, err := w.DB.Activity(t.Context(), &tt.q)
				if err != nil {
					t.Fatalf("%s: %v", tt.name, err)
				}
				for i := range found.Entries {
					names = append(names, found.Entries[i].Name)
					tt.q.Before = found.Entries[i].ID
				}
				if want := int64(len(strings.Fields(tt.want))); found.Count == nil || *found.Count != want {
					t.Errorf("%s: count %v, want %d", tt.name, found.Count, want)
				}
				if !found.HasNext {
					break
				}
			}
			if got := strings.Join(names, " "); got != tt.want {
				t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
			}
		}
		index.Exec(t, "UPDATE kairship.activity SET at = at - 7200")
		if _, err := w.DB.PruneHistory(t.Context(), time.Hour, map[string]time.Duration{"uid-b": 3 * time.Hour}, 10); err != nil {
			t.Fatal(err)
		}
		found, err := w.DB.Activity(t.Context(), &projection.ActivityQuery{Reach: all, Limit: 10})
		if err != nil || len(found.Entries) != 1 || found.Entries[0].Name != "api" {
			t.Errorf("left are %+v, %v", found, err)
		}
	})
}
