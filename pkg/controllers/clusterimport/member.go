package clusterimport

import (
	"context"
	"fmt"
	"slices"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	karmadautil "github.com/karmada-io/karmada/pkg/util"
	"github.com/karmada-io/karmada/pkg/util/names"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/internal/phase"
)

// joinNamespace is where Karmada keeps what belongs to its members, in the
// instance and, because it looks for its impersonator there, in the member.
const joinNamespace = names.NamespaceKarmadaCluster

// impersonator is the service account that Karmada grants the right to
// impersonate people: the name is Karmada's.
var impersonator = names.GenerateServiceAccountName("impersonator")

// accounts are what is made in the member, in the order of making.
func accounts(cluster string) []client.Object {
	account := names.GenerateServiceAccountName(cluster)
	role := names.GenerateRoleName(account)
	system := map[string]string{karmadautil.KarmadaSystemLabel: karmadautil.KarmadaSystemLabelValue}
	within := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: joinNamespace, Name: name, Labels: system}
	}
	return []client.Object{
		&corev1.ServiceAccount{ObjectMeta: within(impersonator)},
		tokenOf(within(impersonator)),
		&corev1.ServiceAccount{ObjectMeta: within(account)},
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: role, Labels: system}, Rules: MemberRules()},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role, Labels: system},
			Subjects:   karmadautil.BuildRoleBindingSubjects(account, joinNamespace),
			RoleRef:    karmadautil.BuildClusterRoleReference(role),
		},
		tokenOf(within(account)),
	}
}

// MemberRules returns the rules of the ClusterRole with which Karmada works in a member.
func MemberRules() []rbacv1.PolicyRule { return karmadautil.ClusterPolicyRules }

// tokenOf is the Secret that the member fills with a token of the service account
// of the same name; it does not expire.
func tokenOf(meta metav1.ObjectMeta) *corev1.Secret {
	meta.Annotations = map[string]string{corev1.ServiceAccountNameKey: meta.Name}
	return &corev1.Secret{ObjectMeta: meta, Type: corev1.SecretTypeServiceAccountToken}
}

// prepare makes in the member what Karmada needs there, and reads the tokens.
func (r *Reconciler) prepare(ctx context.Context, s *scope) error {
	s.given.ca = s.to.CAData
	if s.cluster.Spec.JoinCredentials() == v1alpha1.JoinWithGiven {
		s.given.token, s.given.impersonator = []byte(s.to.Token), []byte(s.to.Token)
		if s.membership.Credentials == "" {
			s.membership.Credentials = v1alpha1.JoinWithGiven
		}
		// Objects of an earlier join stay until the cluster is removed: Karmada's controller
		// manager watches with the first token that it had until it restarts.
		return nil
	}
	if s.membership.Credentials != v1alpha1.JoinWithServiceAccount {
		// Written before, so that the next attempt knows where to clean.
		s.membership.Credentials = v1alpha1.JoinWithServiceAccount
		if err := s.save(ctx, r); err != nil {
			return err
		}
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: joinNamespace, Labels: map[string]string{karmadautil.KarmadaSystemLabel: karmadautil.KarmadaSystemLabelValue},
	}}
	if err := r.ensureNamespace(ctx, s, s.member, namespace); err != nil {
		return err
	}
	for _, wanted := range accounts(s.cluster.Name) {
		stored, err := r.ensure(ctx, s, s.member, wanted, adjustAccount)
		if err != nil {
			return err
		}
		secret, is := stored.(*corev1.Secret)
		if !is {
			continue
		}
		token := secret.Data[corev1.ServiceAccountTokenKey]
		if len(token) == 0 {
			return &phase.Stop{Retry: r.pauses.busy(s.cluster.Name), Condition: v1alpha1.NotJoined(v1alpha1.ReasonJoining, fmt.Sprintf(
				"The cluster has not issued the token of service account %s/%s yet. Its kube-controller-manager does that: is it running?", joinNamespace, secret.Name))}
		}
		if secret.Name == impersonator {
			s.given.impersonator = token
		} else {
			s.given.token = token
		}
	}
	return nil
}

// adjustAccount restores what a user changed in the member, except what Karmada does not need.
func adjustAccount(stored, wanted client.Object) {
	switch stored := stored.(type) {
	case *rbacv1.ClusterRole:
		stored.Rules = wanted.(*rbacv1.ClusterRole).Rules //nolint:forcetypeassert // Both are of one kind.
	case *rbacv1.ClusterRoleBinding:
		stored.Subjects = wanted.(*rbacv1.ClusterRoleBinding).Subjects //nolint:forcetypeassert // Both are of one kind.
	}
}

// ensureNamespace creates a namespace, or uses the existing one regardless of its owner.
func (r *Reconciler) ensureNamespace(ctx context.Context, s *scope, in *remote, wanted *corev1.Namespace) error {
	stored := &corev1.Namespace{}
	err := in.Get(ctx, client.ObjectKeyFromObject(wanted), stored)
	switch {
	case err == nil && !stored.DeletionTimestamp.IsZero():
		return r.onItsWayOut(s, in, stored)
	case err == nil && s.ownerLabels.of(stored) == ownedByOthers:
		return nil
	case client.IgnoreNotFound(err) != nil:
		return r.failed(in, err, "read namespace %q", wanted.Name)
	}
	_, err = r.ensure(ctx, s, in, wanted, func(client.Object, client.Object) {})
	return err
}

// cleanMember deletes from the member the objects that were created there for this cluster, and no
// others. It returns a Stop while one of them still exists.
func (r *Reconciler) cleanMember(ctx context.Context, s *scope) error {
	made := accounts(s.cluster.Name)
	slices.Reverse(made)
	for _, object := range made {
		if err := r.remove(ctx, s, s.member, object); err != nil {
			return err
		}
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: joinNamespace}}
	err := s.member.Get(ctx, client.ObjectKeyFromObject(namespace), namespace)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return r.failed(s.member, err, "read namespace %q", joinNamespace)
	case s.ownerLabels.of(namespace) != ownedByUs:
		return nil
	}
	if namespace.DeletionTimestamp.IsZero() {
		used, err := r.used(ctx, s)
		if err != nil {
			return err
		}
		if used {
			s.leftBehindf("namespace %q in the cluster, because it contains objects of other owners", joinNamespace)
			return nil
		}
		if err := r.remove(ctx, s, s.member, namespace); err != nil {
			return err
		}
	}
	return &phase.Stop{Retry: r.pauses.busy(s.cluster.Name), Condition: v1alpha1.NotJoined(v1alpha1.ReasonLeaving,
		fmt.Sprintf("The cluster is removing namespace %q. Its kube-controller-manager does that: is it running?", joinNamespace))}
}

// used reports whether another client has something in our namespace. Kubernetes
// itself puts the account default and the ConfigMap kube-root-ca.crt into each.
func (r *Reconciler) used(ctx context.Context, s *scope) (bool, error) {
	for _, list := range []client.ObjectList{&corev1.ServiceAccountList{}, &corev1.SecretList{}, &corev1.ConfigMapList{}} {
		if err := s.member.List(ctx, list, client.InNamespace(joinNamespace)); err != nil {
			return false, r.failed(s.member, err, "list what is in namespace %q", joinNamespace)
		}
		var foreignCount int
		switch list := list.(type) {
		case *corev1.ServiceAccountList:
			for i := range list.Items {
				if list.Items[i].Name != "default" && s.ownerLabels.of(&list.Items[i]) != ownedByUs {
					foreignCount++
				}
			}
		case *corev1.SecretList:
			for i := range list.Items {
				if account := list.Items[i].Annotations[corev1.ServiceAccountNameKey]; account != "default" && s.ownerLabels.of(&list.Items[i]) != ownedByUs {
					foreignCount++
				}
			}
		case *corev1.ConfigMapList:
			for i := range list.Items {
				if list.Items[i].Name != "kube-root-ca.crt" {
					foreignCount++
				}
			}
		}
		if foreignCount > 0 {
			return true, nil
		}
	}
	return false, nil
}

// secretsFor are the two Secrets of a member in its instance.
func secretsFor(cluster string, given handover) []*corev1.Secret {
	secret := func(name string, token []byte) *corev1.Secret {
		return &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: joinNamespace, Name: name,
				Labels: map[string]string{karmadautil.KarmadaSystemLabel: karmadautil.KarmadaSystemLabelValue},
			},
			Data: map[string][]byte{
				clusterv1alpha1.SecretTokenKey: token,
				// Karmada wants the key in any case; the host's trust store counts when it is empty.
				clusterv1alpha1.SecretCADataKey: slices.Concat([]byte{}, given.ca),
			},
		}
	}
	return []*corev1.Secret{secret(cluster, given.token), secret(names.GenerateImpersonationSecretName(cluster), given.impersonator)}
}
