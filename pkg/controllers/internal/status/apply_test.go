package status_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apis/apitest"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers"
	"github.com/kairship-io/kairship/pkg/controllers/internal/status"
)

const (
	mine   = "mine"
	theirs = "theirs"
)

func condition(kind, reason string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: reason, Message: reason, LastTransitionTime: metav1.NewTime(time.Unix(1e9, 0))}
}

func saying(conditions ...metav1.Condition) *v1alpha1.InstanceStatus {
	return &v1alpha1.InstanceStatus{Conditions: conditions}
}

// TestApply writes one owner's condition, with an object that was read before
// something else happened.
func TestApply(t *testing.T) {
	kube, err := client.New(apitest.Config(t), client.Options{Scheme: controllers.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	write := func(t *testing.T, instance *v1alpha1.Instance, owner string, before, after *v1alpha1.InstanceStatus) error {
		t.Helper()
		return status.Apply(t.Context(), kube, instance, owner, before, after)
	}
	for _, c := range []struct {
		reason string
		// meanwhile happens after the object was read.
		meanwhile func(t *testing.T, now *v1alpha1.Instance) error
		conflict  bool
		want      map[string]string
	}{
		{
			reason:    "nothing happened",
			meanwhile: func(*testing.T, *v1alpha1.Instance) error { return nil },
			want:      map[string]string{mine: "New"},
		},
		{
			reason: "another owner wrote its part, which does not stand in the way",
			meanwhile: func(t *testing.T, now *v1alpha1.Instance) error {
				return write(t, now, theirs, saying(), saying(condition(theirs, "Theirs")))
			},
			want: map[string]string{mine: "New", theirs: "Theirs"},
		},
		{
			reason: "the next leader wrote the same part: what it said stays",
			meanwhile: func(t *testing.T, now *v1alpha1.Instance) error {
				return write(t, now, mine, saying(condition(mine, "Old")), saying(condition(mine, "ByTheNextLeader")))
			},
			conflict: true,
			want:     map[string]string{mine: "ByTheNextLeader"},
		},
		{
			reason: "the next leader took the part away",
			meanwhile: func(t *testing.T, now *v1alpha1.Instance) error {
				return write(t, now, mine, saying(condition(mine, "Old")), saying())
			},
			conflict: true,
			want:     map[string]string{},
		},
		{
			reason: "the next leader said the very same",
			meanwhile: func(t *testing.T, now *v1alpha1.Instance) error {
				return write(t, now, mine, saying(condition(mine, "Old")), saying(condition(mine, "New")))
			},
			want: map[string]string{mine: "New"},
		},
		{
			reason: "another object took the name, of which nothing is known",
			meanwhile: func(t *testing.T, now *v1alpha1.Instance) error {
				if err := kube.Delete(t.Context(), now); err != nil {
					return err
				}
				return kube.Create(t.Context(), &v1alpha1.Instance{ObjectMeta: metav1.ObjectMeta{Name: now.Name}, Spec: now.Spec})
			},
			want: map[string]string{},
		},
	} {
		t.Run(c.reason, func(t *testing.T) {
			instance := &v1alpha1.Instance{
				ObjectMeta: metav1.ObjectMeta{GenerateName: "apply-"},
				Spec: v1alpha1.InstanceSpec{
					Mode:                v1alpha1.InstanceModeExternal,
					KubeconfigSecretRef: &v1alpha1.SecretKeyReference{SecretReference: v1alpha1.SecretReference{Namespace: "default", Name: "none"}},
				},
			}
			if err := kube.Create(t.Context(), instance); err != nil {
				t.Fatal(err)
			}
			old := condition(mine, "Old")
			if err := write(t, instance, mine, saying(), saying(old)); err != nil {
				t.Fatal(err)
			}
			if err := c.meanwhile(t, instance.DeepCopy()); err != nil {
				t.Fatal(err)
			}

			err := write(t, instance, mine, saying(old), saying(condition(mine, "New")))
			if apierrors.IsConflict(err) != c.conflict || (err != nil) != c.conflict {
				t.Fatalf("got error %v, want a conflict: %v", err, c.conflict)
			}
			stored := &v1alpha1.Instance{}
			if err := kube.Get(t.Context(), client.ObjectKeyFromObject(instance), stored); err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for _, kind := range []string{mine, theirs} {
				if found := meta.FindStatusCondition(stored.Status.Conditions, kind); found != nil {
					got[kind] = found.Reason
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
		})
	}
}

// TestApplyKeepsAnOwnedField has another replica fill a field while this one has read
// that it is absent, and writes something else.
func TestApplyKeepsAnOwnedField(t *testing.T) {
	kube, err := client.New(apitest.Config(t), client.Options{Scheme: controllers.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	cluster := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "owned-field"}, Spec: v1alpha1.ClusterSpec{
		APIEndpoint: "https://member",
		CredentialsSecretRef: &v1alpha1.ClusterCredentialsReference{
			SecretReference: v1alpha1.SecretReference{Namespace: v1alpha1.SystemNamespace, Name: "member"},
		},
	}}
	if err := kube.Create(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	none, conditions := &v1alpha1.ClusterStatus{}, []metav1.Condition{condition(mine, "Old")}
	said := &v1alpha1.ClusterStatus{Conditions: conditions}
	if err := status.Apply(t.Context(), kube, cluster, mine, none, said, "membership"); err != nil {
		t.Fatal(err)
	}
	read := cluster.DeepCopy()
	filled := &v1alpha1.ClusterStatus{Conditions: conditions, Membership: &v1alpha1.ClusterMembership{Instance: "alpha"}}
	if err := status.Apply(t.Context(), kube, cluster, mine, said, filled, "membership"); err != nil {
		t.Fatal(err)
	}
	next := &v1alpha1.ClusterStatus{Conditions: []metav1.Condition{condition(mine, "New")}}
	if err := status.Apply(t.Context(), kube, read, mine, said, next, "membership"); !apierrors.IsConflict(err) {
		t.Errorf("it wrote over the next leader: %v", err)
	}
	if err := kube.Get(t.Context(), client.ObjectKeyFromObject(cluster), cluster); err != nil {
		t.Fatal(err)
	}
	if cluster.Status.Membership == nil {
		t.Error("it removed what the next leader had filled")
	}
}
