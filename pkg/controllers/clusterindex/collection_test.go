package clusterindex

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	pediav1alpha2 "github.com/kairship-io/kairship/pkg/apis/clusterpedia/v1alpha2"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/connection"
	fleetcollection "github.com/kairship-io/kairship/pkg/fleet/collection"
	"github.com/kairship-io/kairship/pkg/fleet/fleettest"
)

func TestCollection(t *testing.T) {
	says := func(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message}
	}
	valid := says("Validated", "True", "Validated", "")
	running := says("SynchroRunning", "True", "Running", "cluster synchro is running")
	healthy := says("ClusterHealthy", "True", "Healthy", "ok")
	conditions := func(all ...metav1.Condition) []metav1.Condition { return all }

	resource := func(name string, states ...string) pediav1alpha2.ClusterResourceStatus {
		status := pediav1alpha2.ClusterResourceStatus{Name: name}
		for _, state := range states {
			status.SyncConditions = append(status.SyncConditions, pediav1alpha2.ClusterResourceSyncCondition{Status: state, Message: "about " + name + "\nmore"})
		}
		return status
	}
	apps := func(resources ...pediav1alpha2.ClusterResourceStatus) []pediav1alpha2.ClusterGroupResourcesStatus {
		return []pediav1alpha2.ClusterGroupResourcesStatus{{Group: "apps", Resources: resources}}
	}
	asked := []pediav1alpha2.ClusterGroupResources{{Group: "apps", Resources: []string{"deployments", "daemonsets"}}}
	both := apps(resource("deployments", "Syncing"), resource("daemonsets", "Syncing"))

	for _, c := range []struct {
		reason string
		status pediav1alpha2.ClusterStatus
		want   string
		says   string
	}{
		{"it was not taken up", pediav1alpha2.ClusterStatus{}, "Unknown/Pending", "clustersynchro-manager"},
		{
			"the spec is refused", pediav1alpha2.ClusterStatus{Conditions: conditions(says("Validated", "False", "InvalidConfig", "no good"))},
			"False/RejectedByIndex", "no good",
		},
		{
			"a refused spec counts more than a collection that still runs",
			pediav1alpha2.ClusterStatus{Conditions: conditions(says("Validated", "False", "InvalidConfig", "no good"), running, healthy), SyncResources: both},
			"False/RejectedByIndex", "no good",
		},
		{
			"it waits for its turn", pediav1alpha2.ClusterStatus{Conditions: conditions(valid, says("SynchroRunning", "False", "WaitInit", ""), says("ClusterHealthy", "Unknown", "MonitorStop", ""))},
			"Unknown/Pending", "not begun",
		},
		{
			"it could not begin", pediav1alpha2.ClusterStatus{Conditions: conditions(valid, says("SynchroRunning", "False", "InitialFailed", "connection refused"), says("ClusterHealthy", "Unknown", "MonitorStop", ""))},
			"False/CollectionFailed", "connection refused",
		},
		{
			"the apiserver died", pediav1alpha2.ClusterStatus{Conditions: conditions(valid, running, says("ClusterHealthy", "False", "NotReachable", "timeout")), SyncResources: both},
			"False/SourceUnreachable", "what it had collected is still served: timeout",
		},
		{"it runs and has not chosen its resources yet", pediav1alpha2.ClusterStatus{Conditions: conditions(valid, running, healthy)}, "Unknown/Pending", "not begun"},
		{"all is well", pediav1alpha2.ClusterStatus{Conditions: conditions(valid, running, healthy), SyncResources: both}, "True/Collecting", "collects 2 kinds of resources."},
		{
			"a kind that is not served is named, and no failure",
			pediav1alpha2.ClusterStatus{Conditions: conditions(valid, running, healthy), SyncResources: apps(resource("deployments", "Syncing"))},
			"True/Collecting", "Not served by this apiserver: daemonsets.apps.",
		},
		{
			"a kind that fails is named, with its message on one line",
			pediav1alpha2.ClusterStatus{Conditions: conditions(valid, running, healthy), SyncResources: apps(resource("deployments", "Syncing"), resource("daemonsets", "Pending", "Error"))},
			"False/CollectionFailed", "cannot collect daemonsets.apps: about daemonsets more",
		},
		{
			"of many kinds that fail some are named",
			pediav1alpha2.ClusterStatus{Conditions: conditions(valid, running, healthy), SyncResources: apps(
				resource("a", "Error"), resource("b", "Error"), resource("c", "Error"), resource("d", "Error"), resource("e", "Error"), resource("f", "Error"))},
			"False/CollectionFailed", "a.apps, b.apps, c.apps, d.apps and 2 more: about a",
		},
		{
			"a long message is cut", pediav1alpha2.ClusterStatus{Conditions: conditions(says("Validated", "False", "InvalidConfig", strings.Repeat("ä", 1000)))},
			"False/RejectedByIndex", strings.Repeat("ä", 300) + "…",
		},
	} {
		got := collection(&pediav1alpha2.PediaCluster{Spec: pediav1alpha2.ClusterSpec{SyncResources: asked}, Status: c.status})
		if word := string(got.Status) + "/" + got.Reason; word != c.want || got.Type != v1alpha1.ConditionIndexed {
			t.Errorf("%s: got %s %s, want %s", c.reason, got.Type, word, c.want)
		}
		if !strings.Contains(got.Message, c.says) {
			t.Errorf("%s: the message does not say %q: %s", c.reason, c.says, got.Message)
		}
	}
}

// TestAnInstanceIsNotCollectedWithoutItsMembers although nothing fails.
func TestAnInstanceIsNotCollectedWithoutItsMembers(t *testing.T) {
	yes := func(kind string) metav1.Condition { return metav1.Condition{Type: kind, Status: "True"} }
	pedia := &pediav1alpha2.PediaCluster{Spec: pediav1alpha2.ClusterSpec{SyncResources: fleetcollection.OfInstances()}, Status: pediav1alpha2.ClusterStatus{
		Conditions:    []metav1.Condition{yes("Validated"), yes("SynchroRunning"), yes("ClusterHealthy")},
		SyncResources: []pediav1alpha2.ClusterGroupResourcesStatus{fleettest.Kind("services", "Syncing", time.Now())},
	}}
	if got := collection(pedia); got.Reason != v1alpha1.ReasonCollectionFailed || !strings.Contains(got.Message, "does not collect the member clusters") {
		t.Errorf("without its members it is %s: %s", got.Reason, got.Message)
	}
	pedia.Status.SyncResources = append(pedia.Status.SyncResources, fleettest.Members("Syncing", time.Now()))
	if got := collection(pedia); got.Status != metav1.ConditionTrue {
		t.Errorf("with its members it is %s: %s", got.Reason, got.Message)
	}
}

func TestResources(t *testing.T) {
	flat := func(groups []pediav1alpha2.ClusterGroupResources) []string {
		var all []string
		for _, group := range groups {
			for _, resource := range group.Resources {
				all = append(all, strings.TrimSuffix(resource+"."+group.Group, ".")+" "+strings.Join(group.Versions, ","))
			}
		}
		slices.Sort(all)
		return all
	}
	var none Collect
	// Both lists are spelled out: a commit that changes what is collected changes what
	// lies in the index's database, and should notice.
	if diff := cmp.Diff([]string{
		"clusteroverridepolicies.policy.karmada.io v1alpha1", "clusterpropagationpolicies.policy.karmada.io v1alpha1",
		"clusterresourcebindings.work.karmada.io v1alpha2", "clusters.cluster.karmada.io v1alpha1", "configmaps ",
		"cronfederatedhpas.autoscaling.karmada.io v1alpha1", "cronjobs.batch ", "customresourcedefinitions.apiextensions.k8s.io ",
		"daemonsets.apps ", "deployments.apps ", "events ", "federatedhpas.autoscaling.karmada.io v1alpha1",
		"federatedresourcequotas.policy.karmada.io v1alpha1", "ingresses.networking.k8s.io ", "jobs.batch ",
		"multiclusteringresses.networking.karmada.io v1alpha1", "multiclusterservices.networking.karmada.io v1alpha1", "namespaces ",
		"overridepolicies.policy.karmada.io v1alpha1", "propagationpolicies.policy.karmada.io v1alpha1", "remedies.remedy.karmada.io v1alpha1",
		"resourcebindings.work.karmada.io v1alpha2", "resourceinterpretercustomizations.config.karmada.io v1alpha1",
		"serviceexports.multicluster.x-k8s.io v1alpha1", "serviceimports.multicluster.x-k8s.io v1alpha1", "services ", "statefulsets.apps ",
		"workloadrebalancers.apps.karmada.io v1alpha1", "works.work.karmada.io v1alpha1",
	}, flat(none.kinds(v1alpha1.ClusterTypeVirtual, nil))); diff != "" {
		t.Errorf("of a virtual cluster (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{
		"controllerrevisions.apps ", "cronjobs.batch ", "daemonsets.apps ", "deployments.apps ", "events ", "horizontalpodautoscalers.autoscaling v2",
		"ingressclasses.networking.k8s.io ", "ingresses.networking.k8s.io ", "jobs.batch ", "namespaces ", "nodes ", "persistentvolumeclaims ", "pods ",
		"replicasets.apps ", "services ", "statefulsets.apps ",
	}, flat(none.kinds(v1alpha1.ClusterTypePhysical, nil))); diff != "" {
		t.Errorf("of a physical cluster (-want +got):\n%s", diff)
	}
}

// TestCollect adds what the fleet and an instance ask for, and nothing twice.
func TestCollect(t *testing.T) {
	kind := func(group, version, resource string) v1alpha1.CollectedKind {
		return v1alpha1.CollectedKind{Group: group, Version: version, Resource: resource}
	}
	added := func(groups, to []pediav1alpha2.ClusterGroupResources) []pediav1alpha2.ClusterGroupResources {
		return groups[len(to):]
	}
	fleet := Collect{OfInstances: []v1alpha1.CollectedKind{kind("argoproj.io", "v1alpha1", "rollouts")}, OfMembers: []v1alpha1.CollectedKind{kind("", "v1", "endpoints")}}
	alpha := &v1alpha1.Instance{Spec: v1alpha1.InstanceSpec{Collect: &v1alpha1.CollectedKinds{
		OfInstance: []v1alpha1.CollectedKind{kind("argoproj.io", "v1", "rollouts"), kind("apps", "v1beta1", "deployments"), kind("flink.apache.org", "v1beta1", "flinkdeployments")},
		OfMembers:  []v1alpha1.CollectedKind{kind("policy", "v1", "poddisruptionbudgets")},
	}}}
	group := func(group, version, resource string) pediav1alpha2.ClusterGroupResources {
		return pediav1alpha2.ClusterGroupResources{Group: group, Versions: []string{version}, Resources: []string{resource}}
	}
	rollouts, endpoints := group("argoproj.io", "v1alpha1", "rollouts"), group("", "v1", "endpoints")
	for _, c := range []struct {
		reason   string
		of       v1alpha1.ClusterType
		instance *v1alpha1.Instance
		want     []pediav1alpha2.ClusterGroupResources
	}{
		{"an instance without wishes", v1alpha1.ClusterTypeVirtual, &v1alpha1.Instance{}, []pediav1alpha2.ClusterGroupResources{rollouts}},
		{"the fleet's version counts, and what is always collected stays", v1alpha1.ClusterTypeVirtual, alpha, []pediav1alpha2.ClusterGroupResources{rollouts, group("flink.apache.org", "v1beta1", "flinkdeployments")}},
		{"a cluster of no instance", v1alpha1.ClusterTypePhysical, nil, []pediav1alpha2.ClusterGroupResources{endpoints}},
		{"a member", v1alpha1.ClusterTypePhysical, alpha, []pediav1alpha2.ClusterGroupResources{endpoints, group("policy", "v1", "poddisruptionbudgets")}},
	} {
		always := fleetcollection.OfMembers()
		if c.of == v1alpha1.ClusterTypeVirtual {
			always = fleetcollection.OfInstances()
		}
		if diff := cmp.Diff(c.want, added(fleet.kinds(c.of, c.instance), always)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.reason, diff)
		}
	}
}

func TestPediaClusterChecksTheServingCertificate(t *testing.T) {
	cluster := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m1"}}
	to := connection.Connection{Endpoint: "https://m1", Token: "t"}
	kubeconfig, err := to.Kubeconfig()
	if err != nil {
		t.Fatal(err)
	}
	// With tokenData and no caData Clusterpedia would switch the check off.
	if len(pediaCluster(cluster, to, nil).Spec.TokenData) > 0 || strings.Contains(string(kubeconfig), "insecure") {
		t.Errorf("the serving certificate would not be checked:\n%s", kubeconfig)
	}
}

// A collection that begins is complete once everything was listed and stored.
func TestUnlisted(t *testing.T) {
	resource := func(name string, states ...pediav1alpha2.ClusterResourceSyncCondition) pediav1alpha2.ClusterResourceStatus {
		return pediav1alpha2.ClusterResourceStatus{Name: name, SyncConditions: states}
	}
	syncing := pediav1alpha2.ClusterResourceSyncCondition{Status: pediav1alpha2.ResourceSyncStatusSyncing, Version: "v1"}
	pending := pediav1alpha2.ClusterResourceSyncCondition{Status: pediav1alpha2.ResourceSyncStatusPending}
	storing := syncing
	storing.InitialListPhase = true
	for _, c := range []struct {
		reason    string
		resources []pediav1alpha2.ClusterResourceStatus
		want      []string
	}{
		{"nothing is collected", nil, nil},
		{"everything is stored", []pediav1alpha2.ClusterResourceStatus{resource("deployments", syncing), resource("daemonsets", syncing)}, nil},
		{"the list was not begun", []pediav1alpha2.ClusterResourceStatus{resource("deployments", syncing), resource("daemonsets", pending)}, []string{"daemonsets.apps"}},
		{"the list is being stored", []pediav1alpha2.ClusterResourceStatus{resource("deployments", storing), resource("daemonsets", syncing)}, []string{"deployments.apps"}},
		{"one of two versions is being stored", []pediav1alpha2.ClusterResourceStatus{resource("deployments", syncing, storing)}, []string{"deployments.apps"}},
	} {
		pedia := &pediav1alpha2.PediaCluster{Status: pediav1alpha2.ClusterStatus{
			SyncResources: []pediav1alpha2.ClusterGroupResourcesStatus{{Group: "apps", Resources: c.resources}},
		}}
		if diff := cmp.Diff(c.want, unlisted(pedia)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.reason, diff)
		}
	}
}
