package fleet

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kairship-io/kairship/deploy/internal/build"
	"github.com/kairship-io/kairship/deploy/internal/kube"
	"github.com/kairship-io/kairship/deploy/internal/pki"
	"github.com/kairship-io/kairship/deploy/local/internal/topology"
)

// register tells Kairship of the fleet's instances and members, as an administrator would: a Secret
// with credentials and a custom resource each.
func (f *Fleet) register(ctx context.Context) error {
	ctx, cancel := stepContext(ctx)
	defer cancel()
	crds, err := f.kairshipCRDs()
	if err != nil || len(crds) == 0 {
		return err
	}
	version, err := build.RequiredVersion(filepath.Join(f.repository, "deploy", "local", "components", "controlplane", "go.mod"), "github.com/karmada-io/karmada")
	if err != nil {
		return err
	}
	return f.once("global/registration", version+"/"+inputHash(crds...), func() error {
		var objects []*unstructured.Unstructured
		for _, c := range topology.WithRole(topology.Instance) {
			kubeconfig, err := f.accountKubeconfig(ctx, c.Name, karmadaNamespace)
			if err != nil {
				return err
			}
			objects = append(objects, instanceObjects(c, version, kubeconfig)...)
		}
		for _, c := range topology.WithRole(topology.Member) {
			token, err := f.serviceAccountToken(ctx, c.Name, topology.SystemNamespace, kairshipAccount)
			if err != nil {
				return err
			}
			ca, err := f.pki(c.Name).CA()
			if err != nil {
				return err
			}
			objects = append(objects, clusterObjects(c, f.ports.URL(c.Name+"/api"), token, ca)...)
		}
		return f.clients["global"].Apply(ctx, objects...)
	})
}

// accountKubeconfig is a kubeconfig with the token of Kairship's account in an instance.
func (f *Fleet) accountKubeconfig(ctx context.Context, cluster, namespace string) ([]byte, error) {
	token, err := f.serviceAccountToken(ctx, cluster, namespace, kairshipAccount)
	if err != nil {
		return nil, err
	}
	ca, err := f.pki(cluster).CA()
	if err != nil {
		return nil, err
	}
	config := pki.Kubeconfig(cluster, f.ports.URL(cluster+"/api"), ca, kairshipAccount, clientcmdapi.AuthInfo{Token: token})
	return clientcmd.Write(*config)
}

// alias is the name that people see: Alpha for alpha.
func alias(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

func instanceObjects(c topology.Cluster, karmadaVersion string, kubeconfig []byte) []*unstructured.Unstructured {
	return kube.MustParse(`
apiVersion: v1
kind: Secret
metadata: {name: %[1]s-kubeconfig, namespace: %[2]s}
data: {kubeconfig: %[3]s}
---
apiVersion: kairship.io/v1alpha1
kind: Instance
metadata: {name: %[1]s}
spec:
  alias: %[4]s
  mode: External
  karmadaVersion: %[5]s
  kubeconfigSecretRef: {namespace: %[2]s, name: %[1]s-kubeconfig, key: kubeconfig}
`, c.Name, topology.SystemNamespace, base64(kubeconfig), alias(c.Name), karmadaVersion)
}

func clusterObjects(c topology.Cluster, endpoint, token string, ca []byte) []*unstructured.Unstructured {
	return kube.MustParse(`
apiVersion: v1
kind: Secret
metadata: {name: %[1]s-credentials, namespace: %[2]s}
data: {token: %[3]s, caBundle: %[4]s}
---
apiVersion: kairship.io/v1alpha1
kind: Cluster
metadata: {name: %[1]s}
spec:
  type: Physical
  alias: %[5]s
  apiEndpoint: %[6]s
  credentialsSecretRef: {namespace: %[2]s, name: %[1]s-credentials}
  provider: %[7]s
  region: %[8]s
  zone: %[9]s
  instanceRef: {name: %[10]s}
`, c.Name, topology.SystemNamespace, base64([]byte(token)), base64(ca), fmt.Sprintf("Member %s", c.Name), endpoint, c.Provider, c.Region, c.Zone, c.Instance)
}
