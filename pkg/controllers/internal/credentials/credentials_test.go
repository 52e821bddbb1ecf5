package credentials

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/connection"
)

func instance(name, namespace, secret string) *v1alpha1.Instance {
	return &v1alpha1.Instance{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.InstanceSpec{Mode: v1alpha1.InstanceModeExternal, KubeconfigSecretRef: &v1alpha1.SecretKeyReference{
			SecretReference: v1alpha1.SecretReference{Namespace: namespace, Name: secret}, Key: "kubeconfig",
		}},
	}
}

func cluster(name, namespace, secret string) *v1alpha1.Cluster {
	return &v1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.ClusterSpec{APIEndpoint: "https://" + name, CredentialsSecretRef: &v1alpha1.ClusterCredentialsReference{
			SecretReference: v1alpha1.SecretReference{Namespace: namespace, Name: secret},
		}},
	}
}

func secret(namespace, name string, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: data}
}

// authority is a CA with which a token may be sent to any endpoint.
func authority(t *testing.T) []byte {
	t.Helper()
	certificate, _, err := certutil.GenerateSelfSignedCertKey("authority", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}

func newClient(t *testing.T, objects ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithIndex(&v1alpha1.Instance{}, secretIndex, secretOfInstance).
		WithIndex(&v1alpha1.Cluster{}, secretIndex, secretOfCluster).Build()
}

func TestASecretWakesItsUsersOnly(t *testing.T) {
	managed := &v1alpha1.Instance{
		ObjectMeta: metav1.ObjectMeta{Name: "managed"},
		Spec:       v1alpha1.InstanceSpec{Mode: v1alpha1.InstanceModeManaged},
		Status:     v1alpha1.InstanceStatus{KubeconfigSecretRef: &v1alpha1.SecretKeyReference{SecretReference: v1alpha1.SecretReference{Namespace: "a", Name: "managed"}}},
	}
	kube := newClient(t,
		instance("alpha", "a", "shared"), instance("beta", "a", "shared"), instance("gamma", "b", "shared"), managed,
		cluster("m1", "a", "shared"), cluster("m2", "a", "own"),
		&v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "none"}}, &v1alpha1.Instance{ObjectMeta: metav1.ObjectMeta{Name: "none"}},
	)
	for _, c := range []struct {
		reason              string
		namespace, name     string
		instances, clusters []string
	}{
		{"everybody who refers to it, and no object with the same name elsewhere", "a", "shared", []string{"alpha", "beta"}, []string{"m1"}},
		{"the namespace counts", "b", "shared", []string{"gamma"}, nil},
		{"a managed instance's reference is in its status", "a", "managed", []string{"managed"}, nil},
		{"a Secret that concerns no instance", "a", "other", nil, nil},
	} {
		changed := Metadata()
		changed.Namespace, changed.Name = c.namespace, c.name
		for kind, want := range map[string][]string{"instances": c.instances, "clusters": c.clusters} {
			newList := func() client.ObjectList { return &v1alpha1.InstanceList{} }
			if kind == "clusters" {
				newList = func() client.ObjectList { return &v1alpha1.ClusterList{} }
			}
			var got []string
			for _, request := range users(kube, newList)(t.Context(), changed) {
				got = append(got, request.Name)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", c.reason, kind, diff)
			}
		}
	}
}

func TestReader(t *testing.T) {
	ca := authority(t)
	kubeconfig, err := connection.Connection{Endpoint: "https://own", Token: "t", CAData: ca}.Kubeconfig()
	if err != nil {
		t.Fatal(err)
	}
	reader := Reader{Secrets: newClient(t,
		secret("a", "kubeconfig", map[string][]byte{"kubeconfig": kubeconfig}),
		secret("a", "token", map[string][]byte{"token": []byte("t")}),
		secret("a", "empty", nil),
	)}
	proxied := cluster("m1", "a", "kubeconfig")
	proxied.Spec.ProxyURL = "http://proxy:1"
	keyed := cluster("m1", "a", "kubeconfig")
	keyed.Spec.CredentialsSecretRef.Key = "other"

	for _, c := range []struct {
		reason string
		read   func() (connection.Connection, error)
		want   connection.Connection
		is     error
		says   string
	}{
		{
			reason: "an instance's endpoint is in its kubeconfig",
			read: func() (connection.Connection, error) {
				return reader.OfInstance(t.Context(), instance("x", "a", "kubeconfig"))
			},
			want: connection.Connection{Endpoint: "https://own", Token: "t", CAData: ca},
		},
		{
			reason: "an instance needs a kubeconfig",
			read: func() (connection.Connection, error) {
				return reader.OfInstance(t.Context(), instance("x", "a", "token"))
			},
			is: connection.ErrMissing, says: "Secret a/token",
		},
		{
			reason: "an instance without a reference",
			read:   func() (connection.Connection, error) { return reader.OfInstance(t.Context(), &v1alpha1.Instance{}) },
			is:     connection.ErrMissing, says: "not been given any",
		},
		{
			reason: "a namespace that is not among those that may be read, whatever is in it",
			read: func() (connection.Connection, error) {
				narrow := reader
				narrow.Namespaces = []string{"b", "c"}
				return narrow.OfInstance(t.Context(), instance("x", "a", "kubeconfig"))
			},
			is: connection.ErrMissing, says: "the Secret a/kubeconfig is in a namespace whose Secrets are not read, which are b, c",
		},
		{
			reason: "a namespace that is among them",
			read: func() (connection.Connection, error) {
				narrow := reader
				narrow.Namespaces = []string{"a", "c"}
				return narrow.OfInstance(t.Context(), instance("x", "a", "kubeconfig"))
			},
			want: connection.Connection{Endpoint: "https://own", Token: "t", CAData: ca},
		},
		{
			reason: "a cluster's endpoint is in its spec",
			read: func() (connection.Connection, error) {
				return reader.OfCluster(t.Context(), cluster("m1", "a", "kubeconfig"))
			},
			want: connection.Connection{Endpoint: "https://m1", Token: "t", CAData: ca},
		},
		{
			reason: "a cluster's proxy is in its spec",
			read:   func() (connection.Connection, error) { return reader.OfCluster(t.Context(), proxied) },
			want:   connection.Connection{Endpoint: "https://m1", Token: "t", CAData: ca, ProxyURL: "http://proxy:1"},
		},
		{
			reason: "a cluster may name its key", read: func() (connection.Connection, error) { return reader.OfCluster(t.Context(), keyed) },
			is: connection.ErrMissing, says: `no key "other"`,
		},
		{
			reason: "a cluster without a reference",
			read:   func() (connection.Connection, error) { return reader.OfCluster(t.Context(), &v1alpha1.Cluster{}) },
			is:     connection.ErrMissing, says: "spec.credentialsSecretRef is not set",
		},
		{
			reason: "a Secret that does not exist is named",
			read: func() (connection.Connection, error) {
				return reader.OfCluster(t.Context(), cluster("m1", "b", "token"))
			},
			is: connection.ErrMissing, says: "there is no Secret b/token",
		},
		{
			reason: "an empty Secret is named", read: func() (connection.Connection, error) {
				return reader.OfCluster(t.Context(), cluster("m1", "a", "empty"))
			},
			is: connection.ErrMissing, says: "Secret a/empty",
		},
	} {
		got, err := c.read()
		if !errors.Is(err, c.is) || (err == nil) != (c.is == nil) {
			t.Errorf("%s: got error %v, want %v", c.reason, err, c.is)
			continue
		}
		if err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: the error does not say %q: %v", c.reason, c.says, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.reason, diff)
		}
	}
}

func TestStripMetadataKeepsNoContent(t *testing.T) {
	full := Metadata()
	full.ObjectMeta = metav1.ObjectMeta{
		Namespace: "a", Name: "b", UID: "c", ResourceVersion: "1", Labels: map[string]string{"x": "y"},
		Annotations:   map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "everything"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "x"}},
	}
	got, err := StripMetadata(full)
	if err != nil {
		t.Fatal(err)
	}
	want := Metadata()
	want.ObjectMeta = metav1.ObjectMeta{Namespace: "a", Name: "b", UID: "c", ResourceVersion: "1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
}
