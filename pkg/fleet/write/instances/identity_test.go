package instances

import (
	"context"
	"errors"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/connection"
	"github.com/kairship-io/kairship/pkg/fleet/access"
	"github.com/kairship-io/kairship/pkg/fleet/write/writetest"
)

// admin may do everything with some instances, and sees no other.
type admin []string

func (names admin) Rules(context.Context, authz.User) (*authorizationv1.SubjectRulesReviewStatus, error) {
	status := &authorizationv1.SubjectRulesReviewStatus{}
	for _, resource := range []string{"instances", "instances/management"} {
		status.ResourceRules = append(status.ResourceRules, authorizationv1.ResourceRule{
			APIGroups: []string{"kairship.io"}, Resources: []string{resource}, Verbs: []string{"*"}, ResourceNames: names,
		})
	}
	return status, nil
}

// A control plane can be registered only once, regardless of its name and the address in the
// kubeconfig; errors reveal nothing of it that the caller may not see.
func TestTheSameControlPlane(t *testing.T) {
	const there = "kube-system-of-there"
	for _, c := range []struct {
		reason string
		sees   admin
		// claim is what gamma, another instance, has of the control plane.
		claim v1alpha1.ControlPlaneClaim
		// asked is what the control plane answers; there unless told.
		asked func() (string, error)
		code  apierror.Code
		says  string
	}{
		{reason: "it is free", sees: admin{"alpha", "gamma"}},
		{reason: "one that is seen has it", sees: admin{"alpha", "gamma"}, claim: v1alpha1.ClaimHeld, code: apierror.CodeAlreadyExists, says: `as instance "gamma"`},
		{reason: "one that is seen is about to have it", sees: admin{"alpha", "gamma"}, claim: v1alpha1.ClaimPending, code: apierror.CodeAlreadyExists, says: `as instance "gamma"`},
		{reason: "one that is not seen has it", sees: admin{"alpha"}, claim: v1alpha1.ClaimHeld, code: apierror.CodeAlreadyExists, says: "under another name"},
		{reason: "another one is a duplicate, whose first was deleted", sees: admin{"alpha", "gamma"}, claim: v1alpha1.ClaimDuplicate},
		{
			reason: "it does not answer, which the conditions tell later", sees: admin{"alpha", "gamma"}, claim: v1alpha1.ClaimHeld,
			asked: func() (string, error) { return "", errors.New("connection refused") },
		},
		{reason: "who may not add it learns nothing", sees: admin{"gamma"}, claim: v1alpha1.ClaimHeld, code: apierror.CodeForbidden, says: "you may not add an instance"},
	} {
		for _, dryRun := range []bool{true, false} {
			gamma := registered("gamma")
			if c.claim != "" {
				gamma.UID, gamma.Status.ControlPlane = "gamma", &v1alpha1.InstanceControlPlane{KubeSystemID: there, Claim: c.claim}
			}
			s, kube := stand(t, interceptor.Funcs{}, gamma)
			s.Access = access.New(authz.NewResolver(c.sees, nil, nil, nil))
			asked := 0
			s.Identify = func(context.Context, connection.Connection) (string, error) {
				asked++
				if c.asked != nil {
					return c.asked()
				}
				return there, nil
			}
			_, err := s.Register(writetest.As(t.Context()), RegisterInput{Instance: "alpha", Kubeconfig: kubeconfig, DryRun: dryRun})
			if (c.code == "") != (err == nil) || err != nil && (apierror.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("%s: got %v, want %q that says %q", c.reason, err, c.code, c.says)
			}
			if err != nil && strings.Contains(err.Error(), "gamma") && len(c.sees) == 1 {
				t.Errorf("%s: the error names what is not seen: %v", c.reason, err)
			}
			if c.code == apierror.CodeForbidden && asked > 0 {
				t.Errorf("%s: the control plane was asked", c.reason)
			}
			for _, o := range []client.Object{&v1alpha1.Instance{}, &corev1.Secret{}} {
				key := client.ObjectKey{Name: "alpha"}
				if _, secret := o.(*corev1.Secret); secret {
					key = client.ObjectKey{Namespace: secretOf("alpha").Namespace, Name: secretOf("alpha").Name}
				}
				if is := kube.Get(t.Context(), key, o) == nil; is != (err == nil && !dryRun) {
					t.Errorf("%s (dry run: %t): %T is there: %t", c.reason, dryRun, o, is)
				}
			}
		}
	}
}

// An instance is not pointed to another control plane.
func TestUpdateKeepsTheControlPlane(t *testing.T) {
	const own, other = "kube-system-of-alpha", "kube-system-of-gamma"
	for _, c := range []struct {
		reason string
		claim  v1alpha1.ControlPlaneClaim
		leads  string
		code   apierror.Code
		says   string
	}{
		{"its own at another address", v1alpha1.ClaimHeld, own, "", ""},
		{"another one", v1alpha1.ClaimHeld, "kube-system-of-delta", apierror.CodeInvalid, "another control plane"},
		{"another one that is registered", v1alpha1.ClaimHeld, other, apierror.CodeInvalid, "another control plane"},
		{"it does not answer", v1alpha1.ClaimHeld, "", "", ""},
		{"a duplicate is given one that is free", v1alpha1.ClaimDuplicate, "kube-system-of-delta", "", ""},
		{"a duplicate is given one that is registered", v1alpha1.ClaimDuplicate, other, apierror.CodeAlreadyExists, "under another name"},
		{"one that was never reached is given one that is registered", "", other, apierror.CodeAlreadyExists, "under another name"},
	} {
		for _, dryRun := range []bool{true, false} {
			i, gamma := registered(writetest.Name), registered("gamma")
			if c.claim != "" {
				i.Status.ControlPlane = &v1alpha1.InstanceControlPlane{KubeSystemID: own, Claim: c.claim}
			}
			gamma.UID, gamma.Status.ControlPlane = "gamma", &v1alpha1.InstanceControlPlane{KubeSystemID: other, Claim: v1alpha1.ClaimHeld}
			s, kube := stand(t, interceptor.Funcs{}, i, gamma)
			s.Access = access.New(authz.NewResolver(admin{writetest.Name}, nil, nil, nil))
			s.Identify = func(context.Context, connection.Connection) (string, error) { return c.leads, nil }
			text := kubeconfig
			_, err := s.Update(writetest.As(t.Context()), UpdateInput{
				Instance: writetest.Name, ResourceVersion: stored(t, kube).ResourceVersion, Kubeconfig: &text, DryRun: dryRun,
			})
			if (c.code == "") != (err == nil) || err != nil && (apierror.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("%s: got %v, want %q that says %q", c.reason, err, c.code, c.says)
			}
			var secret corev1.Secret
			ref := secretOf(writetest.Name)
			if is := kube.Get(t.Context(), client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, &secret) == nil; is != (err == nil && !dryRun) {
				t.Errorf("%s (dry run: %t): new credentials were written: %t", c.reason, dryRun, is)
			}
		}
	}
}
