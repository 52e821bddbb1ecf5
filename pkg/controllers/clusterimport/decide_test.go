package clusterimport

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/connection"
)

var mine = ownerLabels{cluster: "m1", uid: "uid-1", instance: "alpha", global: "here"}

func marked(m ownerLabels) map[string]string { return m.labels() }

func TestMarksTellWhoseAnObjectIs(t *testing.T) {
	for _, c := range []struct {
		reason string
		labels map[string]string
		want   owner
	}{
		{"made for this Cluster", marked(mine), ownedByUs},
		{"made for it while it was in another instance", marked(ownerLabels{cluster: "m1", uid: "uid-1", instance: "beta", global: "here"}), ownedByUs},
		{"made for an earlier Cluster of the same name", marked(ownerLabels{cluster: "m1", uid: "uid-0", instance: "alpha", global: "here"}), ownedByAnother},
		{"made for another Cluster", marked(ownerLabels{cluster: "m2", uid: "uid-2", instance: "alpha", global: "here"}), ownedByAnother},
		{"made by another Kairship that has the same Cluster by chance", marked(ownerLabels{cluster: "m1", uid: "uid-1", instance: "alpha", global: "there"}), ownedByKairship},
		{"made by karmadactl", map[string]string{"karmada.io/system": "true"}, ownedByOthers},
		{"a label alone, as a chart may set it", map[string]string{v1alpha1.ManagedByLabel: v1alpha1.ManagedByValue}, ownedByOthers},
		{"nothing", nil, ownedByOthers},
	} {
		if got := mine.of(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Labels: c.labels}}); got != c.want {
			t.Errorf("%s: got %d, want %d", c.reason, got, c.want)
		}
	}
	labelled := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}}}
	mine.put(labelled)
	if labelled.Labels["a"] != "b" || mine.of(labelled) != ownedByUs {
		t.Errorf("marking lost something: %v", labelled.Labels)
	}
}

// cluster is one with what is said of it.
func cluster(spec func(*v1alpha1.Cluster)) *v1alpha1.Cluster {
	c := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m1", UID: "uid-1", Generation: 2}}
	c.Spec.Type = v1alpha1.ClusterTypePhysical
	spec(c)
	return c
}

func wants(c *v1alpha1.Cluster, instance string) {
	c.Spec.InstanceRef = &v1alpha1.InstanceReference{Name: instance}
}

func isIn(c *v1alpha1.Cluster, instance string) {
	c.Status.Membership = &v1alpha1.ClusterMembership{Instance: instance, MemberUID: "member-1"}
}

func TestWhereAClusterIsToGo(t *testing.T) {
	now := metav1.Now()
	for _, c := range []struct {
		reason  string
		cluster func(*v1alpha1.Cluster)
		leaves  bool
		wants   string
		holds   map[string]bool
	}{
		{"a free one rests", func(*v1alpha1.Cluster) {}, false, "", map[string]bool{"alpha": false}},
		{"one that is to join", func(c *v1alpha1.Cluster) { wants(c, "alpha") }, false, "alpha", map[string]bool{"alpha": true, "beta": false}},
		{"a member stays", func(c *v1alpha1.Cluster) { wants(c, "alpha"); isIn(c, "alpha") }, false, "alpha", map[string]bool{"alpha": true}},
		{"a cleared reference", func(c *v1alpha1.Cluster) { isIn(c, "alpha") }, true, "", map[string]bool{"alpha": true}},
		{"an edited reference: it holds both", func(c *v1alpha1.Cluster) { wants(c, "alpha"); isIn(c, "beta") }, true, "alpha", map[string]bool{"alpha": true, "beta": true}},
		{"a deleted one wants nothing", func(c *v1alpha1.Cluster) { wants(c, "alpha"); isIn(c, "alpha"); c.DeletionTimestamp = &now }, true, "", map[string]bool{"alpha": true}},
		{"a deleted one that never joined", func(c *v1alpha1.Cluster) { wants(c, "alpha"); c.DeletionTimestamp = &now }, false, "", map[string]bool{"alpha": false}},
		{"what has begun to leave does so to the end", func(c *v1alpha1.Cluster) {
			wants(c, "alpha")
			isIn(c, "alpha")
			c.Status.Membership.LeavingSince = &now
		}, true, "alpha", map[string]bool{"alpha": true}},
		{"a virtual one is no member", func(c *v1alpha1.Cluster) { wants(c, "alpha"); c.Spec.Type = v1alpha1.ClusterTypeVirtual }, false, "", map[string]bool{"alpha": false}},
	} {
		object := cluster(c.cluster)
		s := newScope(object, "here")
		if s.mustLeave() != c.leaves || s.wants() != c.wants {
			t.Errorf("%s: leaves %v and wants %q, want %v and %q", c.reason, s.mustLeave(), s.wants(), c.leaves, c.wants)
		}
		for instance, want := range c.holds {
			if got := object.Holds(instance); got != want {
				t.Errorf("%s: holds %s: %v, want %v", c.reason, instance, got, want)
			}
		}
	}
}

func TestKarmadasObjectIsKnownWithoutItsLabels(t *testing.T) {
	s := newScope(cluster(func(c *v1alpha1.Cluster) { isIn(c, "alpha") }), "here")
	for _, c := range []struct {
		reason string
		meta   metav1.ObjectMeta
		want   bool
	}{
		{"by its labels", metav1.ObjectMeta{UID: "other", Labels: marked(mine)}, true},
		{"by the record, when the labels were removed", metav1.ObjectMeta{UID: "member-1"}, true},
		{"another one that took its name", metav1.ObjectMeta{UID: "other"}, false},
	} {
		if got := s.isOurs(&clusterv1alpha1.Cluster{ObjectMeta: c.meta}); got != c.want {
			t.Errorf("%s: %v, want %v", c.reason, got, c.want)
		}
	}
}

func TestPlaceIsGivenOnlyWhenTheInventorysChanges(t *testing.T) {
	karmada := &clusterv1alpha1.Cluster{}
	where{Provider: "kwok", Region: "north", Zone: "north-1"}.put(karmada)
	karmada.Spec.Region = "set by a user"
	before := karmada.DeepCopy()
	where{Provider: "kwok", Region: "north", Zone: "north-1"}.put(karmada)
	if diff := cmp.Diff(before, karmada); diff != "" {
		t.Errorf("the same place was given again (-before +after):\n%s", diff)
	}
	where{Provider: "kwok"}.put(karmada)
	if karmada.Spec.Region != "" || karmada.Spec.Zones != nil || karmada.Labels[regionLabel] != "" || karmada.Labels[providerLabel] != "kwok" {
		t.Errorf("another place was not: %+v, %v", karmada.Spec, karmada.Labels)
	}
}

func TestShape(t *testing.T) {
	taint := corev1.Taint{Key: "cordoned", Effect: corev1.TaintEffectNoSchedule}
	karmada := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m1"}, Spec: clusterv1alpha1.ClusterSpec{Taints: []corev1.Taint{taint}, Zone: "old"}}
	shape(karmada, connection.Connection{Endpoint: "https://m1", ProxyURL: "http://proxy", Insecure: true}, "id", where{Zone: "z"})
	want := clusterv1alpha1.ClusterSpec{
		ID: "id", SyncMode: clusterv1alpha1.Push, APIEndpoint: "https://m1", ProxyURL: "http://proxy", InsecureSkipTLSVerification: true,
		SecretRef:             &clusterv1alpha1.LocalSecretReference{Namespace: "karmada-cluster", Name: "m1"},
		ImpersonatorSecretRef: &clusterv1alpha1.LocalSecretReference{Namespace: "karmada-cluster", Name: "m1-impersonator"},
		// The newer field takes the place of the older, and what is said of nothing stays.
		Zones: []string{"z"}, Taints: []corev1.Taint{taint},
	}
	if diff := cmp.Diff(want, karmada.Spec); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestUnfitCredentials(t *testing.T) {
	for _, c := range []struct {
		reason string
		to     connection.Connection
		how    v1alpha1.JoinCredentials
		fits   bool
	}{
		{"a token", connection.Connection{Token: "t"}, v1alpha1.JoinWithGiven, true},
		{"a certificate makes a service account", connection.Connection{CertData: []byte("c")}, v1alpha1.JoinWithServiceAccount, true},
		{"a certificate is no token", connection.Connection{CertData: []byte("c")}, v1alpha1.JoinWithGiven, false},
		{"Karmada cannot check another name", connection.Connection{Token: "t", ServerName: "x"}, v1alpha1.JoinWithServiceAccount, false},
	} {
		if got := unfit(c.to, c.how); (got == "") != c.fits {
			t.Errorf("%s: %q", c.reason, got)
		}
	}
}

func TestFaultsInWords(t *testing.T) {
	resource := schema.GroupResource{Resource: "serviceaccounts"}
	refused := &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	terminating := apierrors.NewForbidden(resource, "x", errors.New("it is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: "NamespaceTerminating"}}
	for _, c := range []struct {
		why       string
		place     place
		err       error
		reason    string
		says      string
		transient bool
	}{
		{"the cluster is down", inMember, refused, v1alpha1.ReasonUnreachable, "does not answer within 1s", false},
		{"the instance is down", inInstance, refused, v1alpha1.ReasonInstanceUnreachable, "does not answer within 1s", false},
		{"the credentials are over", inMember, apierrors.NewUnauthorized("no"), v1alpha1.ReasonUnreachable, "does not accept the credentials", false},
		{"they may not do it", inMember, apierrors.NewForbidden(resource, "x", errors.New("no")), v1alpha1.ReasonNotAllowed, "cluster-admin", false},
		{"admission does not want it", inInstance, apierrors.NewBadRequest("no"), v1alpha1.ReasonRejected, "make it", false},
		{"another client was faster", inInstance, apierrors.NewConflict(resource, "x", errors.New("moved")), v1alpha1.ReasonJoining, "busy", true},
		{"the namespace is on its way out", inMember, terminating, v1alpha1.ReasonJoining, "busy", true},
		{"it has troubles of its own", inInstance, apierrors.NewInternalError(errors.New("etcd")), v1alpha1.ReasonInstanceUnreachable, "HTTP 500", false},
	} {
		f := &requestError{place: c.place, endpoint: "https://x", timeout: time.Second, doing: "make it", err: c.err}
		got := f.condition()
		if got.Reason != c.reason || !strings.Contains(got.Message, c.says) || f.transient() != c.transient {
			t.Errorf("%s: %s: %s (transient %v), want %s with %q", c.why, got.Reason, got.Message, f.transient(), c.reason, c.says)
		}
	}
}
