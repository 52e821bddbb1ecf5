package fleet

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/deploy/local/internal/kube"
	"github.com/kairship-io/kairship/deploy/local/internal/topology"
)

var (
	nodeGVK           = schema.GroupVersionKind{Version: "v1", Kind: "Node"}
	namespaceGVK      = schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
	serviceAccountGVK = schema.GroupVersionKind{Version: "v1", Kind: "ServiceAccount"}
	karmadaClusterGVK = schema.GroupVersionKind{Group: "cluster.karmada.io", Version: "v1alpha1", Kind: "Cluster"}
)

func (f *Fleet) memberTasks(c topology.Cluster) []task {
	return []task{
		{name: c.Name + "/nodes", needs: []string{c.Name + "-kcm", c.Name + "-scheduler", c.Name + "-kwok"}, run: func(ctx context.Context) error { return f.setUpNodes(ctx, c) }},
		{name: c.Name + "/credentials", needs: []string{c.Name + "-kcm"}, run: func(ctx context.Context) error { return f.setUpAccounts(ctx, c) }},
		{name: c.Name + "/join", needs: []string{c.Name + "/credentials", c.Instance + "/api", c.Instance + "-controller-manager"}, run: func(ctx context.Context) error { return f.join(ctx, c) }},
	}
}

// setUpNodes creates the simulated nodes and waits until pods can run on them.
func (f *Fleet) setUpNodes(ctx context.Context, c topology.Cluster) error {
	ctx, cancel := stepContext(ctx)
	defer cancel()
	client := f.clients[c.Name]
	var nodes []*unstructured.Unstructured
	for i := 1; i <= topology.NodesPerMember; i++ {
		nodes = append(nodes, node(c, fmt.Sprintf("%s-node-%d", c.Name, i)))
	}
	err := f.once(c.Name+"/nodes", inputHash(nodes...), func() error {
		for _, n := range nodes {
			if err := client.Create(ctx, n); err != nil {
				return err
			}
		}
		for _, n := range nodes {
			if err := client.WaitFor(ctx, nodeGVK, "", n.GetName(), nodeReady); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return client.WaitFor(ctx, serviceAccountGVK, "default", "default", func(*unstructured.Unstructured) string { return "" })
}

// node is a simulated node. It has room for more pods than real ones: with kwok's usual 110 a large
// Deployment would stay unready for want of nodes.
func node(c topology.Cluster, name string) *unstructured.Unstructured {
	return kube.MustParse(`
apiVersion: v1
kind: Node
metadata:
  name: %[1]s
  annotations: {kwok.x-k8s.io/node: fake, node.alpha.kubernetes.io/ttl: "0"}
  labels:
    kubernetes.io/hostname: %[1]s
    kubernetes.io/os: linux
    kubernetes.io/arch: amd64
    type: kwok
    topology.kubernetes.io/region: %[2]s
    topology.kubernetes.io/zone: %[3]s
status:
  allocatable: {cpu: "32", memory: 256Gi, pods: "2000"}
  capacity: {cpu: "32", memory: 256Gi, pods: "2000"}
`, name, c.Region, c.Zone)[0]
}

// nodeReady says what keeps pods from running on a node.
func nodeReady(o *unstructured.Unstructured) string {
	if missing := kube.ConditionIs(o, "Ready", "True"); missing != "" {
		return missing
	}
	taints, _, _ := unstructured.NestedSlice(o.Object, "spec", "taints")
	if len(taints) > 0 {
		return fmt.Sprintf("it still has %d taints", len(taints))
	}
	return ""
}

// setUpAccounts makes what a join makes in the member: an account for Karmada and one with which
// Karmada impersonates users; and an account for Kairship's inventory.
func (f *Fleet) setUpAccounts(ctx context.Context, c topology.Cluster) error {
	objects := []*unstructured.Unstructured{namespace(joinNamespace), namespace(topology.SystemNamespace)}
	objects = append(objects, serviceAccount(joinNamespace, "karmada-"+c.Name, "cluster-admin")...)
	// Karmada itself grants this one what it needs.
	objects = append(objects, serviceAccount(joinNamespace, "karmada-impersonator", "")...)
	// Administrator, because joining a cluster to an instance creates the two accounts above.
	objects = append(objects, serviceAccount(topology.SystemNamespace, kairshipAccount, "cluster-admin")...)
	return f.applyOnce(ctx, c.Name+"/credentials", c.Name, objects)
}

// join makes a member known to its instance, as `karmadactl join` does, and waits until Karmada
// reaches it.
func (f *Fleet) join(ctx context.Context, c topology.Cluster) error {
	ctx, cancel := stepContext(ctx)
	defer cancel()
	instance, member := f.clients[c.Instance], f.clients[c.Name]
	err := f.once(c.Name+"/join", "v1", func() error {
		ca, err := f.pki(c.Name).CA()
		if err != nil {
			return err
		}
		token, err := f.serviceAccountToken(ctx, c.Name, joinNamespace, "karmada-"+c.Name)
		if err != nil {
			return err
		}
		impersonator, err := f.serviceAccountToken(ctx, c.Name, joinNamespace, "karmada-impersonator")
		if err != nil {
			return err
		}
		system, err := member.Get(ctx, namespaceGVK, "", "kube-system")
		if err != nil {
			return err
		}
		return instance.Apply(ctx, kube.MustParse(`
apiVersion: v1
kind: Secret
metadata: {name: %[1]s, namespace: %[2]s}
data: {token: %[3]s, caBundle: %[5]s}
---
apiVersion: v1
kind: Secret
metadata: {name: %[1]s-impersonator, namespace: %[2]s}
data: {token: %[4]s, caBundle: %[5]s}
---
apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata: {name: %[1]s}
spec:
  id: %[7]s
  syncMode: Push
  apiEndpoint: %[6]s
  secretRef: {namespace: %[2]s, name: %[1]s}
  impersonatorSecretRef: {namespace: %[2]s, name: %[1]s-impersonator}
  provider: %[8]s
  region: %[9]s
  zones: [%[10]s]
`, c.Name, joinNamespace, base64([]byte(token)), base64([]byte(impersonator)), base64(ca), f.ports.URL(c.Name+"/api"), system.GetUID(), c.Provider, c.Region, c.Zone)...)
	})
	if err != nil {
		return err
	}
	// Somebody may have taken the member out of the instance since; that is not ours to undo.
	if _, err := instance.Get(ctx, karmadaClusterGVK, "", c.Name); apierrors.IsNotFound(err) {
		f.report.Sayf("%-32s is no longer joined to %s; left so", c.Name, c.Instance)
		return nil
	}
	return instance.WaitFor(ctx, karmadaClusterGVK, "", c.Name, func(o *unstructured.Unstructured) string {
		return kube.ConditionIs(o, "Ready", "True")
	})
}
