package controllers

import (
	"context"
	"fmt"
	"testing"
	"time"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/test/internal/fleet"
)

// sums are what kubectl would add up over a member: its nodes, and the pods that
// run on them.
func (w *watcher) sums(ctx context.Context, member string) (v1alpha1.ClusterSummary, error) {
	s := v1alpha1.ClusterSummary{}
	nodes, pods := &corev1.NodeList{}, &corev1.PodList{}
	at := w.fleet.Client(w, member)
	if err := at.List(ctx, nodes); err != nil {
		return s, err
	}
	if err := at.List(ctx, pods); err != nil {
		return s, err
	}
	for i := range nodes.Items {
		node := &nodes.Items[i]
		s.Nodes.Total++
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
				s.Nodes.Ready++
			}
		}
		s.CPU.Allocatable.Add(*node.Status.Allocatable.Cpu())
		s.Memory.Allocatable.Add(*node.Status.Allocatable.Memory())
		s.Pods.Allocatable.Add(*node.Status.Allocatable.Pods())
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		s.Pods.Allocated.Add(resource.MustParse("1"))
		for j := range pod.Spec.Containers {
			requests := pod.Spec.Containers[j].Resources.Requests
			s.CPU.Allocated.Add(*requests.Cpu())
			s.Memory.Allocated.Add(*requests.Memory())
		}
	}
	return s, nil
}

// truth is the summary that an instance should have, by reading everything.
func (w *watcher) truth(ctx context.Context, instance string) (*v1alpha1.InstanceSummary, map[string]v1alpha1.ClusterSummary, error) {
	total, members := &v1alpha1.InstanceSummary{}, map[string]v1alpha1.ClusterSummary{}
	for _, member := range w.fleet.Members(instance) {
		s, err := w.sums(ctx, member)
		if err != nil {
			return nil, nil, err
		}
		members[member] = s
		addMember(total, s, true)
	}
	at := w.fleet.Client(w, instance)
	for _, kind := range []struct {
		name string
		list client.ObjectList
		size func() int
	}{
		workloadKind(&appsv1.DeploymentList{}, "Deployment", func(l *appsv1.DeploymentList) int { return len(l.Items) }),
		workloadKind(&appsv1.StatefulSetList{}, "StatefulSet", func(l *appsv1.StatefulSetList) int { return len(l.Items) }),
		workloadKind(&appsv1.DaemonSetList{}, "DaemonSet", func(l *appsv1.DaemonSetList) int { return len(l.Items) }),
		workloadKind(&batchv1.JobList{}, "Job", func(l *batchv1.JobList) int { return len(l.Items) }),
		workloadKind(&batchv1.CronJobList{}, "CronJob", func(l *batchv1.CronJobList) int { return len(l.Items) }),
		workloadKind(&policyv1alpha1.PropagationPolicyList{}, "PropagationPolicy", func(l *policyv1alpha1.PropagationPolicyList) int { return len(l.Items) }),
		workloadKind(&policyv1alpha1.ClusterPropagationPolicyList{}, "ClusterPropagationPolicy", func(l *policyv1alpha1.ClusterPropagationPolicyList) int { return len(l.Items) }),
		workloadKind(&policyv1alpha1.OverridePolicyList{}, "OverridePolicy", func(l *policyv1alpha1.OverridePolicyList) int { return len(l.Items) }),
		workloadKind(&policyv1alpha1.ClusterOverridePolicyList{}, "ClusterOverridePolicy", func(l *policyv1alpha1.ClusterOverridePolicyList) int { return len(l.Items) }),
	} {
		if err := at.List(ctx, kind.list); err != nil {
			return nil, nil, err
		}
		if _, policy := policyKinds[kind.name]; policy {
			total.Policies = append(total.Policies, v1alpha1.KindCount{Group: "policy.karmada.io", Kind: kind.name, Total: int64(kind.size())})
			continue
		}
		total.Workloads = append(total.Workloads, v1alpha1.WorkloadCount{Kind: kind.name, ReadyCount: v1alpha1.ReadyCount{Total: int64(kind.size())}})
	}
	return total, members, nil
}

var policyKinds = map[string]bool{"PropagationPolicy": true, "ClusterPropagationPolicy": true, "OverridePolicy": true, "ClusterOverridePolicy": true}

// workloadKind ties a list to its size.
func workloadKind[List client.ObjectList](list List, name string, size func(List) int) struct {
	name string
	list client.ObjectList
	size func() int
} {
	return struct {
		name string
		list client.ObjectList
		size func() int
	}{name, list, func() int { return size(list) }}
}

func addMember(total *v1alpha1.InstanceSummary, s v1alpha1.ClusterSummary, ready bool) {
	total.Clusters.Total++
	total.Nodes.Total += s.Nodes.Total
	if ready {
		total.Clusters.Ready++
		total.Nodes.Ready += s.Nodes.Ready
	}
	for _, pair := range []struct{ to, from *v1alpha1.Capacity }{{&total.CPU, &s.CPU}, {&total.Memory, &s.Memory}, {&total.Pods, &s.Pods}} {
		pair.to.Allocatable.Add(pair.from.Allocatable)
		pair.to.Allocated.Add(pair.from.Allocated)
	}
}

// same compares figures; what depends on rollouts is not in the truth.
func same(what string, want, got any) error {
	if equality.Semantic.DeepEqual(want, got) {
		return nil
	}
	return fmt.Errorf("%s (-want +got):\n%s", what, cmp.Diff(want, got))
}

// agrees waits until the summaries of an instance and of its members are the sums
// over the members.
func (w *watcher) agrees(instance, after string) *v1alpha1.InstanceSummary {
	w.Helper()
	begun := time.Now()
	var last *v1alpha1.InstanceSummary
	poll.Until(w.T, counted, "the figures after "+after, func(ctx context.Context) error {
		want, members, err := w.truth(ctx, instance)
		if err != nil {
			return err
		}
		stored, err := w.instance(ctx, instance)
		if err != nil {
			return err
		}
		if stored.Status.Summary == nil {
			return fmt.Errorf("%s has no summary", instance)
		}
		got := stored.Status.Summary.DeepCopy()
		last = stored.Status.Summary
		got.Resources = nil
		for i := range got.Workloads {
			got.Workloads[i].Ready = 0
		}
		if err := same("summary of "+instance, want, got); err != nil {
			return err
		}
		for name, want := range members {
			cluster, err := w.cluster(ctx, name)
			if err != nil {
				return err
			}
			if err := same("summary of "+name, &want, cluster.Status.Summary); err != nil {
				return err
			}
		}
		return nil
	})
	w.Logf("after %s the figures were right within %.1fs: %d/%d clusters, %d/%d nodes, cpu %s of %s, memory %s of %s, pods %s of %s", after, time.Since(begun).Seconds(),
		last.Clusters.Ready, last.Clusters.Total, last.Nodes.Ready, last.Nodes.Total, last.CPU.Allocated.String(), last.CPU.Allocatable.String(),
		last.Memory.Allocated.String(), last.Memory.Allocatable.String(), last.Pods.Allocated.String(), last.Pods.Allocatable.String())
	return last
}

func TestFiguresAreTheSumsOverTheMembers(t *testing.T) {
	w := openStatus(t)
	alpha, m1 := w.fleet.Client(t, "alpha"), w.fleet.Client(t, "m1")
	w.agrees("alpha", "the start")

	const name = statusPrefix + "figures"
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	labels := map[string]string{"app": name}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: name}, Spec: appsv1.DeploymentSpec{
		Replicas: new(int32(2)), Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "main", Image: "registry.example.com/figures:1", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("150m"), corev1.ResourceMemory: resource.MustParse("96Mi"),
			}},
		}}}},
	}}
	policy := &policyv1alpha1.PropagationPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: name}, Spec: policyv1alpha1.PropagationSpec{
		ResourceSelectors: []policyv1alpha1.ResourceSelector{{APIVersion: "apps/v1", Kind: "Deployment", Name: name}},
		Placement:         policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m1", "m2"}}},
	}}
	t.Cleanup(func() { w.remove(alpha, policy, deployment, namespace) })
	for _, object := range []client.Object{namespace, policy, deployment} {
		w.must(alpha.Create(t.Context(), object))
	}
	w.ready(alpha, name, 4)
	w.agrees("alpha", "creating a Deployment of 2 replicas on both members")
	poll.Until(t, counted, "it is counted as propagated and as ready", func(ctx context.Context) error {
		return w.propagated(ctx, alpha, "alpha")
	})

	w.must(alpha.Get(t.Context(), client.ObjectKeyFromObject(deployment), deployment))
	deployment.Spec.Replicas = new(int32(5))
	w.must(alpha.Update(t.Context(), deployment))
	w.ready(alpha, name, 10)
	w.agrees("alpha", "scaling it to 5")

	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
			Labels: map[string]string{"type": "kwok", "kubernetes.io/hostname": name},
		},
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("7"), corev1.ResourceMemory: resource.MustParse("13Gi"), corev1.ResourcePods: resource.MustParse("17"),
		}},
	}
	node.Status.Capacity = node.Status.Allocatable
	t.Cleanup(func() { w.remove(m1, node) })
	w.must(m1.Create(t.Context(), node))
	poll.Until(t, counted, "the node is ready", func(ctx context.Context) error {
		return w.nodeReady(ctx, m1, name)
	})
	w.agrees("alpha", "adding a node to m1")

	w.must(m1.Get(t.Context(), client.ObjectKeyFromObject(node), node))
	node.Spec.Unschedulable = true
	w.must(m1.Update(t.Context(), node))
	w.agrees("alpha", "cordoning it")

	w.must(m1.Delete(t.Context(), node))
	w.agrees("alpha", "taking it away again")
	w.must(alpha.Delete(t.Context(), deployment))
	w.agrees("alpha", "deleting the Deployment")
}

// ready waits until so many replicas of a Deployment are ready over all members.
func (w *watcher) ready(at client.Client, name string, want int32) {
	w.Helper()
	poll.Until(w.T, counted, fmt.Sprintf("%d replicas are ready", want), func(ctx context.Context) error {
		stored := &appsv1.Deployment{}
		if err := at.Get(ctx, client.ObjectKey{Namespace: name, Name: name}, stored); err != nil {
			return err
		}
		if stored.Status.ReadyReplicas != want {
			return fmt.Errorf("there are %d", stored.Status.ReadyReplicas)
		}
		return nil
	})
}

func (w *watcher) nodeReady(ctx context.Context, at client.Client, name string) error {
	node := &corev1.Node{}
	if err := at.Get(ctx, client.ObjectKey{Name: name}, node); err != nil {
		return err
	}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
			return nil
		}
	}
	return fmt.Errorf("its conditions are %v", node.Status.Conditions)
}

// propagated compares what is counted as propagated with the bindings, and what is
// counted as ready with the Deployments' own status.
func (w *watcher) propagated(ctx context.Context, at client.Client, instance string) error {
	bindings, deployments := &workv1alpha2.ResourceBindingList{}, &appsv1.DeploymentList{}
	if err := at.List(ctx, bindings); err != nil {
		return err
	}
	if err := at.List(ctx, deployments); err != nil {
		return err
	}
	want := map[string]int64{}
	for i := range bindings.Items {
		want[bindings.Items[i].Spec.Resource.Kind]++
	}
	var ready int64
	for i := range deployments.Items {
		d := &deployments.Items[i]
		if d.Status.ObservedGeneration >= d.Generation && d.Status.ReadyReplicas >= max(*d.Spec.Replicas, d.Status.Replicas) {
			ready++
		}
	}
	stored, err := w.instance(ctx, instance)
	if err != nil {
		return err
	}
	got := map[string]int64{}
	for _, c := range stored.Status.Summary.Resources {
		got[c.Kind] = c.Total
	}
	if err := same("propagated", want, got); err != nil {
		return err
	}
	for _, c := range stored.Status.Summary.Workloads {
		if c.Kind == "Deployment" && c.Ready != ready {
			return fmt.Errorf("%d Deployments are ready, want %d", c.Ready, ready)
		}
	}
	return nil
}

// TestALostMemberKeepsItsFigures kills m2's apiserver.
func TestALostMemberKeepsItsFigures(t *testing.T) {
	w := openStatus(t)
	w.agrees("alpha", "the start")
	before, members, err := w.truth(t.Context(), "alpha")
	w.must(err)

	begun := time.Now()
	w.fleet.Kill(t, "m2-apiserver")
	poll.Until(t, 2*counted, "the loss is told", func(ctx context.Context) error {
		instance, err := w.instance(ctx, "alpha")
		if err != nil {
			return err
		}
		got := instance.Status.Summary
		want := before.DeepCopy()
		want.Clusters.Ready--
		want.Nodes.Ready -= members["m2"].Nodes.Ready
		want.Workloads, want.Resources = got.Workloads, got.Resources
		if len(got.StaleClusters) != 1 || got.StaleClusters[0].Name != "m2" || got.StaleClusters[0].Since.Time.Before(begun.Add(-time.Second)) {
			return fmt.Errorf("old figures are %+v", got.StaleClusters)
		}
		want.StaleClusters = got.StaleClusters
		if err := same("summary of alpha", want, got); err != nil {
			return err
		}
		cluster, err := w.cluster(ctx, "m2")
		if err != nil {
			return err
		}
		if s := cluster.Status.Summary; s == nil || s.StaleSince == nil || s.Nodes.Ready != 0 || s.Nodes.Total != members["m2"].Nodes.Total {
			return fmt.Errorf("the summary of m2 is %+v", s)
		}
		return nil
	})
	w.Logf("the loss of m2 was told after %.1fs", time.Since(begun).Seconds())
	if age := fleet.Metric(w.metrics(), `kairship_instance_clusters_ready{instance="alpha"}`); age != "1" {
		t.Errorf("the metrics have %s ready clusters, want 1", age)
	}
	begun = time.Now()
	w.fleet.Heal(t)
	w.agrees("alpha", "the return of m2")
	w.Logf("the return of m2 was told after %.1fs", time.Since(begun).Seconds())
}
