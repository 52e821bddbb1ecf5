package fleet

import (
	"testing"

	operatorv1alpha1 "github.com/karmada-io/karmada/operator/pkg/apis/operator/v1alpha1"
	appsv1alpha1 "github.com/karmada-io/karmada/pkg/apis/apps/v1alpha1"
	autoscalingv1alpha1 "github.com/karmada-io/karmada/pkg/apis/autoscaling/v1alpha1"
	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	networkingv1alpha1 "github.com/karmada-io/karmada/pkg/apis/networking/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pediav1alpha2 "github.com/kairship-io/kairship/pkg/apis/clusterpedia/v1alpha2"
	kairshipv1alpha1 "github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// Scheme knows every type that the suites read or write.
func Scheme(t testing.TB) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, clusterv1alpha1.Install, policyv1alpha1.Install, workv1alpha1.Install,
		workv1alpha2.Install, appsv1alpha1.Install, autoscalingv1alpha1.Install, networkingv1alpha1.Install,
		kairshipv1alpha1.AddToScheme, pediav1alpha2.AddToScheme, operatorv1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return scheme
}

// Config is how a cluster is reached as its administrator.
func (f *Fleet) Config(t testing.TB, cluster string) *rest.Config {
	t.Helper()
	return configOf(t, f.Cluster(t, cluster).Kubeconfig)
}

func configOf(t testing.TB, kubeconfig string) *rest.Config {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS, config.UserAgent = -1, "kairship-suite"
	return config
}

// Client reads and writes a cluster directly, past Kairship and the index: what
// it reads is the truth that answers are compared with.
func (f *Fleet) Client(t testing.TB, cluster string) client.Client {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if c, ok := f.clients[cluster]; ok {
		return c
	}
	c, err := client.New(f.Config(t, cluster), client.Options{Scheme: Scheme(t)})
	if err != nil {
		t.Fatalf("the client of %s: %v", cluster, err)
	}
	f.clients[cluster] = c
	return c
}

// Kubernetes is the typed client of a cluster, for what is no resource.
func (f *Fleet) Kubernetes(t testing.TB, cluster string) kubernetes.Interface {
	t.Helper()
	c, err := kubernetes.NewForConfig(f.Config(t, cluster))
	if err != nil {
		t.Fatalf("the client of %s: %v", cluster, err)
	}
	return c
}
