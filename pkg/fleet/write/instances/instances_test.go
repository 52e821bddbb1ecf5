package instances

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/connection"
	"github.com/kairship-io/kairship/pkg/fleet/write"
)

// away is what a request gets that the global cluster does not answer.
var away = apierrors.NewServiceUnavailable("away")

// stand is a Service over a stand-in for the global cluster, for what a real one
// can't be made to do at the right moment.
func stand(t *testing.T, hooks interceptor.Funcs, objects ...client.Object) (*Service, client.Client) {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, corev1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	kube := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(hooks).Build()
	unknown := func(context.Context, connection.Connection) (string, error) { return "", errors.New("nothing answers") }
	return &Service{Global: kube, Watched: kube, Identify: unknown, Now: time.Now}, kube
}

func registered(name string) *v1alpha1.Instance {
	i := &v1alpha1.Instance{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "uid-of-instance"}}
	i.Spec.Mode, i.Spec.KubeconfigSecretRef = v1alpha1.InstanceModeExternal, secretOf(name)
	return i
}

// An Instance whose credentials were not written is taken back; when that fails
// too, the error says what is left.
func TestUndo(t *testing.T) {
	for _, c := range []struct {
		reason string
		remove error
		stays  bool
		says   string
	}{
		{reason: "the Instance is removed again, and the cause told", says: "did not answer as expected"},
		{reason: "what could not be removed is named", remove: away, stays: true, says: `delete instance "gamma", then try again`},
	} {
		t.Run(c.reason, func(t *testing.T) {
			i := registered("gamma")
			s, kube := stand(t, interceptor.Funcs{Delete: func(ctx context.Context, kube client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
				if c.remove != nil {
					return c.remove
				}
				return kube.Delete(ctx, o, opts...)
			}}, i)
			ctx, gone := context.WithCancel(t.Context())
			gone() // The caller is not waited for.
			err := s.undo(ctx, i, write.Unanswered(away, "the instance"))
			if err == nil || !strings.Contains(err.Error(), c.says) || apierror.CodeOf(err) != apierror.CodeTimeout {
				t.Errorf("got %v, want a TIMEOUT that says %q", err, c.says)
			}
			err = kube.Get(t.Context(), client.ObjectKeyFromObject(i), &v1alpha1.Instance{})
			if stays := err == nil; stays != c.stays {
				t.Errorf("the Instance stays: %t, want %t", stays, c.stays)
			}
		})
	}
}

func TestCredentials(t *testing.T) {
	ref := secretOf("gamma")
	secret := func(owner string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
			Namespace: ref.Namespace, Name: ref.Name, Labels: map[string]string{v1alpha1.OwnerUIDLabel: owner},
		}, Data: map[string][]byte{"old": []byte("x")}}
	}
	for _, c := range []struct {
		reason string
		there  *corev1.Secret
		code   apierror.Code
		want   map[string][]byte
	}{
		{reason: "a Secret that is missing is made", want: map[string][]byte{"kubeconfig": []byte("new")}},
		{reason: "its own is replaced as a whole", there: secret("uid-of-instance"), want: map[string][]byte{"kubeconfig": []byte("new")}},
		{reason: "that of an earlier instance of the name is left alone", there: secret("another"), code: apierror.CodeConflict, want: map[string][]byte{"old": []byte("x")}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			objects := []client.Object{registered("gamma")}
			if c.there != nil {
				objects = append(objects, c.there)
			}
			s, kube := stand(t, interceptor.Funcs{}, objects...)
			err := s.replaceCredentials(t.Context(), registered("gamma"), []byte("new"), false)
			if (c.code == "") != (err == nil) || (err != nil && apierror.CodeOf(err) != c.code) {
				t.Errorf("got %v, want %q", err, c.code)
			}
			var now corev1.Secret
			if err := kube.Get(t.Context(), client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, &now); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, now.Data); diff != "" {
				t.Errorf("the Secret (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOwns(t *testing.T) {
	at := func(namespace, name, key string) *v1alpha1.SecretKeyReference {
		return &v1alpha1.SecretKeyReference{SecretReference: v1alpha1.SecretReference{Namespace: namespace, Name: name}, Key: key}
	}
	for _, c := range []struct {
		reason string
		ref    *v1alpha1.SecretKeyReference
		want   bool
	}{
		{"as it is written", secretOf("gamma"), true},
		{"with the default key written out", at("kairship-system", "k-gamma-kubeconfig", "kubeconfig"), true},
		{"without the default namespace", at("", "k-gamma-kubeconfig", ""), true},
		{"under another key", at("kairship-system", "k-gamma-kubeconfig", "config"), false},
		{"in another namespace", at("other", "k-gamma-kubeconfig", ""), false},
		{"of another name", at("kairship-system", "k-delta-kubeconfig", ""), false},
		{"none", nil, false},
	} {
		i := registered("gamma")
		i.Spec.KubeconfigSecretRef = c.ref
		if got := owns(i); got != c.want {
			t.Errorf("%s: %t, want %t", c.reason, got, c.want)
		}
	}
}

// The error about clusters that keep an instance stays readable.
func TestUnused(t *testing.T) {
	var objects []client.Object
	for name := range strings.FieldsSeq("a b c d e f g h i j k l m n o p q r s t u v") {
		c := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "member-" + name}}
		c.Spec.Type, c.Spec.InstanceRef = v1alpha1.ClusterTypePhysical, &v1alpha1.InstanceReference{Name: "gamma"}
		objects = append(objects, c)
	}
	s, _ := stand(t, interceptor.Funcs{}, objects...)
	err := s.unused(t.Context(), registered("gamma"))
	if !apierror.Is(err, apierror.CodeConflict) || !strings.Contains(err.Error(), "member-a, member-b") ||
		strings.Contains(err.Error(), "member-u") || !strings.Contains(err.Error(), "and others") {
		t.Errorf("got %v", err)
	}
	if err := s.unused(t.Context(), registered("delta")); err != nil {
		t.Errorf("nothing is joined to delta: %v", err)
	}
}

// No error says what the global cluster said of a Secret.
func TestErrorsTellNothingOfSecrets(t *testing.T) {
	for _, err := range []error{
		apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Secret").GroupKind(), "s", nil),
		apierrors.NewBadRequest("token=hunter2"), errors.New("token=hunter2"),
		apierrors.NewForbidden(corev1.Resource("secrets"), "s", errors.New("token=hunter2")),
	} {
		translated := translateSecret(err)
		var e *apierror.Error
		if !errors.As(translated, &e) || strings.Contains(e.Message, "hunter2") {
			t.Errorf("%v became %v", err, translated)
		}
	}
	if err := translateSecret(context.Canceled); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller who went became %v", err)
	}
}
