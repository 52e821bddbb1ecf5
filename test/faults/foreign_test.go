package faults

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/longtest"
	"github.com/kairship-io/kairship/internal/poll"
	pediav1alpha2 "github.com/kairship-io/kairship/pkg/apis/clusterpedia/v1alpha2"
	kairshipv1alpha1 "github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// guest is an Instance that these tests register: beta once more, under a name
// that is already taken.
const guest = "faults-guest"

// TestForeignObjectInTheWay has another owner for what a new Instance would need. It
// is left alone, the Instance says so, and goes on when it is out of the way.
func TestForeignObjectInTheWay(t *testing.T) {
	longtest.Only(t, "pkg/controllers tests against an API server what happens to objects of others")
	name := kairshipv1alpha1.VirtualClusterName(guest)
	for _, tt := range []struct {
		name    string
		foreign client.Object
	}{
		{
			name: "a PediaCluster",
			foreign: &pediav1alpha2.PediaCluster{
				ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"team": "somebody-else"}},
				Spec:       pediav1alpha2.ClusterSpec{APIServer: "https://127.0.0.1:1", SyncResources: []pediav1alpha2.ClusterGroupResources{}},
			},
		},
		{
			name: "a Cluster",
			foreign: &kairshipv1alpha1.Cluster{
				ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"team": "somebody-else"}},
				Spec: kairshipv1alpha1.ClusterSpec{
					Type: kairshipv1alpha1.ClusterTypeVirtual, APIEndpoint: "https://127.0.0.1:1",
					InstanceRef: &kairshipv1alpha1.InstanceReference{Name: guest},
				},
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := begin(t)
			global := s.Client(t, "global")
			foreign := tt.foreign.DeepCopyObject().(client.Object)
			s.createFor(t, global, foreign)
			s.createFor(t, global, s.guest(t))

			poll.Until(t, noticeWithin, "the Instance says what is in its way", func(ctx context.Context) error {
				c, err := indexed(ctx, global)
				if err == nil && (c.Status != metav1.ConditionFalse || c.Reason != kairshipv1alpha1.ReasonNameTaken) {
					err = fmt.Errorf("it says %+v", c)
				}
				return err
			})
			s.asked(t, 0)
			leftAlone(t, global, foreign)

			if err := global.Delete(t.Context(), foreign.DeepCopyObject().(client.Object)); err != nil {
				t.Fatal(err)
			}
			removed := time.Now()
			poll.Until(t, recoverWithin, "the Instance is collected", func(ctx context.Context) error {
				c, err := indexed(ctx, global)
				if err == nil && c.Status != metav1.ConditionTrue {
					err = fmt.Errorf("it says %+v", c)
				}
				return err
			})
			t.Logf("collected %s after the way was free", time.Since(removed).Round(100*time.Millisecond))
			s.asked(t, len(s.before["beta"]))
		})
	}
}

// guest is beta under another name and with another identity.
func (s *scene) guest(t *testing.T) *kairshipv1alpha1.Instance {
	t.Helper()
	return &kairshipv1alpha1.Instance{ObjectMeta: metav1.ObjectMeta{Name: guest}, Spec: s.Fleet.SpecAs(t, "beta", guest)}
}

// createFor creates an object for the length of a test.
func (s *scene) createFor(t *testing.T, c client.Client, o client.Object) {
	t.Helper()
	if err := c.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), recoverWithin)
		defer cancel()
		left := o.DeepCopyObject().(client.Object)
		err := client.IgnoreNotFound(c.Delete(ctx, left, client.Preconditions{UID: new(o.GetUID())}))
		if err == nil {
			err = poll.Try(ctx, recoverWithin, func(ctx context.Context) error {
				err := gone(ctx, c, left)
				if err != nil && left.GetUID() != o.GetUID() {
					return nil // It is the one that Kairship made since.
				}
				return err
			})
		}
		if err != nil {
			t.Errorf("removing %T %s: %v", o, o.GetName(), err)
		}
	})
}

// indexed is what the guest says about its collection.
func indexed(ctx context.Context, global client.Client) (metav1.Condition, error) {
	i := &kairshipv1alpha1.Instance{}
	if err := global.Get(ctx, client.ObjectKey{Name: guest}, i); err != nil {
		return metav1.Condition{}, err
	}
	c := meta.FindStatusCondition(i.Status.Conditions, kairshipv1alpha1.ConditionIndexed)
	if c == nil {
		return metav1.Condition{}, errors.New("it has no condition Indexed")
	}
	return *c, nil
}

// asked waits until the API shows as many workloads of the guest.
func (s *scene) asked(t *testing.T, workloads int) {
	t.Helper()
	poll.Until(t, noticeWithin, fmt.Sprintf("the API shows %d workloads of it", workloads), func(ctx context.Context) error {
		data, _, err := gql.Query[struct {
			Instance *struct {
				Workloads struct{ Nodes []struct{ Name string } }
			}
		}](ctx, s.api, `query Guest($name: String!) { instance(name: $name) { workloads { nodes { name } } } }`, map[string]any{"name": guest})
		switch {
		case err != nil:
			return err
		case data.Instance == nil:
			return errors.New("it does not know it")
		case len(data.Instance.Workloads.Nodes) != workloads:
			return fmt.Errorf("it shows %d", len(data.Instance.Workloads.Nodes))
		}
		return nil
	})
}

// leftAlone checks that what is not Kairship's was not changed.
func leftAlone(t *testing.T, c client.Client, created client.Object) {
	t.Helper()
	now := created.DeepCopyObject().(client.Object)
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(created), now); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(mine(created), mine(now)); diff != "" {
		t.Errorf("the foreign %T changed (-created +now):\n%s", created, diff)
	}
	if !now.GetDeletionTimestamp().IsZero() {
		t.Errorf("the foreign %T is being deleted", created)
	}
}

// mine is what its creator said about an object.
func mine(o client.Object) any {
	var spec any
	switch o := o.(type) {
	case *pediav1alpha2.PediaCluster:
		spec = o.Spec
	case *kairshipv1alpha1.Cluster:
		spec = o.Spec
	}
	return []any{string(o.GetUID()), o.GetLabels(), o.GetOwnerReferences(), o.GetAnnotations(), spec}
}
