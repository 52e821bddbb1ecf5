package controllers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/longtest"
	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

var managers = []string{"kairship-controller-manager-0", "kairship-controller-manager-1"}

func errorf(err error, format string, args ...any) error {
	if err != nil {
		return err
	}
	return fmt.Errorf(format, args...)
}

// TestDeletedWithADeadMember removes the entry of m3 while m3 is unreachable.
// It goes after a while, and says what stays there; when m3 is back and gets an
// entry again, what stayed is taken up. Patience alone is a minute and a half of it,
// so it is for the long form.
func TestDeletedWithADeadMember(t *testing.T) {
	longtest.Only(t, "it waits for minutes")
	s := openImports(t)
	s.restoreM3()
	s.edit("m3", func(spec *v1alpha1.ClusterSpec) {
		spec.Join = &v1alpha1.ClusterJoin{RemovalPolicy: v1alpha1.RemovalForce}
	})
	s.becomes(heard, "m3", "True/Joined")
	before := &v1alpha1.Cluster{}
	s.must(s.global.Get(t.Context(), client.ObjectKey{Name: "m3"}, before))

	s.fleet.Kill(t, "m3-apiserver")
	begun := time.Now()
	s.must(s.global.Delete(t.Context(), before.DeepCopy()))
	poll.Until(t, moved, "the entry of m3 goes", func(ctx context.Context) error {
		err := s.global.Get(ctx, client.ObjectKey{Name: "m3"}, &v1alpha1.Cluster{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		word, message, _ := s.joinedAs(ctx, "m3")
		return errorf(err, "it exists: %s: %s", word, message)
	})
	t.Logf("the entry went after %s", time.Since(begun).Round(time.Second))
	for _, object := range made("beta", "m3")["beta"] {
		if err := s.at["beta"].Get(t.Context(), client.ObjectKeyFromObject(object), object); !apierrors.IsNotFound(err) {
			t.Errorf("beta still has %T %s: %v", object, object.GetName(), err)
		}
	}
	s.reportedOf(before, "LeftBehind", "service accounts karmada-*", joinNamespace)

	s.fleet.Start(t, "m3-apiserver")
	again := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m3"}, Spec: before.Spec}
	s.must(s.global.Create(t.Context(), again))
	s.becomes(moved, "m3", "True/Joined", `"beta"`)
	account := made("beta", "m3")["m3"][2]
	s.must(s.at["m3"].Get(t.Context(), client.ObjectKeyFromObject(account), account))
	if got := account.GetLabels()[v1alpha1.OwnerUIDLabel]; got != string(again.UID) {
		t.Errorf("the account in m3 belongs to %s, want %s", got, again.UID)
	}
}

// TestKarmadaForgetsAMember has Karmada's Cluster object go before Karmada has taken
// its workloads out of the member, as it happens when the API server of an instance
// is away at the wrong moment. Only Kairship finishes then what Karmada began.
func TestKarmadaForgetsAMember(t *testing.T) {
	s := openImports(t)
	s.restoreM3()
	s.must(s.running(t.Context()))
	s.fleet.Kill(t, "beta-controller-manager")
	s.edit("m3", to("", v1alpha1.RemovalForce))
	poll.Until(t, heard, "Karmada's object is deleted", func(ctx context.Context) error {
		karmada, err := s.karmada(ctx, "beta", "m3")
		if err != nil {
			return err
		}
		if karmada.DeletionTimestamp.IsZero() {
			return errors.New("it was not deleted")
		}
		karmada.Finalizers = nil
		return s.at["beta"].Update(ctx, karmada)
	})
	s.becomes(moved, "m3", "False/Free")
	s.must(s.nothingLeft(t.Context(), "beta", "m3", true))
	if _, message, err := s.joinedAs(t.Context(), "m3"); err != nil || strings.Contains(message, "Left behind") {
		t.Errorf("it says %q: %v", message, err)
	}
}

// reportedOf waits for an event about a Cluster.
func (s *imports) reportedOf(cluster *v1alpha1.Cluster, reason string, says ...string) {
	s.Helper()
	poll.Until(s.T, heard, "an event tells", func(ctx context.Context) error {
		list := &eventsv1.EventList{}
		if err := s.global.List(ctx, list); err != nil {
			return err
		}
		for i := range list.Items {
			event := &list.Items[i]
			if event.Regarding.UID != cluster.UID || event.Reason != reason {
				continue
			}
			for _, part := range says {
				if !strings.Contains(event.Note, part) {
					return fmt.Errorf("it does not say %q: %s", part, event.Note)
				}
			}
			s.Logf("%s: %s", event.Reason, event.Note)
			return nil
		}
		return fmt.Errorf("there is no event %s", reason)
	})
}

// TestBothManagersDieHalfway kills both controller managers at several moments of
// a move. The next attempt finishes it.
func TestBothManagersDieHalfway(t *testing.T) {
	longtest.Only(t, "clusterimport's own tests are cut off at every write")
	s := openImports(t)
	s.restoreM3()
	instance := "beta"
	for _, moment := range []struct {
		name  string
		after func(ctx context.Context) error
	}{
		{"at once", func(context.Context) error { return nil }},
		{"while it leaves", func(ctx context.Context) error {
			karmada, err := s.karmada(ctx, instance, "m3")
			if err == nil && karmada.DeletionTimestamp == nil {
				return fmt.Errorf("%s still has it", instance)
			}
			return client.IgnoreNotFound(err)
		}},
		{"while it joins", func(ctx context.Context) error {
			cluster := &v1alpha1.Cluster{}
			if err := s.global.Get(ctx, client.ObjectKey{Name: "m3"}, cluster); err != nil {
				return err
			}
			if cluster.Status.Membership == nil || cluster.Status.Membership.Instance == instance {
				return fmt.Errorf("it has not begun to join: %+v", cluster.Status.Membership)
			}
			return nil
		}},
	} {
		t.Run(moment.name, func(t *testing.T) {
			inner := *s
			inner.T = t
			next := map[string]string{"alpha": "beta", "beta": "alpha"}[instance]
			inner.edit("m3", to(next, v1alpha1.RemovalForce))
			poll.Until(t, moved, moment.name, moment.after)
			s.fleet.Kill(t, managers...)
			for _, name := range managers {
				s.fleet.Start(t, name)
			}
			inner.becomes(moved, "m3", "True/Joined", `"`+next+`"`)
			inner.must(inner.nothingLeft(t.Context(), instance, "m3", false))
			karmada, err := inner.karmada(t.Context(), next, "m3")
			inner.must(err)
			if karmada.Spec.SyncMode != clusterv1alpha1.Push {
				t.Errorf("it is joined in mode %s", karmada.Spec.SyncMode)
			}
			instance = next
		})
	}
}
