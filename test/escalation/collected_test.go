package escalation

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pediav1alpha2 "github.com/kairship-io/kairship/pkg/apis/clusterpedia/v1alpha2"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/test/internal/fleet"
)

// TestPediaClustersHoldNoCredentials reads PediaClusters as kairship-apiserver, which
// watches them for the state of the collection.
func TestPediaClustersHoldNoCredentials(t *testing.T) {
	f := fleet.Open(t)
	config := rest.AnonymousClientConfig(f.Config(t, "global"))
	config.BearerToken = f.NewToken(t, "global", &corev1.ServiceAccount{
		ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: "kairship-apiserver"},
	})
	apiserver, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var pedias unstructured.UnstructuredList
	pedias.SetGroupVersionKind(pediav1alpha2.SchemeGroupVersion.WithKind("PediaClusterList"))
	if err := apiserver.List(t.Context(), &pedias); err != nil {
		t.Fatal(err)
	}
	clusters := append(f.Names("instance"), f.Names("member")...)
	if len(pedias.Items) < len(clusters) {
		t.Fatalf("%d PediaClusters for %v", len(pedias.Items), clusters)
	}
	for _, pedia := range pedias.Items {
		whole, err := pedia.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		kubeconfig, err := fleet.CollectedWith(t.Context(), f.Client(t, "global"), pedia.GetName())
		if err != nil {
			t.Error(err)
			continue
		}
		used, err := clientcmd.Load(kubeconfig)
		if err != nil {
			t.Fatal(err)
		}
		credential := used.AuthInfos[used.Contexts[used.CurrentContext].AuthInfo].Token
		if credential == "" || strings.Contains(string(whole), credential) {
			t.Errorf("the token that collects %s, %d characters, is in its PediaCluster", pedia.GetName(), len(credential))
		}
		spec, _, _ := unstructured.NestedMap(pedia.Object, "spec")
		for _, field := range []string{"kubeconfig", "tokenData", "certData", "keyData"} {
			if spec[field] != nil {
				t.Errorf("PediaCluster %s has %s", pedia.GetName(), field)
			}
		}
	}
}
