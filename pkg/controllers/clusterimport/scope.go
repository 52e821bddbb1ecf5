package clusterimport

import (
	"context"
	"fmt"
	"slices"
	"strings"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/internal/excerpt"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/connection"
	"github.com/kairship-io/kairship/pkg/controllers/internal/status"
)

// scope is the state that the phases of one reconciliation share.
type scope struct {
	cluster     *v1alpha1.Cluster
	ownerLabels ownerLabels
	// membership is the record to store; nil for a free cluster.
	membership *v1alpha1.ClusterMembership
	// stored is the part of the stored status that this controller owns.
	stored v1alpha1.ClusterStatus

	// instance is the Instance that the cluster is joined to or removed from, and control its
	// client; both nil when it no longer exists, and control also when it has no credentials.
	instance *v1alpha1.Instance
	control  *remote
	// to is how the cluster is reached, and member its client.
	to     connection.Connection
	member *remote

	// systemID is the UID of the member's namespace kube-system; set by identify.
	systemID string
	// karmada is Karmada's object for the cluster; nil when there is none of ours.
	karmada *clusterv1alpha1.Cluster
	// given is what the instance is to have; set by prepare.
	given handover

	// hasLeft reports whether the cluster was just removed from an instance.
	hasLeft bool
	// left describes the objects that could not be removed, and leftWorks those of Works, which may
	// be many.
	left, leftWorks []string
	// joined is the condition to write; nil keeps the stored one.
	joined *metav1.Condition
	// released means that the Cluster has been released: there is nothing to write to.
	released bool
	// outdated means that the stored record is not the one that this reconciliation began with: it
	// may write nothing any more.
	outdated bool
}

// handover holds the credentials with which an instance reaches a member.
type handover struct {
	token, impersonator, ca []byte
}

func newScope(cluster *v1alpha1.Cluster, global string) *scope {
	s := &scope{
		cluster:     cluster,
		ownerLabels: ownerLabels{cluster: cluster.Name, uid: string(cluster.UID), global: global},
		membership:  cluster.Status.Membership.DeepCopy(),
	}
	s.stored = v1alpha1.ClusterStatus{
		Conditions: status.Pick(cluster.Status.Conditions, v1alpha1.ConditionJoined),
		Membership: cluster.Status.Membership.DeepCopy(),
	}
	if s.membership != nil {
		s.ownerLabels.instance, s.ownerLabels.membership = s.membership.Instance, string(s.membership.UID)
	}
	return s
}

// wants returns the instance that the cluster is to be joined to; empty for none.
func (s *scope) wants() string { return s.cluster.Wants() }

// deleting reports whether the Cluster is being deleted.
func (s *scope) deleting() bool { return !s.cluster.DeletionTimestamp.IsZero() }

// mustLeave reports whether the cluster is recorded in another instance than the wanted one, or its
// removal has begun, which is always completed.
func (s *scope) mustLeave() bool {
	return s.membership != nil && (s.membership.Instance != s.wants() || s.membership.LeavingSince != nil)
}

// isOurs reports whether Karmada's object was made for this Cluster: by its labels,
// or by the record when those were removed.
func (s *scope) isOurs(karmada *clusterv1alpha1.Cluster) bool {
	return s.ownerLabels.of(karmada) == ownedByUs || s.membership != nil && s.membership.MemberUID != "" && s.membership.MemberUID == karmada.UID
}

// upToDate reports whether the cluster was joined with its present spec, so that a short outage of
// the other side does not change the condition.
func (s *scope) upToDate() bool {
	was := meta.FindStatusCondition(s.stored.Conditions, v1alpha1.ConditionJoined)
	return was != nil && was.Status == metav1.ConditionTrue && was.ObservedGeneration == s.cluster.Generation && !s.mustLeave()
}

// leftBehindf records that something could not be removed.
func (s *scope) leftBehindf(format string, args ...any) {
	s.left = append(s.left, fmt.Sprintf(format, args...))
}

// leftWorkBehind records that the objects of a Work in the cluster could not be removed.
func (s *scope) leftWorkBehind(name, why string) {
	s.leftWorks = append(s.leftWorks, fmt.Sprintf("in the cluster what Karmada had propagated to it by Work %q (%s)", name, why))
}

const (
	leftBehind = " Left behind: "
	// mostLeft is how many characters name what was left behind: Kubernetes takes no
	// event with more than 1024, and the names around them are long at worst.
	mostLeft = 600
)

// behind says what was left behind, as much of it as fits; empty when nothing was.
func (s *scope) behind() string {
	all := slices.Concat(s.left, s.leftWorks)
	if len(all) == 0 {
		return ""
	}
	text := excerpt.Of(all[0], mostOfOthers)
	for i, what := range all[1:] {
		next := "; " + excerpt.Of(what, mostOfOthers)
		if len(text)+len(next) > mostLeft {
			text += fmt.Sprintf("; and %d more", len(all)-1-i)
			break
		}
		text += next
	}
	return leftBehind + text + "."
}

// wasLeftBehind reports whether the condition reports about something that it could not be
// removed.
func (s *scope) wasLeftBehind() bool {
	was := meta.FindStatusCondition(s.stored.Conditions, v1alpha1.ConditionJoined)
	return was != nil && was.Reason == v1alpha1.ReasonFree && strings.Contains(was.Message, leftBehind)
}

// save writes the record and the condition, if they changed, provided that what is
// stored is what was read.
func (s *scope) save(ctx context.Context, r *Reconciler) error {
	if s.released || s.outdated {
		return nil
	}
	next := v1alpha1.ClusterStatus{Conditions: s.stored.Conditions, Membership: s.membership.DeepCopy()}
	if s.joined != nil {
		next.Conditions = status.Conditions(s.stored.Conditions, s.cluster.Generation, *s.joined)
	}
	if err := status.Apply(ctx, r.Client, s.cluster, Name, &s.stored, &next, "membership"); err != nil {
		s.outdated = apierrors.IsConflict(err)
		return err
	}
	r.announce(s, s.stored.Conditions, next.Conditions)
	s.stored = next
	return nil
}
