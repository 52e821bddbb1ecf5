package clusterimport

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/excerpt"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/connection"
	"github.com/kairship-io/kairship/pkg/controllers/internal/finalizer"
	"github.com/kairship-io/kairship/pkg/controllers/internal/phase"
)

// findInstance reads the Instance that the cluster is to be joined to. Without it nothing is
// changed: a control plane that is no longer registered keeps its members.
func (r *Reconciler) findInstance(ctx context.Context, s *scope) error {
	instance, err := r.readInstance(ctx, s.wants())
	switch {
	case err != nil:
		return err
	case instance == nil && s.membership != nil:
		return &phase.Stop{Condition: v1alpha1.NotJoined(v1alpha1.ReasonNoInstance, fmt.Sprintf(
			"Instance %q is not registered any more. What was made in it and in the cluster stays, and is taken up again with an Instance of this name; clear spec.instanceRef to have the cluster cleaned.", s.wants()))}
	case instance == nil:
		return &phase.Stop{Condition: v1alpha1.NotJoined(v1alpha1.ReasonNoInstance,
			fmt.Sprintf("There is no Instance %q. The cluster is joined once there is one.", s.wants()))}
	case !instance.DeletionTimestamp.IsZero() && s.membership == nil:
		return &phase.Stop{Condition: v1alpha1.NotJoined(v1alpha1.ReasonInstanceDeleting,
			fmt.Sprintf("Instance %q is being deleted: nothing is joined to it.", s.wants()))}
	}
	s.instance = instance
	s.ownerLabels.instance = instance.Name
	return nil
}

// readInstance reads an Instance; nil when there is none.
func (r *Reconciler) readInstance(ctx context.Context, name string) (*v1alpha1.Instance, error) {
	instance := &v1alpha1.Instance{}
	err := r.Client.Get(ctx, client.ObjectKey{Name: name}, instance)
	if apierrors.IsNotFound(err) {
		// A cache that has not seen it yet must not have a member forgotten.
		err = r.Live.Get(ctx, client.ObjectKey{Name: name}, instance)
	}
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // None is an answer here, not an error.
	}
	if err != nil {
		return nil, fmt.Errorf("read instance %q: %w", name, err)
	}
	return instance, nil
}

// connectInstance reads the credentials of the instance.
func (r *Reconciler) connectInstance(ctx context.Context, s *scope) error {
	to, err := r.Credentials.OfInstance(ctx, s.instance)
	switch {
	case errors.Is(err, connection.ErrMissing), errors.Is(err, connection.ErrInvalid):
		return s.wait(v1alpha1.ReasonInstanceUnreachable, fmt.Sprintf("Instance %q cannot be reached: %v", s.instance.Name, err))
	case err != nil:
		return fmt.Errorf("connect to instance %q: %w", s.instance.Name, err)
	}
	s.control, err = r.reach(inInstance, s.instance.Name, to)
	return err
}

// connectMember reads the credentials of the cluster.
func (r *Reconciler) connectMember(ctx context.Context, s *scope) error {
	to, err := r.Credentials.OfCluster(ctx, s.cluster)
	switch {
	case errors.Is(err, connection.ErrMissing):
		return s.wait(v1alpha1.ReasonCredentialsMissing, err.Error())
	case errors.Is(err, connection.ErrInvalid):
		return s.wait(v1alpha1.ReasonCredentialsInvalid, err.Error())
	case err != nil:
		return fmt.Errorf("connect to cluster %q: %w", s.cluster.Name, err)
	}
	if problem := unfit(to, s.cluster.Spec.JoinCredentials()); problem != "" {
		return &phase.Stop{Condition: v1alpha1.NotJoined(v1alpha1.ReasonCredentialsInvalid, problem)}
	}
	s.to = to
	s.member, err = r.reach(inMember, s.cluster.Name, to)
	return err
}

// wait stops until a user provides something. It keeps the condition of a cluster that was joined
// with its present spec: the instance has what it needs.
func (s *scope) wait(reason, message string) error {
	if s.upToDate() {
		return &phase.Stop{}
	}
	return &phase.Stop{Condition: v1alpha1.NotJoined(reason, message)}
}

// unfit says why Karmada could not reach the cluster with what there is; empty
// when it can. Karmada knows a token, a CA and a proxy, and nothing else.
func unfit(to connection.Connection, credentials v1alpha1.JoinCredentials) string {
	switch {
	case to.ServerName != "":
		return "The kubeconfig has a tls-server-name, which Karmada knows nothing of: the serving certificate has to fit the host of apiEndpoint."
	case credentials == v1alpha1.JoinWithGiven && to.Token == "":
		return "Karmada takes no client certificates: put a token into the Secret, or set spec.join.credentials to ServiceAccount."
	}
	return ""
}

// identify asks the cluster which one it is: nothing is made in another one than was
// registered, and no instance is given its address.
func (r *Reconciler) identify(ctx context.Context, s *scope) error {
	id, err := r.systemIDOf(ctx, s.member)
	if err != nil {
		return err
	}
	s.systemID = id
	switch pinned := s.cluster.Status.KubeSystemID; {
	case pinned == "":
		return &phase.Stop{Retry: r.pauses.busy(s.cluster.Name), Condition: v1alpha1.NotJoined(v1alpha1.ReasonJoining,
			"It is not known yet which cluster it is, see condition Identified.")}
	case pinned != id:
		return &phase.Stop{Retry: r.pauses.next(s.cluster.Name), Condition: v1alpha1.NotJoined(v1alpha1.ReasonOtherCluster, fmt.Sprintf(
			"%s is another cluster (%s) than the one that was registered (%s), so it is not joined, see condition Identified.", s.to.Endpoint, id, pinned))}
	}
	if s.membership != nil && s.membership.KubeSystemID == "" {
		s.membership.KubeSystemID = s.systemID
	}
	if s.membership != nil && s.membership.KubeSystemID != "" && s.membership.KubeSystemID != s.systemID {
		return &phase.Stop{Condition: v1alpha1.NotJoined(v1alpha1.ReasonOtherCluster, fmt.Sprintf(
			"%s is another cluster (%s) than the one that was joined (%s), so the instance is not told of it. Correct the endpoint; or have the former one leave by clearing spec.instanceRef, and set it again.",
			s.to.Endpoint, s.systemID, s.membership.KubeSystemID))}
	}
	return nil
}

// systemIDOf returns the UID of the namespace kube-system, which identifies a cluster.
func (r *Reconciler) systemIDOf(ctx context.Context, member *remote) (string, error) {
	system := &corev1.Namespace{}
	if err := member.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, system); err != nil {
		return "", r.failed(member, err, "read namespace kube-system")
	}
	return string(system.UID), nil
}

// claim makes sure that the cluster is in no other instance, and writes down that it is
// becoming a member, before anything is made elsewhere. One Cluster at a time does so
// in this process. Two processes may claim the same cluster for two Clusters at the
// same moment: so each looks again after it has claimed, when at least one of them
// sees the other.
func (r *Reconciler) claim(ctx context.Context, s *scope) error {
	switch {
	case s.membership != nil && s.karmada != nil && !isReserved(s.karmada):
		return nil
	case s.membership != nil:
		return r.yield(ctx, s)
	}
	r.claims.Lock()
	defer r.claims.Unlock()
	other, err := r.twin(ctx, s)
	switch {
	case err != nil:
		return err
	case other != nil:
		return s.isTwinOf(other)
	}
	known, err := r.discovered(ctx)
	if err != nil {
		return err
	}
	if !known {
		return &phase.Stop{Retry: whileBusy, Condition: v1alpha1.NotJoined(v1alpha1.ReasonJoining, "Kairship is finding out what members the instances have.")}
	}
	if err := r.recover(ctx, s); err != nil {
		return err
	}
	if s.membership != nil {
		return &phase.Stop{Retry: whileBusy} // It is a member already, and its record was lost.
	}
	if found := r.memberCache.joinedByOthers(s.ownerLabels, s.cluster.Name, s.systemID); found != nil {
		return &phase.Stop{Retry: whileElsewhere, Condition: found.condition(s.wants())}
	}
	if err := r.hold(ctx, s); err != nil {
		return err
	}
	s.membership = &v1alpha1.ClusterMembership{
		Instance: s.instance.Name, UID: uuid.NewUUID(), InstanceUID: s.instance.UID, KubeSystemID: s.systemID,
	}
	s.ownerLabels.membership = string(s.membership.UID)
	joining := v1alpha1.NotJoined(v1alpha1.ReasonJoining, fmt.Sprintf("The cluster is being joined to instance %q.", s.instance.Name))
	s.joined = &joining
	r.clocks.begin(s.cluster.Name, "join")
	r.notef(s, "Joining", "The cluster begins to join instance %q", s.instance.Name)
	if err := s.save(ctx, r); err != nil {
		return err
	}
	return r.yield(ctx, s)
}

// yield ends the join of a cluster that another Cluster has claimed too. Of two that claim it at
// the same moment the one with the lower name waits, and the other is removed; the first is removed
// as well when the other has its object in an instance already.
func (r *Reconciler) yield(ctx context.Context, s *scope) error {
	other, err := r.twin(ctx, s)
	if err != nil || other == nil {
		return err
	}
	if s.cluster.Name < other.Name && other.Status.Membership.MemberUID == "" {
		return &phase.Stop{Retry: r.pauses.busy(s.cluster.Name), Condition: s.isTwinOf(other).Condition}
	}
	if err := r.beginToLeave(ctx, s); err != nil {
		return err
	}
	return &phase.Stop{Retry: whileBusy, Condition: s.isTwinOf(other).Condition}
}

// twin is another Cluster that is a member of an instance, or becomes one, and the same
// cluster; nil when there is none.
func (r *Reconciler) twin(ctx context.Context, s *scope) (*v1alpha1.Cluster, error) {
	others := &v1alpha1.ClusterList{}
	if err := r.Live.List(ctx, others); err != nil {
		return nil, fmt.Errorf("list clusters: %w", err)
	}
	for i := range others.Items {
		other := &others.Items[i]
		if other.Name != s.cluster.Name && other.Status.Membership != nil && other.Status.Membership.KubeSystemID == s.systemID {
			return other, nil
		}
	}
	return nil, nil //nolint:nilnil // None is an answer here, not an error.
}

func (s *scope) isTwinOf(other *v1alpha1.Cluster) *phase.Stop {
	return &phase.Stop{Retry: whileElsewhere, Condition: v1alpha1.NotJoined(v1alpha1.ReasonJoinedElsewhere, fmt.Sprintf(
		"It is the same cluster as %q (namespace kube-system has UID %s), which is a member of instance %q. A cluster is a member of one instance at most.",
		other.Name, s.systemID, other.Status.Membership.Instance))}
}

// holdMember holds a Cluster that is recorded as a member, should its finalizer have
// been taken off.
func (r *Reconciler) holdMember(ctx context.Context, s *scope) error {
	if s.membership == nil {
		return nil
	}
	return r.hold(ctx, s)
}

// hold keeps the Cluster from vanishing before what is made for it.
func (r *Reconciler) hold(ctx context.Context, s *scope) error {
	held := s.cluster.DeepCopy()
	if err := finalizer.Hold(ctx, r.Client, held, v1alpha1.ClusterImportFinalizer); err != nil {
		return err
	}
	s.cluster = held
	return nil
}

// confirm reports that the cluster is a member, once Karmada has reached it. That it
// is not reached later says nothing about the join.
func (r *Reconciler) confirm(_ context.Context, s *scope) error {
	ready := readiness(s.karmada)
	how := "with a service account of its own"
	if s.cluster.Spec.JoinCredentials() == v1alpha1.JoinWithGiven {
		how = "with the credentials of the inventory"
	}
	switch {
	case ready == nil || ready.Status != metav1.ConditionTrue && !s.upToDate():
		said := "It has not looked yet."
		if ready != nil && ready.Message != "" {
			said = "It says: " + ready.Message
		}
		return &phase.Stop{Retry: r.clocks.pause(s.cluster.Name, "join"), Condition: v1alpha1.NotJoined(v1alpha1.ReasonJoining,
			fmt.Sprintf("Everything is in place; Karmada has not reached the cluster. %s", excerpt.Of(said, mostOfOthers)))}
	default:
		joined := v1alpha1.Joined(fmt.Sprintf("The cluster is a member of instance %q, which reaches it %s.", s.membership.Instance, how))
		s.joined = &joined
	}
	r.ended(s.cluster.Name, "join")
	r.pauses.forget(s.cluster.Name)
	return &phase.Stop{Retry: r.again()}
}

// mostOfOthers is how much of what others say a condition has, in characters.
const mostOfOthers = 300
