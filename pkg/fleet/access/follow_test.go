package access_test

import (
	"slices"
	"strings"
	"testing"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/access"
	"github.com/kairship-io/kairship/pkg/index"
)

// mayWatch are the users who have the verb watch wherever they may read.
var mayWatch = []string{"admin", "alice", "bob", "both", "shop", "shopper"}

// Users with the verb watch may follow what they may read; other users may follow nothing.
func TestMayFollow(t *testing.T) {
	may := access.New(authz.NewResolver(&fakeRules{}, nil, standing, nil))
	followed := 0
	for person := range people {
		grants, err := may.Grants(as(t, person), "alpha", "beta")
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range keys {
			instance := joined[k.Cluster]
			if k.Cluster != "k-"+instance {
				continue // Members are not followed.
			}
			meta := &metav1.ObjectMeta{Namespace: k.Namespace, Name: k.Name}
			if made, isOf := strings.CutPrefix(k.Name, "of-"); isOf && made != "none" {
				meta.Annotations = map[string]string{workv1alpha2.ResourceBindingNamespaceAnnotationKey: made}
			}
			want, _ := sees(person, k, false)
			if person == "mixed" && instance == "beta" {
				// That is a role as bob's.
				want, _ = sees("bob", k, false)
			} else if !slices.Contains(mayWatch, person) {
				want = false
			}
			got := access.MayFollow(grants[instance], k.Type, meta)
			if got != want {
				t.Errorf("%s follows %s %s/%s of %s: %v, want %v", person, k.Type.Resource, k.Namespace, k.Name, instance, got, want)
			}
			if got {
				followed++
				// The watched namespaces contain all objects that the user may follow.
				for _, wanted := range [][]string{nil, {k.Namespace}, {k.Namespace, "other"}} {
					if in := access.WatchedNamespaces(grants[instance], k.Type, wanted); in != nil && !slices.Contains(in, k.Namespace) {
						t.Errorf("%s: %s %s/%s of %s is followed, and not in %v", person, k.Type.Resource, k.Namespace, k.Name, instance, in)
					}
				}
			}
		}
	}
	if followed < 50 {
		t.Errorf("only %d objects are followed", followed)
	}
}

func TestWatchedNamespaces(t *testing.T) {
	may := access.New(authz.NewResolver(&fakeRules{}, nil, standing, nil))
	for _, tt := range []struct {
		person string
		wanted []string
		want   []string
	}{
		{"alice", nil, nil},
		{"alice", []string{"ops"}, []string{"ops"}},
		{"shop", nil, []string{"shop"}},
		{"shop", []string{"shop", "ops"}, []string{"shop"}},
		{"shop", []string{"ops"}, []string{}},
		{"seen", nil, []string{}},
		{"mixed", nil, []string{}}, // They may read two namespaces, and watch none.
	} {
		grants, err := may.Grants(as(t, tt.person), "alpha")
		if err != nil {
			t.Fatal(err)
		}
		got := access.WatchedNamespaces(grants["alpha"], index.Deployments, tt.wanted)
		if !slices.Equal(got, tt.want) || (got == nil) != (tt.want == nil) {
			t.Errorf("%s, wanting %v: got %#v, want %#v", tt.person, tt.wanted, got, tt.want)
		}
	}
}
