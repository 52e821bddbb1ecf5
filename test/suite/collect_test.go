package suite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	kairshipv1alpha1 "github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// TestCollectedKindsOfAnInstance adds kinds to what is collected of alpha and its members, and removes
// them again, while nothing starts anew.
func TestCollectedKindsOfAnInstance(t *testing.T) {
	on := open(t)
	w := &world{fleet: on.fleet, id: newID()}
	t.Cleanup(w.remove)
	a, b := "suite-"+w.id+"-a", "suite-"+w.id+"-b"
	for _, namespace := range []string{a, b} {
		w.create(t, created{"alpha", &corev1.Namespace{ObjectMeta: w.meta("", namespace)}})
		w.create(t, created{"alpha", &corev1.LimitRange{ObjectMeta: w.meta(namespace, "limits"), Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
			Type: corev1.LimitTypeContainer, Max: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")},
		}}}}})
	}
	shopper := newPerson(t, on, nil)
	bindingIn(t, on, shopper, kairshipv1alpha1.RoleEditor, "alpha", a)
	admin := on.as(t, "admin")

	listedAs := func(who string, as *gql.Client, source, want string) {
		t.Helper()
		poll.Until(t, propagationTimeout, fmt.Sprintf("%s has limits from %s", who, source), func(ctx context.Context) error {
			got, _, err := gql.Query[listed](ctx, as, `query($selector: String!) { instance(name: "alpha") {
				resources(version: "v1", resource: "limitranges", filter: {labelSelector: $selector}) { totalCount nodes { namespace name } freshness { source stale } } } }`,
				map[string]any{"selector": "suite=" + w.id})
			switch {
			case err != nil:
				return err
			case got.Instance == nil && want == "":
				return nil
			case got.Instance == nil:
				return errors.New("there is no instance")
			}
			list := got.Instance.Resources
			if got.names() != want || list.Freshness.Source != source || list.TotalCount != len(list.Nodes) {
				return fmt.Errorf("got %q, and %+v", got.names(), list)
			}
			return nil
		})
	}
	const inMember = `{ instance(name: "alpha") { resources(cluster: "m1", version: "v1", resource: "serviceaccounts", namespace: "default") { totalCount nodes { namespace name } } } }`
	refused := func() {
		t.Helper()
		poll.Until(t, propagationTimeout, "serviceaccounts of members are refused", func(ctx context.Context) error {
			_, _, err := gql.Query[listed](ctx, admin, inMember, nil)
			if err == nil {
				return errors.New("they are listed")
			}
			if !strings.Contains(err.Error(), "is not collected of m1") || !strings.Contains(err.Error(), "spec.collect.ofMembers") {
				return err
			}
			return nil
		})
	}

	listedAs("admin", admin, "LIVE", a+"/limits "+b+"/limits")
	refused()

	t.Cleanup(func() {
		if err := setCollected(t, on, nil); err != nil {
			t.Error(err)
		}
	})
	if err := setCollected(t, on, &kairshipv1alpha1.CollectedKinds{OfMembers: []kairshipv1alpha1.CollectedKind{{Version: "v1", Resource: "secrets"}}}); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "Secrets are not collected") {
		t.Errorf("Secrets are collected: %v", err)
	}
	if err := setCollected(t, on, &kairshipv1alpha1.CollectedKinds{
		OfInstance: []kairshipv1alpha1.CollectedKind{{Version: "v1", Resource: "limitranges"}},
		OfMembers:  []kairshipv1alpha1.CollectedKind{{Version: "v1", Resource: "serviceaccounts"}},
	}); err != nil {
		t.Fatal(err)
	}
	listedAs("admin", admin, "INDEX", a+"/limits "+b+"/limits")
	listedAs("an editor of one namespace", shopper.Client, "INDEX", a+"/limits")
	listedAs("mallory", on.as(t, "mallory"), "", "")
	poll.Until(t, propagationTimeout, "the index has serviceaccounts of m1", func(ctx context.Context) error {
		got, _, err := gql.Query[listed](ctx, admin, inMember, nil)
		if err == nil && got.names() != "default/default" {
			err = fmt.Errorf("it has %q", got.names())
		}
		return err
	})
	if got, _, err := gql.Query[listed](t.Context(), shopper.Client, inMember, nil); err != nil || got.names() != "" {
		t.Errorf("an editor of another namespace has %v, error %v", got, err)
	}

	if err := setCollected(t, on, nil); err != nil {
		t.Fatal(err)
	}
	listedAs("admin", admin, "LIVE", a+"/limits "+b+"/limits")
	refused()
}

// setCollected sets which kinds are collected of alpha besides those of the fleet.
func setCollected(t *testing.T, on *target, kinds *kairshipv1alpha1.CollectedKinds) error {
	t.Helper()
	alpha, global := &kairshipv1alpha1.Instance{}, on.fleet.Client(t, "global")
	if err := global.Get(context.Background(), client.ObjectKey{Name: "alpha"}, alpha); err != nil {
		return err
	}
	before := alpha.DeepCopy()
	alpha.Spec.Collect = kinds
	return global.Patch(context.Background(), alpha, client.MergeFrom(before))
}
