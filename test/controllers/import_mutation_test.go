package controllers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// TestJoinAndUnjoinByMutation has m3 leave beta and join it again by mutations, and
// reads in the API how far that is.
func TestJoinAndUnjoinByMutation(t *testing.T) {
	s := openImports(t)
	s.restoreM3()
	s.edit("m3", to("beta", v1alpha1.RemovalBlock))
	s.becomes(heard, "m3", "True/Joined")
	admin := gql.New(s.fleet.KairshipURL, s.fleet.Token(t, "admin"))
	type payload struct {
		Requested bool
		Cluster   struct{ Name string }
	}
	mutate := func(mutation string, more string) {
		t.Helper()
		got, _, err := gql.Query[map[string]payload](t.Context(), admin, fmt.Sprintf(
			`mutation { %s(input: {instance: "beta", cluster: "m3"%s}) { requested cluster { name } } }`, mutation, more), nil)
		s.must(err)
		if !got[mutation].Requested || got[mutation].Cluster.Name != "m3" {
			t.Fatalf("%s answers %+v", mutation, got)
		}
	}
	shows := func(reason string, says ...string) {
		t.Helper()
		poll.Until(t, moved, "the API shows "+reason, func(ctx context.Context) error {
			got, _, err := gql.Query[struct {
				Cluster struct {
					Conditions []struct{ Type, Reason, Message string }
				}
			}](ctx, admin, `{ cluster(name: "m3") { conditions { type reason message } } }`, nil)
			if err != nil {
				return err
			}
			for _, condition := range got.Cluster.Conditions {
				if condition.Type != v1alpha1.ConditionJoined {
					continue
				}
				if condition.Reason != reason {
					return fmt.Errorf("it is %s: %s", condition.Reason, condition.Message)
				}
				for _, part := range says {
					if !strings.Contains(condition.Message, part) {
						return fmt.Errorf("it does not say %q: %s", part, condition.Message)
					}
				}
				return nil
			}
			return errors.New("there is no condition Joined")
		})
	}

	mutate("unjoinCluster", "")
	shows("Blocked", "Deployment billing/api", "StatefulSet billing/ledger")
	mutate("unjoinCluster", ", force: true")
	shows("Free")
	s.must(s.nothingLeft(t.Context(), "beta", "m3", true))
	mutate("joinCluster", "")
	shows("Joined")
	cluster := &v1alpha1.Cluster{}
	s.must(s.global.Get(t.Context(), keyOf("m3"), cluster))
	if got := cluster.Spec.RemovalPolicy(); got != v1alpha1.RemovalBlock {
		t.Errorf("a join begins with the removal policy %s", got)
	}
	poll.Until(t, discovered, "the member is shown as Kairship's", func(ctx context.Context) error {
		got, _, err := gql.Query[struct {
			Instance struct {
				MemberCluster *struct {
					Managed, Ready bool
					Cluster        *struct{ Name string }
				}
			}
		}](ctx, admin, `{ instance(name: "beta") { memberCluster(name: "m3") { managed ready cluster { name } } } }`, nil)
		if err != nil {
			return err
		}
		if m := got.Instance.MemberCluster; m == nil || !m.Managed || !m.Ready || m.Cluster == nil {
			return fmt.Errorf("it is %+v", m)
		}
		return nil
	})
}
