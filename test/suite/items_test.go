package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1alpha1 "github.com/karmada-io/karmada/pkg/apis/apps/v1alpha1"
	autoscalingv1alpha1 "github.com/karmada-io/karmada/pkg/apis/autoscaling/v1alpha1"
	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	networkingv1alpha1 "github.com/karmada-io/karmada/pkg/apis/networking/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kairshipv1alpha1 "github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	gqlschema "github.com/kairship-io/kairship/test/internal/schema"
)

// item is what a cluster itself reports about something that a list may show.
type item struct {
	client.Object
	// name is what nameOf gives for it.
	name string
	// instance it belongs to, and its kind in the schema, of a workload.
	instance, kind string
	// clusters that a workload is scheduled to, and its health as it is made to be.
	clusters []string
	health   string
	// ready is how many of its replicas its clusters told Karmada to be ready.
	ready int
}

// within reports whether it is in one of these namespaces.
func (i item) within(namespaces ...string) bool { return slices.Contains(namespaces, i.GetNamespace()) }

// labelled reports whether its labels match.
func (i item) labelled(selector string) bool {
	s, err := labels.Parse(selector)
	if err != nil {
		panic(err)
	}
	return s.Matches(labels.Set(i.GetLabels()))
}

// truthLife is how long what the clusters said is compared with: a test asks again
// and again of a fleet that hardly changes, and reading all of it takes longer than
// asking Kairship.
const truthLife = time.Second

// reported is what the clusters said of a list, and when.
type reported struct {
	items []item
	at    time.Time
}

// items reads everything that a list could show without a filter, past Kairship.
func (w *world) items(ctx context.Context, t testing.TB, list gqlschema.List) ([]item, error) {
	t.Helper()
	if known, ok := w.reported.Load(list.Key()); ok && time.Since(known.(reported).at) < truthLife {
		return known.(reported).items, nil
	}
	at := time.Now()
	items, err := w.read(ctx, t, list)
	if err == nil {
		w.reported.Store(list.Key(), reported{items, at})
	}
	return items, err
}

// read reads them.
func (w *world) read(ctx context.Context, t testing.TB, list gqlschema.List) ([]item, error) {
	t.Helper()
	switch list.Node {
	case "Workload":
		return w.workloadItems(ctx, t, list)
	case "Pod":
		return w.podItems(ctx, t, list)
	case "Event":
		return w.eventItems(ctx, t, list)
	}
	if list.Node == "ClusterNode" {
		return listItems(ctx, w.fleet.Client(t, "m1"), &corev1.NodeList{}, "alpha/m1/")
	}
	if list.Parent == "MemberCluster" {
		return listItems(ctx, w.fleet.Client(t, "m1"), &appsv1.DeploymentList{}, "alpha/Deployment/m1/")
	}
	cluster, objects := "alpha", client.ObjectList(nil)
	switch list.Node {
	case "Instance":
		cluster, objects = "global", &kairshipv1alpha1.InstanceList{}
	case "Cluster":
		cluster, objects = "global", &kairshipv1alpha1.ClusterList{}
	case "MemberCluster":
		cluster, objects = "beta", &clusterv1alpha1.ClusterList{}
	case "RoleBinding":
		return w.roleBindingItems(ctx, t)
	case "Namespace":
		objects = &corev1.NamespaceList{}
	case "PropagationPolicy":
		objects = &policyv1alpha1.PropagationPolicyList{}
	case "ClusterPropagationPolicy":
		objects = &policyv1alpha1.ClusterPropagationPolicyList{}
	case "OverridePolicy":
		objects = &policyv1alpha1.OverridePolicyList{}
	case "ClusterOverridePolicy":
		objects = &policyv1alpha1.ClusterOverridePolicyList{}
	case "FederatedHPA":
		objects = &autoscalingv1alpha1.FederatedHPAList{}
	case "CronFederatedHPA":
		objects = &autoscalingv1alpha1.CronFederatedHPAList{}
	case "MultiClusterService":
		objects = &networkingv1alpha1.MultiClusterServiceList{}
	case "FederatedResourceQuota":
		objects = &policyv1alpha1.FederatedResourceQuotaList{}
	case "WorkloadRebalancer":
		objects = &appsv1alpha1.WorkloadRebalancerList{}
	case "Resource":
		objects = &corev1.ConfigMapList{}
	default:
		return nil, fmt.Errorf("no test knows the truth about %s: add it here", list.Node)
	}
	prefix := ""
	switch list.Node {
	case "Instance", "Cluster":
	case "Resource":
		prefix = cluster + "/ConfigMap/"
	default:
		prefix = cluster + "/"
	}
	all, err := listItems(ctx, w.fleet.Client(t, cluster), objects, prefix)
	if err != nil || list.Key() != "Query.resources" {
		return all, err
	}
	ofBeta, err := listItems(ctx, w.fleet.Client(t, "beta"), &corev1.ConfigMapList{}, "beta/ConfigMap/")
	return append(all, ofBeta...), err
}

func listItems(ctx context.Context, c client.Client, objects client.ObjectList, prefix string) ([]item, error) {
	if err := c.List(ctx, objects); err != nil {
		return nil, err
	}
	raw, err := meta.ExtractList(objects)
	if err != nil {
		return nil, err
	}
	all := make([]item, len(raw))
	for i, o := range raw {
		object := o.(client.Object)
		all[i] = item{Object: object, name: prefix + fullName(object)}
	}
	return all, nil
}

func fullName(o client.Object) string {
	if o.GetNamespace() == "" {
		return o.GetName()
	}
	return o.GetNamespace() + "/" + o.GetName()
}

func (w *world) eventItems(ctx context.Context, t testing.TB, list gqlschema.List) ([]item, error) {
	all, err := listItems(ctx, w.fleet.Client(t, "alpha"), &corev1.EventList{}, "")
	if list.Parent == "Instance" || err != nil {
		return all, err
	}
	// The list of one workload's events.
	k := workloadKinds[list.Parent]
	about := newWorkload(k.enum)
	if err := w.fleet.Client(t, "alpha").Get(ctx, client.ObjectKey{Namespace: w.many, Name: counted(list.Parent)}, about); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(i item) bool {
		return i.Object.(*corev1.Event).InvolvedObject.UID != about.GetUID()
	}), nil
}

// workloadItems reads workloads with where their bindings send them.
func (w *world) workloadItems(ctx context.Context, t testing.TB, list gqlschema.List) ([]item, error) {
	instances := []string{"alpha"}
	if list.Parent == "Query" {
		instances = append(instances, "beta")
	}
	var all []item
	for _, instance := range instances {
		c := w.fleet.Client(t, instance)
		var bindings workv1alpha2.ResourceBindingList
		if err := c.List(ctx, &bindings); err != nil {
			return nil, err
		}
		targets, ready := map[types.UID][]string{}, map[types.UID]int{}
		for _, b := range bindings.Items {
			for _, reported := range b.Status.AggregatedStatus {
				if reported.Status == nil {
					continue
				}
				var s struct{ ReadyReplicas, NumberReady, Succeeded int }
				if err := json.Unmarshal(reported.Status.Raw, &s); err != nil {
					return nil, err
				}
				ready[b.Spec.Resource.UID] += s.ReadyReplicas + s.NumberReady + s.Succeeded
			}
			for _, target := range b.Spec.Clusters {
				targets[b.Spec.Resource.UID] = append(targets[b.Spec.Resource.UID], target.Name)
			}
		}
		for _, k := range workloadKinds {
			gv, err := schema.ParseGroupVersion(k.group)
			if err != nil {
				return nil, err
			}
			objects := &metav1.PartialObjectMetadataList{}
			objects.SetGroupVersionKind(gv.WithKind(k.kind + "List"))
			found, err := listItems(ctx, c, objects, instance+"/"+k.enum+"/")
			if err != nil {
				return nil, err
			}
			for i := range found {
				o := &found[i]
				o.instance, o.kind, o.clusters, o.health = instance, k.enum, targets[o.GetUID()], "UNPROPAGATED"
				o.ready = ready[o.GetUID()]
				if made := suiteHealth[w.short(o.name)]; made != "" {
					o.health = made
				}
			}
			all = append(all, found...)
		}
	}
	switch list.Parent {
	case "PropagationPolicy":
		all = slices.DeleteFunc(all, func(i item) bool { return !i.claimedBy(w.a, "mix") })
	case "ClusterPropagationPolicy":
		all = slices.DeleteFunc(all, func(i item) bool { return !i.claimedBy("", "suite-"+w.id+"-mix") })
	}
	return all, nil
}

// short replaces the suite's namespaces by the letters that tables use.
func (w *world) short(name string) string {
	return strings.NewReplacer("/"+w.a+"/", "/a/", "/"+w.b+"/", "/b/").Replace(name)
}

// claimedBy reports whether Karmada wrote on a workload that this policy claimed
// it; a cluster policy has no namespace.
func (i item) claimedBy(namespace, name string) bool {
	a := i.GetAnnotations()
	if namespace == "" {
		return a[policyv1alpha1.ClusterPropagationPolicyAnnotation] == name
	}
	return a[policyv1alpha1.PropagationPolicyNamespaceAnnotation] == namespace && a[policyv1alpha1.PropagationPolicyNameAnnotation] == name
}
