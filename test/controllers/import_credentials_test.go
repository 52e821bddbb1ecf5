package controllers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// karmadaNotices is longer than Karmada takes to notice that it does not reach a
// member: two of its looks, and the threshold of the fleet.
const karmadaNotices = 15 * time.Second

// TestRotatedCredentials gives the inventory other credentials for m3 and revokes
// the former ones. Karmada reaches m3 all the time, whichever it was given.
func TestRotatedCredentials(t *testing.T) {
	for _, how := range []v1alpha1.JoinCredentials{v1alpha1.JoinWithServiceAccount, v1alpha1.JoinWithGiven} {
		t.Run(string(how), func(t *testing.T) {
			s := openImports(t)
			s.restoreM3()
			s.edit("m3", func(spec *v1alpha1.ClusterSpec) { spec.Join = &v1alpha1.ClusterJoin{Credentials: how} })
			s.becomes(heard, "m3", "True/Joined")
			if how == v1alpha1.JoinWithGiven {
				// In the end Karmada must not go on watching with an account of this test.
				t.Cleanup(func() { s.fleet.Restart(t, "beta-controller-manager") })
			}
			s.restoreCredentials(how)
			cluster, secret := &v1alpha1.Cluster{}, &corev1.Secret{}
			s.must(s.global.Get(t.Context(), client.ObjectKey{Name: "m3"}, cluster))
			s.must(s.global.Get(t.Context(), cluster.Spec.CredentialsSecretRef.NamespacedName(), secret))
			former := string(secret.Data[v1alpha1.TokenSecretKey])
			before, err := s.tokenIn(t.Context(), "beta", "m3")
			s.must(err)
			if given := before == former; given != (how == v1alpha1.JoinWithGiven) {
				t.Fatalf("beta has the credentials of the inventory: %v", given)
			}

			stop := s.stays("beta", "m3")
			token := s.account(importPrefix + strings.ToLower(string(how)))
			begun := time.Now()
			secret.Data[v1alpha1.TokenSecretKey] = []byte(token)
			s.must(s.global.Update(t.Context(), secret))
			if how == v1alpha1.JoinWithGiven {
				s.must(s.given(t.Context(), token))
				t.Logf("the new credentials reached beta after %s", time.Since(begun).Round(time.Millisecond))
			}
			s.revokeInventoryToken("m3", former)
			time.Sleep(karmadaNotices) // Karmada would notice now.
			stop()

			if how == v1alpha1.JoinWithGiven {
				// Karmada watches a member with the token that it had at its own start.
				s.fleet.Restart(t, "beta-controller-manager")
			}
			// Karmada still writes there, and hears what comes of it.
			s.scaled(3)
			s.scaled(2)
			if how == v1alpha1.JoinWithServiceAccount {
				if after, err := s.tokenIn(t.Context(), "beta", "m3"); err != nil || after != before {
					t.Errorf("beta has another token than before, or none: %v", err)
				}
			}
			s.becomes(heard, "m3", "True/Joined")
		})
	}
}

// restoreCredentials gives the inventory the account back that the fleet made, when
// the test ends. Where Karmada has what the inventory has, it waits until that is so,
// because who restarts Karmada next has it watch with what it has then.
func (s *imports) restoreCredentials(how v1alpha1.JoinCredentials) {
	s.Helper()
	outer := *s
	s.Cleanup(func() {
		ctx := context.Background()
		token, err := outer.tryAccount(ctx, "kairship")
		secret := &corev1.Secret{}
		if err == nil {
			err = s.global.Get(ctx, client.ObjectKey{Namespace: v1alpha1.SystemNamespace, Name: "m3-credentials"}, secret)
		}
		if err == nil {
			secret.Data[v1alpha1.TokenSecretKey] = []byte(token)
			err = s.global.Update(ctx, secret)
		}
		if err == nil && how == v1alpha1.JoinWithGiven {
			err = s.given(ctx, token)
		}
		for _, other := range []v1alpha1.JoinCredentials{v1alpha1.JoinWithServiceAccount, v1alpha1.JoinWithGiven} {
			name := importPrefix + strings.ToLower(string(other))
			for _, object := range []client.Object{
				&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}},
				&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: name}},
			} {
				err = errors.Join(err, client.IgnoreNotFound(s.at["m3"].Delete(ctx, object)))
			}
		}
		if err != nil {
			s.Errorf("restoring the credentials of m3: %v", err)
		}
	})
}

// given waits until beta has a token for m3.
func (s *imports) given(ctx context.Context, token string) error {
	if err := poll.Try(ctx, heard, func(ctx context.Context) error {
		now, err := s.tokenIn(ctx, "beta", "m3")
		if err == nil && now != token {
			err = errors.New("it has the former ones")
		}
		return err
	}); err != nil {
		return fmt.Errorf("beta has not got the new credentials: %w", err)
	}
	return nil
}

// account makes an administrator in m3 for Kairship's inventory, if there is none of
// this name, and gives its token.
func (s *imports) account(name string) string {
	s.Helper()
	token, err := s.tryAccount(s.Context(), name)
	s.must(err)
	return token
}

func (s *imports) tryAccount(ctx context.Context, name string) (string, error) {
	within := metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: name}
	secret := &corev1.Secret{ObjectMeta: within, Type: corev1.SecretTypeServiceAccountToken}
	secret.Annotations = map[string]string{corev1.ServiceAccountNameKey: name}
	for _, object := range []client.Object{
		&corev1.ServiceAccount{ObjectMeta: within},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: v1alpha1.SystemNamespace, Name: name}},
		},
		secret,
	} {
		if err := client.IgnoreAlreadyExists(s.at["m3"].Create(ctx, object)); err != nil {
			return "", err
		}
	}
	err := poll.Try(ctx, heard, func(ctx context.Context) error {
		if err := s.at["m3"].Get(ctx, client.ObjectKeyFromObject(secret), secret); err != nil {
			return err
		}
		if len(secret.Data[corev1.ServiceAccountTokenKey]) == 0 {
			return errors.New("m3 has not issued a token")
		}
		return nil
	})
	return string(secret.Data[corev1.ServiceAccountTokenKey]), err
}

// revokeInventoryToken deletes the Secret of a member that holds a token, and waits
// until it is not accepted any more.
func (s *imports) revokeInventoryToken(member, token string) {
	s.Helper()
	list := &corev1.SecretList{}
	s.must(s.at[member].List(s.Context(), list, client.InNamespace(v1alpha1.SystemNamespace)))
	for i := range list.Items {
		if string(list.Items[i].Data[corev1.ServiceAccountTokenKey]) == token {
			s.must(s.at[member].Delete(s.Context(), &list.Items[i]))
		}
	}
	config := rest.AnonymousClientConfig(s.fleet.Config(s.T, member))
	config.BearerToken = token
	former, err := client.New(config, client.Options{Scheme: s.global.Scheme(), Mapper: s.at[member].RESTMapper()})
	s.must(err)
	poll.Until(s.T, discovered, "the former token is revoked", func(ctx context.Context) error {
		if err := former.Get(ctx, client.ObjectKey{Name: "kube-system"}, &corev1.Namespace{}); err == nil {
			return errors.New("it is accepted")
		}
		return nil
	})
}

// scaled scales an application in beta, and waits until beta knows that m3 did it.
func (s *imports) scaled(replicas int32) {
	s.Helper()
	key := client.ObjectKey{Namespace: "billing", Name: "api"}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	// Not as an update: Karmada writes its status meanwhile.
	s.must(s.at["beta"].Patch(s.Context(), deployment, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas))))
	poll.Until(s.T, discovered, "the application is scaled", func(ctx context.Context) error {
		for _, where := range []string{"m3", "beta"} {
			if err := s.at[where].Get(ctx, key, deployment); err != nil {
				return err
			}
			if deployment.Status.ReadyReplicas != replicas {
				return fmt.Errorf("%s says %d replicas, want %d", where, deployment.Status.ReadyReplicas, replicas)
			}
		}
		return nil
	})
}

// TestEndpointAndProxyReachTheInstance changes how m3 is reached, and sees the
// instance told.
func TestEndpointAndProxyReachTheInstance(t *testing.T) {
	s := openImports(t)
	before := &v1alpha1.Cluster{}
	s.must(s.global.Get(t.Context(), client.ObjectKey{Name: "m3"}, before))
	t.Cleanup(func() {
		ctx := context.Background()
		if err := s.tryEdit(ctx, "m3", func(spec *v1alpha1.ClusterSpec) { *spec = *before.Spec.DeepCopy() }); err != nil {
			t.Error(err)
		}
		if err := s.tryBecomes(ctx, discovered, "m3", "True/Joined"); err != nil {
			t.Error(err)
		}
	})
	// The same server by another name, which its certificate has too.
	other := "https://localhost:" + before.Spec.APIEndpoint[len("https://127.0.0.1:"):]
	begun := time.Now()
	s.edit("m3", func(spec *v1alpha1.ClusterSpec) { spec.APIEndpoint, spec.Zone = other, "elsewhere" })
	poll.Until(t, heard, "beta knows the other endpoint", func(ctx context.Context) error {
		karmada, err := s.karmada(ctx, "beta", "m3")
		if err == nil && (karmada.Spec.APIEndpoint != other || len(karmada.Spec.Zones) != 1 || karmada.Spec.Zones[0] != "elsewhere") {
			err = fmt.Errorf("it has %s, %v", karmada.Spec.APIEndpoint, karmada.Spec.Zones)
		}
		return err
	})
	t.Logf("the endpoint reached beta after %s", time.Since(begun).Round(time.Millisecond))
	s.becomes(heard, "m3", "True/Joined")

	// What a user sets in the instance stays, until the inventory's own changes.
	karmada, err := s.karmada(t.Context(), "beta", "m3")
	s.must(err)
	patch := client.MergeFrom(karmada.DeepCopy())
	karmada.Spec.Region = "set-in-beta"
	s.must(s.at["beta"].Patch(t.Context(), karmada, patch))
	s.edit("m3", func(spec *v1alpha1.ClusterSpec) { spec.APIEndpoint = before.Spec.APIEndpoint })
	poll.Until(t, heard, "beta knows the first endpoint again", func(ctx context.Context) error {
		karmada, err = s.karmada(ctx, "beta", "m3")
		if err == nil && karmada.Spec.APIEndpoint != before.Spec.APIEndpoint {
			err = fmt.Errorf("it has %s", karmada.Spec.APIEndpoint)
		}
		return err
	})
	if karmada.Spec.Region != "set-in-beta" {
		t.Errorf("the region is %q, and was set by a user in beta", karmada.Spec.Region)
	}
	if !meta.IsStatusConditionTrue(karmada.Status.Conditions, "Ready") {
		t.Errorf("Karmada does not reach it: %v", karmada.Status.Conditions)
	}
	s.edit("m3", func(spec *v1alpha1.ClusterSpec) { spec.Region = "elsewhere" })
	poll.Until(t, heard, "the inventory's region counts again", func(ctx context.Context) error {
		karmada, err := s.karmada(ctx, "beta", "m3")
		if err == nil && karmada.Spec.Region != "elsewhere" {
			err = fmt.Errorf("it is %q", karmada.Spec.Region)
		}
		return err
	})
}
