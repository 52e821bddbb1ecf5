package collection_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	pediav1alpha2 "github.com/kairship-io/kairship/pkg/apis/clusterpedia/v1alpha2"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/collection"
	"github.com/kairship-io/kairship/pkg/fleet/fleettest"
)

func instance(name, uid string) client.Object {
	i := fleettest.Instance(name)
	i.UID = types.UID(uid)
	return i
}

func cluster(name, uid, owner string) client.Object {
	c := &v1alpha1.Cluster{}
	c.Name, c.UID = name, types.UID(uid)
	return ownedBy(c, owner)
}

func pedia(name, owner string) client.Object {
	return ownedBy(fleettest.Collected(name, time.Time{}), owner)
}

func ownedBy(o client.Object, uid string) client.Object {
	if uid != "" {
		o.SetLabels(map[string]string{v1alpha1.OwnerUIDLabel: uid})
	}
	return o
}

func TestByOthers(t *testing.T) {
	for _, tt := range []struct {
		name, cluster string
		objects       []client.Object
		want          bool
		why           string
	}{
		{"an instance", "k-a", []client.Object{instance("a", "1"), cluster("k-a", "2", "1"), pedia("k-a", "2")}, false, "each was made for the one before"},
		{"a member", "m", []client.Object{cluster("m", "2", ""), pedia("m", "2")}, false, "people make Clusters, Kairship makes the PediaCluster"},
		{"nothing yet", "k-a", []client.Object{instance("a", "1"), cluster("k-a", "2", "1")}, false, "nothing is collected"},
		{"nothing at all", "k-a", nil, false, "nothing is collected"},
		{"a PediaCluster made by hand", "k-a", []client.Object{instance("a", "1"), cluster("k-a", "2", "1"), pedia("k-a", "")}, true, "it is unknown where it points to"},
		{"one that was there first", "k-a", []client.Object{instance("a", "1"), pedia("k-a", "")}, true, "there is no Cluster that it was made for"},
		{"one without an Instance", "k-a", []client.Object{cluster("k-a", "2", "1"), pedia("k-a", "2")}, true, "the Instance that it was made for is deleted"},
		{"one of an earlier Instance", "k-a", []client.Object{instance("a", "9"), cluster("k-a", "2", "1"), pedia("k-a", "2")}, true, "another one had the name before"},
		{"one of an earlier Cluster", "k-a", []client.Object{instance("a", "1"), cluster("k-a", "9", "1"), pedia("k-a", "2")}, true, "another one had the name before"},
		{"a Cluster made by hand", "k-a", []client.Object{instance("a", "1"), cluster("k-a", "2", ""), pedia("k-a", "2")}, true, "it leads where its maker wants"},
		{"a member's, made by hand", "m", []client.Object{cluster("m", "2", ""), pedia("m", "")}, true, "it is unknown where it points to"},
		{"a member's without a Cluster", "m", []client.Object{pedia("m", "2")}, true, "it is not in the inventory"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := collection.ByOthers(t.Context(), fleettest.Inventory(t, tt.objects...), tt.cluster)
			if err != nil || got != tt.want {
				t.Errorf("got %v, %v; want %v: %s", got, err, tt.want, tt.why)
			}
		})
	}
}

// What can't be read is not ours.
func TestByOthersWhenItIsNotKnown(t *testing.T) {
	whole := fleettest.Inventory(t, instance("a", "1"), cluster("k-a", "2", "1"), pedia("k-a", "2"))
	for _, broken := range []client.Object{&pediav1alpha2.PediaCluster{}, &v1alpha1.Cluster{}, &v1alpha1.Instance{}} {
		away := errors.New("the cache is not started")
		watched := interceptor.NewClient(whole.(client.WithWatch), interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
				if kindOf(o) == kindOf(broken) {
					return away
				}
				return c.Get(ctx, key, o, opts...)
			},
		})
		if _, err := collection.ByOthers(t.Context(), watched, "k-a"); !errors.Is(err, away) {
			t.Errorf("%T: got %v, want %v", broken, err, away)
		}
	}
}

func kindOf(o client.Object) string {
	switch o.(type) {
	case *pediav1alpha2.PediaCluster:
		return "PediaCluster"
	case *v1alpha1.Cluster:
		return "Cluster"
	}
	return "Instance"
}
