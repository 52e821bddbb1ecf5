package controllers

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	operatorv1alpha1 "github.com/karmada-io/karmada/operator/pkg/apis/operator/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/test/internal/fleet"
)

const (
	// lifecyclePrefix begins the names of everything that these tests make.
	lifecyclePrefix = "life-suite-"
	// lifecycleHost is the member that they install on.
	lifecycleHost = "m3"
	// deployed is how long the operator may need until all that it deploys first is
	// ready, and until it gives up on an apiserver in whose place nothing answers: half
	// a minute where connections are not even refused.
	deployed = 2 * time.Minute
)

// lives is the fleet as the tests of the life cycle use it.
type lives struct {
	*testing.T
	fleet        *fleet.Fleet
	global, host client.Client
	// crds is where the operator downloads Karmada's CRDs.
	crds *httptest.Server
}

func openLives(t *testing.T) *lives {
	t.Helper()
	f := fleet.Open(t)
	s := &lives{T: t, fleet: f, global: f.Client(t, "global"), host: f.Client(t, lifecycleHost)}
	if _, err := s.global.RESTMapper().RESTMapping(operatorv1alpha1.SchemeGroupVersion.WithKind("Karmada").GroupKind()); err != nil {
		if meta.IsNoMatchError(err) {
			t.Skip("the fleet runs without the Karmada operator; start it with the flag --operator")
		}
		t.Fatal(err)
	}
	archive := crdArchive(t)
	s.crds = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/good/") {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(archive)
	}))
	t.Cleanup(s.crds.Close)
	return s
}

// crdArchive has the form that the operator wants. What is in it does not matter:
// it is read once the new apiserver answers, and here none ever does.
func crdArchive(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	files := tar.NewWriter(zip)
	for _, name := range []string{"crds/", "crds/bases/", "crds/patches/"} {
		if err := files.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: 0o755}); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(files.Close(), zip.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func (s *lives) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// create makes a Managed instance, which is removed when the test ends, however it
// ends.
func (s *lives) create(name, crds string, policy v1alpha1.DeletionPolicy) {
	s.Helper()
	s.Cleanup(func() { s.sweep(name) })
	s.must(s.global.Create(s.Context(), &v1alpha1.Instance{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.InstanceSpec{
			Mode: v1alpha1.InstanceModeManaged, HostCluster: lifecycleHost, KarmadaVersion: "v1.18.2", DeletionPolicy: policy,
			Components: &v1alpha1.InstanceComponents{
				CRDTarballURL: s.crds.URL + crds,
				Failover:      &v1alpha1.FailoverSettings{Enabled: true, ClusterMonitorGracePeriod: &metav1.Duration{Duration: 90 * time.Second}},
			},
		},
	}))
}

// edit changes an Instance.
func (s *lives) edit(name string, change func(*v1alpha1.Instance)) {
	s.Helper()
	instance := s.instance(name)
	before := instance.DeepCopy()
	change(instance)
	s.must(s.global.Patch(s.Context(), instance, client.MergeFrom(before)))
}

func (s *lives) instance(name string) *v1alpha1.Instance {
	s.Helper()
	instance := &v1alpha1.Instance{}
	s.must(s.global.Get(s.Context(), client.ObjectKey{Name: name}, instance))
	return instance
}

func (s *lives) karmada(name string) *operatorv1alpha1.Karmada {
	s.Helper()
	karmada := &operatorv1alpha1.Karmada{}
	s.must(s.global.Get(s.Context(), client.ObjectKey{Namespace: "k-" + name, Name: name}, karmada))
	return karmada
}

// says waits until a condition of an Instance is as it should be: "True/Installed".
func (s *lives) says(within time.Duration, name, condition, want string, parts ...string) {
	s.Helper()
	begun := time.Now()
	poll.Until(s, within, name+" is "+want, func(ctx context.Context) error {
		instance := &v1alpha1.Instance{}
		if err := s.global.Get(ctx, client.ObjectKey{Name: name}, instance); err != nil {
			return err
		}
		found := meta.FindStatusCondition(instance.Status.Conditions, condition)
		if found == nil {
			return errors.New("it says nothing")
		}
		if got := string(found.Status) + "/" + found.Reason; got != want {
			return fmt.Errorf("it is %s: %s", got, found.Message)
		}
		for _, part := range parts {
			if !strings.Contains(found.Message, part) {
				return fmt.Errorf("it does not say %q: %s", part, found.Message)
			}
		}
		return nil
	})
	s.Logf("%s is %s after %s", name, want, time.Since(begun).Round(100*time.Millisecond))
}

// gone waits until there is no such object.
func (s *lives) gone(cluster client.Client, object client.Object) {
	s.Helper()
	poll.Until(s, deployed, fmt.Sprintf("%T %s is gone", object, object.GetName()), func(ctx context.Context) error {
		err := cluster.Get(ctx, client.ObjectKeyFromObject(object), object)
		if err == nil {
			return fmt.Errorf("it is there, with finalizers %v", object.GetFinalizers())
		}
		return client.IgnoreNotFound(err)
	})
}

// goneWithAll waits until nothing is left of an instance in the global cluster.
func (s *lives) goneWithAll(name string) {
	s.Helper()
	s.gone(s.global, &v1alpha1.Instance{ObjectMeta: metav1.ObjectMeta{Name: name}})
	s.gone(s.global, &operatorv1alpha1.Karmada{ObjectMeta: metav1.ObjectMeta{Namespace: "k-" + name, Name: name}})
	s.gone(s.global, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: "k-" + name + "-host"}})
	s.gone(s.global, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "k-" + name}})
}

// components are what the operator has deployed in the host, by name.
func (s *lives) components(ctx context.Context, name string) (map[string]string, error) {
	images := map[string]string{}
	in := client.InNamespace("k-" + name)
	var sets appsv1.StatefulSetList
	var deployments appsv1.DeploymentList
	if err := errors.Join(s.host.List(ctx, &sets, in), s.host.List(ctx, &deployments, in)); err != nil {
		return nil, err
	}
	for i := range sets.Items {
		images[sets.Items[i].Name] = sets.Items[i].Spec.Template.Spec.Containers[0].Image
	}
	for i := range deployments.Items {
		images[deployments.Items[i].Name] = deployments.Items[i].Spec.Template.Spec.Containers[0].Image
	}
	return images, nil
}

// sweep removes what a test leaves, also one that failed.
func (s *lives) sweep(name string) {
	ctx, cancel := context.WithTimeout(context.Background(), deployed)
	defer cancel()
	force := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"true"}}}`, v1alpha1.ForceDeleteAnnotation))
	if err := poll.Try(ctx, deployed, func(ctx context.Context) error {
		instance := &v1alpha1.Instance{ObjectMeta: metav1.ObjectMeta{Name: name}}
		_ = s.global.Patch(ctx, instance, force)
		_ = s.global.Delete(ctx, instance)
		karmada := &operatorv1alpha1.Karmada{ObjectMeta: metav1.ObjectMeta{Namespace: "k-" + name, Name: name}}
		_ = s.global.Patch(ctx, karmada, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
		left := 0
		for _, object := range []client.Object{
			karmada,
			&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: "k-" + name + "-host"}},
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "k-" + name}},
			instance,
		} {
			if err := s.global.Delete(ctx, object); !apierrors.IsNotFound(err) {
				left++
			}
		}
		// The operator leaves the namespace in the host.
		if err := s.host.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "k-" + name}}); !apierrors.IsNotFound(err) {
			left++
		}
		if left > 0 {
			return fmt.Errorf("%d objects are left", left)
		}
		return nil
	}); err != nil {
		s.Errorf("what was made for %s is not removed: %v", name, err)
	}
}
