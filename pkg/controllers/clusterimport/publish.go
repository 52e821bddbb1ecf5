package clusterimport

import (
	"context"
	"encoding/json"
	"fmt"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	karmadautil "github.com/karmada-io/karmada/pkg/util"
	"github.com/karmada-io/karmada/pkg/util/names"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/connection"
	"github.com/kairship-io/kairship/pkg/controllers/internal/phase"
	"github.com/kairship-io/kairship/pkg/projection"
)

// Labels of Karmada's object that policies can select members by, beside its
// fields.
const (
	providerLabel = v1alpha1.GroupName + "/provider"
	regionLabel   = "topology.kubernetes.io/region"
	zoneLabel     = "topology.kubernetes.io/zone"
)

// whereAnnotation remembers on Karmada's object which provider, region and zone it
// was given last. They are given again only when the inventory's change: what
// a user set in the instance meanwhile stays.
const whereAnnotation = v1alpha1.GroupName + "/applied-topology"

// where is a cluster's place in the world.
type where struct {
	Provider string `json:"provider,omitempty"`
	Region   string `json:"region,omitempty"`
	Zone     string `json:"zone,omitempty"`
}

func whereIs(spec *v1alpha1.ClusterSpec) where {
	return where{Provider: spec.Provider, Region: spec.Region, Zone: spec.Zone}
}

// put gives a place to Karmada's object, unless it was given this very one before.
func (w where) put(karmada *clusterv1alpha1.Cluster) {
	text, err := json.Marshal(w)
	if err != nil {
		panic(err) // Three strings.
	}
	if karmada.Annotations[whereAnnotation] == string(text) {
		return
	}
	if karmada.Annotations == nil {
		karmada.Annotations = map[string]string{}
	}
	karmada.Annotations[whereAnnotation] = string(text)
	karmada.Spec.Provider, karmada.Spec.Region = w.Provider, w.Region
	karmada.Spec.Zone, karmada.Spec.Zones = "", nil // The older field and the newer exclude each other.
	if w.Zone != "" {
		karmada.Spec.Zones = []string{w.Zone}
	}
	if karmada.Labels == nil {
		karmada.Labels = map[string]string{}
	}
	for label, value := range map[string]string{providerLabel: w.Provider, regionLabel: w.Region, zoneLabel: w.Zone} {
		delete(karmada.Labels, label)
		if value != "" {
			karmada.Labels[label] = value
		}
	}
}

// shape sets the fields of Karmada's object that the inventory decides, and keeps the others, such
// as taints.
func shape(karmada *clusterv1alpha1.Cluster, to connection.Connection, id string, place where) {
	spec := &karmada.Spec
	spec.ID = id
	spec.SyncMode = clusterv1alpha1.Push
	spec.APIEndpoint = to.Endpoint
	spec.ProxyURL = to.ProxyURL
	spec.InsecureSkipTLSVerification = to.Insecure
	spec.SecretRef = &clusterv1alpha1.LocalSecretReference{Namespace: joinNamespace, Name: karmada.Name}
	spec.ImpersonatorSecretRef = impersonatorRef(karmada.Name)
	place.put(karmada)
}

// impersonatorRef names the Secret with which Karmada asks the member as a person.
func impersonatorRef(name string) *clusterv1alpha1.LocalSecretReference {
	return &clusterv1alpha1.LocalSecretReference{Namespace: joinNamespace, Name: names.GenerateImpersonationSecretName(name)}
}

// lookInInstance reads what the instance has under the cluster's name. What is not
// ours ends the join.
func (r *Reconciler) lookInInstance(ctx context.Context, s *scope) error {
	karmada := &clusterv1alpha1.Cluster{}
	err := s.control.Get(ctx, client.ObjectKey{Name: s.cluster.Name}, karmada)
	switch {
	case apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
	case err != nil:
		return r.failed(s.control, err, "read Cluster %q", s.cluster.Name)
	case !karmada.DeletionTimestamp.IsZero():
		if s.ownerLabels.of(karmada) != ownedByOthers {
			if err := r.remind(ctx, s.control, karmada); err != nil {
				return err
			}
		}
		return &phase.Stop{Retry: r.pauses.busy(s.cluster.Name), Condition: v1alpha1.NotJoined(v1alpha1.ReasonJoining, fmt.Sprintf(
			"Karmada is removing the former member %q. The cluster is joined when it is gone.", s.cluster.Name))}
	case s.isOurs(karmada):
		s.karmada = karmada
	default:
		if err := r.takeOver(ctx, s, s.control, karmada); err != nil {
			return err
		}
		s.karmada = karmada
	}
	switch {
	case s.membership == nil:
		return nil
	case s.karmada != nil:
		s.membership.InstanceUID = s.instance.UID // It may have been registered again.
		return nil
	case s.membership.InstanceUID != "" && s.membership.InstanceUID != s.instance.UID:
		// Another control plane took the name.
		s.leftBehindf("everything in the control plane that was Instance %q before", s.membership.Instance)
	case s.membership.MemberUID == "":
		return nil // It was not made yet.
	}
	return r.forsake(ctx, s)
}

// publishSecrets gives the instance the tokens and the CA.
func (r *Reconciler) publishSecrets(ctx context.Context, s *scope) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: joinNamespace, Labels: map[string]string{karmadautil.KarmadaSystemLabel: karmadautil.KarmadaSystemLabelValue},
	}}
	// All members share it, so it belongs to none, and stays.
	if err := s.control.Get(ctx, client.ObjectKeyFromObject(namespace), &corev1.Namespace{}); apierrors.IsNotFound(err) {
		if err := r.verify(ctx, s); err != nil {
			return err
		}
		if err := s.control.Create(ctx, namespace, client.FieldOwner(Name)); err != nil {
			return r.failed(s.control, err, "create namespace %q", joinNamespace)
		}
	} else if err != nil {
		return r.failed(s.control, err, "read namespace %q", joinNamespace)
	}
	rotated := false
	for _, wanted := range secretsFor(s.cluster.Name, s.given) {
		_, err := r.ensure(ctx, s, s.control, wanted, func(stored, wanted client.Object) {
			was, is := stored.(*corev1.Secret), wanted.(*corev1.Secret) //nolint:forcetypeassert // Both are Secrets.
			rotated = rotated || !equality.Semantic.DeepEqual(was.Data, is.Data)
			was.Data = is.Data
		})
		if err != nil {
			return err
		}
	}
	if rotated {
		r.notef(s, "MemberCredentialsChanged",
			"Gave instance %q the new credentials. Its karmada-controller-manager goes on watching with the former ones: restart it before you revoke them", s.membership.Instance)
	}
	return nil
}

// publish creates Karmada's object, or updates it. A new one is first reserved and recorded. The
// credentials follow by an update of an object that a removal would have deleted or changed, and
// that the API server then refuses.
func (r *Reconciler) publish(ctx context.Context, s *scope) error {
	if s.karmada == nil {
		if err := r.reserve(ctx, s); err != nil {
			return err
		}
	}
	if s.membership.MemberUID != s.karmada.UID {
		s.membership.MemberUID = s.karmada.UID
		if err := s.save(ctx, r); err != nil {
			return err
		}
	}
	return r.admit(ctx, s)
}

// reserve creates Karmada's object without the Secret to reach the cluster with. Karmada ignores
// such a member, so that it gets no workloads. A creation cannot have a precondition, so this one
// may come late, from a process that was frozen. The impersonator's Secret is set from the start:
// Karmada reads it only when the object is created, to let users reach the member.
func (r *Reconciler) reserve(ctx context.Context, s *scope) error {
	created := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: s.cluster.Name}}
	s.ownerLabels.put(created)
	created.Spec.ID, created.Spec.SyncMode, created.Spec.APIEndpoint = s.systemID, clusterv1alpha1.Push, s.to.Endpoint
	created.Spec.ImpersonatorSecretRef = impersonatorRef(s.cluster.Name)
	if err := r.verify(ctx, s); err != nil {
		return err
	}
	if err := s.control.Create(ctx, created, client.FieldOwner(Name)); err != nil {
		return r.failed(s.control, err, "create Cluster %q", s.cluster.Name)
	}
	r.recordMember(s.instance, projection.ActivityCreate, created)
	s.karmada = created
	return nil
}

// isReserved reports whether Karmada was not let into the cluster yet: see reserve.
func isReserved(karmada *clusterv1alpha1.Cluster) bool { return karmada.Spec.SecretRef == nil }

// admitAttempts is how often the change of Karmada's object is tried at once: Karmada
// adds its finalizer to a new one at the same moment.
const admitAttempts = 5

// admit brings Karmada's object up to date, with which Karmada is let into the cluster.
func (r *Reconciler) admit(ctx context.Context, s *scope) error {
	place := whereIs(&s.cluster.Spec)
	for attempt := 1; ; attempt++ {
		updated := s.karmada.DeepCopy()
		s.ownerLabels.put(updated)
		shape(updated, s.to, s.systemID, place)
		if !isReserved(s.karmada) && karmadautil.ClusterAccessCredentialChanged(updated.Spec, s.karmada.Spec) {
			r.notef(s, "MemberMoved",
				"Told instance %q of the new endpoint or proxy. Its karmada-controller-manager goes on watching at the former one: restart it before that goes away", s.membership.Instance)
		}
		err := r.patch(ctx, s, updated)
		if !apierrors.IsConflict(err) || attempt == admitAttempts {
			return err
		}
		now := &clusterv1alpha1.Cluster{}
		if err := s.control.Get(ctx, client.ObjectKeyFromObject(updated), now); err != nil {
			return r.failed(s.control, err, "read Cluster %q", updated.Name)
		}
		if now.UID != s.karmada.UID || !now.DeletionTimestamp.IsZero() {
			return err
		}
		s.karmada = now
	}
}

func (r *Reconciler) patch(ctx context.Context, s *scope, updated *clusterv1alpha1.Cluster) error {
	patch := client.MergeFromWithOptions(s.karmada, client.MergeFromWithOptimisticLock{})
	if equality.Semantic.DeepEqual(s.karmada, updated) {
		return nil
	}
	if err := r.verify(ctx, s); err != nil {
		return err
	}
	if err := s.control.Patch(ctx, updated, patch, client.FieldOwner(Name)); err != nil {
		return r.failed(s.control, err, "change Cluster %q", updated.Name)
	}
	if !isReserved(s.karmada) { // That one was recorded when it was reserved.
		r.recordMember(s.instance, projection.ActivityPatch, updated)
	}
	s.karmada = updated
	return nil
}

// readiness is what Karmada reports about reaching the member; nil when it said nothing.
func readiness(karmada *clusterv1alpha1.Cluster) *metav1.Condition {
	return meta.FindStatusCondition(karmada.Status.Conditions, clusterv1alpha1.ClusterConditionReady)
}
