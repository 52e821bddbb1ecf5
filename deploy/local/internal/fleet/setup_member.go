package fleet

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/deploy/internal/kube"
	"github.com/kairship-io/kairship/deploy/local/internal/samples"
	"github.com/kairship-io/kairship/deploy/local/internal/topology"
)

var (
	nodeGVK           = schema.GroupVersionKind{Version: "v1", Kind: "Node"}
	serviceAccountGVK = schema.GroupVersionKind{Version: "v1", Kind: "ServiceAccount"}
	inventoryGVK      = schema.GroupVersionKind{Group: "kairship.io", Version: "v1alpha1", Kind: "Cluster"}
	karmadaClusterGVK = schema.GroupVersionKind{Group: "cluster.karmada.io", Version: "v1alpha1", Kind: "Cluster"}
)

func (f *Fleet) memberTasks(c topology.Cluster) []task {
	return []task{
		{name: c.Name + "/nodes", needs: []string{c.Name + "-kcm", c.Name + "-scheduler", c.Name + "-kwok"}, run: func(ctx context.Context) error { return f.setUpNodes(ctx, c) }},
		{name: c.Name + "/credentials", needs: []string{c.Name + "-kcm"}, run: func(ctx context.Context) error { return f.setUpAccounts(ctx, c) }},
	}
}

// joinTask waits for what Kairship does with a member.
func (f *Fleet) joinTask(c topology.Cluster) task {
	needs := []string{"global/registration", "kairship-controller-manager-0", "kairship-controller-manager-1"}
	for _, instance := range topology.WithRole(topology.Instance) { // It may be a member of any by now.
		needs = append(needs, instance.Name+"/api", instance.Name+"-controller-manager")
	}
	return task{name: c.Name + "/join", needs: needs, run: func(ctx context.Context) error { return f.awaitJoined(ctx, c) }}
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
	n := kube.MustParse(`
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
	if c.Metrics {
		annotations := n.GetAnnotations()
		annotations[metricsPath] = "/metrics/nodes/" + name + "/metrics/resource"
		n.SetAnnotations(annotations)
	}
	return n
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

// setUpAccounts makes an account for Kairship's inventory, and gives the instance's admins the role to read
// in the member: Karmada's proxy asks the member as the person, and the member decides by its own roles.
// What Karmada needs in the member, Kairship makes when it joins it. The custom kinds of the samples are made
// here too.
func (f *Fleet) setUpAccounts(ctx context.Context, c topology.Cluster) error {
	// Administrator, because joining a cluster to an instance creates an administrator for Karmada.
	objects := append([]*unstructured.Unstructured{namespace(topology.SystemNamespace)},
		serviceAccount(topology.SystemNamespace, kairshipAccount, "cluster-admin")...)
	objects = append(objects, memberReaders(c)...)
	kinds, err := samples.Kinds(c.Instance)
	if err != nil {
		return err
	}
	objects = append(objects, kinds...)
	return f.applyOnce(ctx, c.Name+"/credentials", c.Name, objects)
}

// memberReaders are the bindings of those who may reach a member through its instance, its admins, to
// Kubernetes' role view: Pods, their logs and most other kinds, and no Secrets.
func memberReaders(c topology.Cluster) []*unstructured.Unstructured {
	var bindings []*unstructured.Unstructured
	for _, b := range topology.Bindings() {
		if b.Instance != c.Instance || b.Role != "admin" {
			continue
		}
		bindings = append(bindings, kube.MustParse(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: "local-fleet:%[1]s-reads"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %[1]s}]
`, b.Person)...)
	}
	return bindings
}

// awaitJoined waits until Kairship has joined a member to the instance that its Cluster names, and
// Karmada reaches it there.
func (f *Fleet) awaitJoined(ctx context.Context, c topology.Cluster) error {
	ctx, cancel := stepContext(ctx)
	defer cancel()
	// A user may have taken the member away or somewhere else since; that is not ours to undo.
	inventory, err := f.clients["global"].Get(ctx, inventoryGVK, "", c.Name)
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	instance := ""
	if err == nil {
		instance, _, _ = unstructured.NestedString(inventory.Object, "spec", "instanceRef", "name")
	}
	if f.clients[instance] == nil || inventory.GetDeletionTimestamp() != nil {
		f.report.Sayf("%-32s is not to be a member of an instance any more; left so", c.Name)
		return nil
	}
	if instance != c.Instance {
		f.report.Sayf("%-32s is a member of %s now; left so", c.Name, instance)
	}
	begun := time.Now()
	err = f.clients["global"].WaitFor(ctx, inventoryGVK, "", c.Name, func(o *unstructured.Unstructured) string {
		return kube.ConditionIs(o, "Joined", "True")
	})
	if err != nil {
		return err
	}
	err = f.clients[instance].WaitFor(ctx, karmadaClusterGVK, "", c.Name, func(o *unstructured.Unstructured) string {
		return kube.ConditionIs(o, "Ready", "True")
	})
	if waited := time.Since(begun); err == nil && waited > time.Second {
		f.report.Step(c.Name+"/join", "joined to "+instance, waited)
	}
	return err
}

// checkMembers finds a fleet whose members an earlier version of this program joined by hand.
// Kairship leaves alone what it did not join, and they would never become its own.
func (f *Fleet) checkMembers() error {
	if f.settings.WithoutKairship {
		return nil
	}
	for _, c := range topology.WithRole(topology.Member) {
		if _, byHand := f.state.Steps[c.Name+"/join"]; byHand {
			return fmt.Errorf("the members of this fleet were joined by an earlier version of this program, and Kairship, which joins them now, leaves alone what it did not join: remove the fleet with `down --purge`, and start it anew")
		}
	}
	return nil
}
