package instances

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/write/writetest"
)

// changing is a stand-in whose caller may change the instance that is stored.
func changing(t *testing.T, hooks interceptor.Funcs, i *v1alpha1.Instance) (*Service, client.Client) {
	t.Helper()
	s, kube := stand(t, hooks, i)
	_, w := writetest.New(t)
	s.Access = w.Access
	return s, kube
}

func stored(t *testing.T, kube client.Client) *v1alpha1.Instance {
	t.Helper()
	var i v1alpha1.Instance
	if err := kube.Get(t.Context(), client.ObjectKey{Name: writetest.Name}, &i); err != nil {
		t.Fatal(err)
	}
	return &i
}

// moved is what a write gets that is based on an earlier version.
var moved = apierrors.NewConflict(v1alpha1.InstanceResource.GroupResource(), writetest.Name, errors.New("it moved"))

const kubeconfig = `{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}],
  clusters: [{name: a, cluster: {server: "https://karmada.example.com"}}], users: [{name: a, user: {token: hunter2}}]}`

// An instance is pointed to other credentials only once they are there: those that
// it has work until then. Credentials that it keeps already are changed last.
func TestUpdateOfCredentials(t *testing.T) {
	foreign := &v1alpha1.SecretKeyReference{SecretReference: v1alpha1.SecretReference{Namespace: "theirs", Name: "s"}}
	own := secretOf(writetest.Name)
	alias := "changed"
	for _, tt := range []struct {
		reason string
		ref    *v1alpha1.SecretKeyReference
		dryRun bool
		// patch and secret are what the writes get, those of dry runs aside.
		patch, secret error
		written       []string
		code          apierror.Code
		says          string
		want          *v1alpha1.SecretKeyReference
	}{
		{reason: "they move", ref: foreign, written: []string{"Secret", "Instance"}, want: own},
		{reason: "they stay where they are", ref: own, written: []string{"Instance", "Secret"}, want: own},
		{reason: "a dry run", ref: foreign, dryRun: true, want: foreign},
		{
			reason: "the new ones are not written", ref: foreign, secret: away, written: []string{"Secret"},
			code: apierror.CodeTimeout, says: "look at the instance", want: foreign,
		},
		{
			reason: "the instance moved", ref: foreign, patch: moved, written: []string{"Secret", "Instance"},
			code: apierror.CodeConflict, says: "the new credentials are in Secret kairship-system/k-alpha-kubeconfig already", want: foreign,
		},
		{
			reason: "time is up", ref: foreign, patch: context.DeadlineExceeded, written: []string{"Secret", "Instance"},
			code: apierror.CodeTimeout, says: "the new credentials are in Secret kairship-system/k-alpha-kubeconfig already", want: foreign,
		},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			i := registered(writetest.Name)
			i.Spec.KubeconfigSecretRef = tt.ref
			var written []string
			s, kube := changing(t, interceptor.Funcs{
				Patch: func(ctx context.Context, kube client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
					if len((&client.PatchOptions{}).ApplyOptions(opts).DryRun) > 0 {
						return kube.Patch(ctx, o, p, opts...)
					}
					if written = append(written, "Instance"); tt.patch != nil {
						return tt.patch
					}
					return kube.Patch(ctx, o, p, opts...)
				},
				Create: func(ctx context.Context, kube client.WithWatch, o client.Object, opts ...client.CreateOption) error {
					if len((&client.CreateOptions{}).ApplyOptions(opts).DryRun) > 0 {
						return kube.Create(ctx, o, opts...)
					}
					if written = append(written, "Secret"); tt.secret != nil {
						return tt.secret
					}
					return kube.Create(ctx, o, opts...)
				},
			}, i)
			text := kubeconfig
			_, err := s.Update(writetest.As(t.Context()), UpdateInput{
				Instance: writetest.Name, ResourceVersion: stored(t, kube).ResourceVersion, Alias: &alias, Kubeconfig: &text, DryRun: tt.dryRun,
			})
			if (tt.code == "") != (err == nil) || (err != nil && (apierror.CodeOf(err) != tt.code || !strings.Contains(err.Error(), tt.says))) {
				t.Errorf("got %v, want %q that says %q", err, tt.code, tt.says)
			}
			if diff := cmp.Diff(tt.written, written); diff != "" {
				t.Errorf("what was written (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, stored(t, kube).Spec.KubeconfigSecretRef); diff != "" {
				t.Errorf("where its credentials are (-want +got):\n%s", diff)
			}
			var secret corev1.Secret
			err = kube.Get(t.Context(), client.ObjectKey{Namespace: own.Namespace, Name: own.Name}, &secret)
			if there := slices.Contains(tt.written, "Secret") && tt.secret == nil; there != (err == nil) {
				t.Fatalf("the Secret: %v, want it to be there: %t", err, there)
			}
			if err == nil && (len(secret.OwnerReferences) != 1 || secret.OwnerReferences[0].UID != i.UID) {
				t.Errorf("it belongs to %v", secret.OwnerReferences)
			}
		})
	}
}

// A version that says nothing would be none.
func TestNoVersion(t *testing.T) {
	s, kube := changing(t, interceptor.Funcs{}, registered(writetest.Name))
	_, err := s.Delete(writetest.As(t.Context()), DeleteInput{Instance: writetest.Name, ResourceVersion: new(string)})
	_, err2 := s.Update(writetest.As(t.Context()), UpdateInput{Instance: writetest.Name})
	for _, err := range []error{err, err2} {
		if !apierror.Is(err, apierror.CodeInvalid) || !strings.HasPrefix(err.Error(), "input.resourceVersion: ") {
			t.Errorf("got %v, want INVALID", err)
		}
	}
	stored(t, kube)
}
