package suite

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/test/internal/fleet"
)

// The answer to the query of the README, and the same as the clusters tell it.
type (
	fleetAnswer struct {
		Instances struct {
			Nodes []instanceAnswer `json:"nodes"`
		} `json:"instances"`
	}
	instanceAnswer struct {
		Name              string `json:"name"`
		State             string `json:"state"`
		KarmadaVersion    string `json:"karmadaVersion"`
		KubernetesVersion string `json:"kubernetesVersion"`
		MemberClusters    struct {
			Nodes []memberAnswer `json:"nodes"`
		} `json:"memberClusters"`
		Workloads struct {
			Nodes []workloadAnswer `json:"nodes"`
		} `json:"workloads"`
	}
	memberAnswer struct {
		Name              string `json:"name"`
		Ready             bool   `json:"ready"`
		KubernetesVersion string `json:"kubernetesVersion"`
	}
	workloadAnswer struct {
		Kind             string            `json:"kind"`
		Namespace        string            `json:"namespace"`
		Name             string            `json:"name"`
		Replicas         replicasAnswer    `json:"replicas"`
		Health           string            `json:"health"`
		Policy           *nameAnswer       `json:"policy"`
		OverridePolicies []nameAnswer      `json:"overridePolicies"`
		Placements       []placementAnswer `json:"placements"`
	}
	replicasAnswer struct {
		Desired int32 `json:"desired"`
		Ready   int32 `json:"ready"`
	}
	nameAnswer      struct{ Name string }
	placementAnswer struct {
		ClusterName string        `json:"clusterName"`
		Desired     *int32        `json:"desired"`
		Ready       *int32        `json:"ready"`
		Health      string        `json:"health"`
		Object      *objectAnswer `json:"object"`
	}
	objectAnswer struct {
		UID    string      `json:"uid"`
		Images []string    `json:"images"`
		Pods   []podAnswer `json:"pods"`
	}
	podAnswer struct {
		Name  string `json:"name"`
		Phase string `json:"phase"`
	}
)

func (w workloadAnswer) key() string { return w.Kind + " " + w.Namespace + "/" + w.Name }

// sampleHealth is the health that each sample application is made to have, and
// with it which applications there are.
var sampleHealth = map[string]map[string]string{
	"alpha": {
		"DEPLOYMENT shop/frontend": "HEALTHY",
		"DEPLOYMENT shop/orphan":   "UNPROPAGATED", // No policy selects it.
		"DEPLOYMENT shop/stuck":    "UNSCHEDULED",  // Its policy wants a label that no cluster has.
		"STATEFUL_SET shop/cart":   "HEALTHY",
		"DAEMON_SET ops/agent":     "HEALTHY",
		"CRON_JOB ops/report":      "HEALTHY",
		"JOB ops/migrate":          "HEALTHY",
	},
	"beta": {
		"DEPLOYMENT billing/api":      "HEALTHY",
		"STATEFUL_SET billing/ledger": "HEALTHY",
	},
}

// truth reads clusters directly.
type truth struct {
	t     testing.TB
	fleet *fleet.Fleet
}

// whole is the answer that the query of the README must give for the sample applications.
func (tr truth) whole(ctx context.Context) (fleetAnswer, error) {
	var answer fleetAnswer
	for _, name := range tr.fleet.Names(fleet.RoleInstance) {
		i, err := tr.instance(ctx, name)
		if err != nil {
			return answer, fmt.Errorf("reading %s: %w", name, err)
		}
		answer.Instances.Nodes = append(answer.Instances.Nodes, i)
	}
	return answer, nil
}

func (tr truth) instance(ctx context.Context, name string) (instanceAnswer, error) {
	answer := instanceAnswer{Name: name, State: "RUNNING", KarmadaVersion: tr.karmadaVersion()}
	var err error
	if answer.KubernetesVersion, err = tr.version(name); err != nil {
		return answer, err
	}
	var members clusterv1alpha1.ClusterList
	c := tr.fleet.Client(tr.t, name)
	if err := c.List(ctx, &members); err != nil {
		return answer, err
	}
	for _, m := range members.Items {
		if !slices.Contains(tr.fleet.Members(name), m.Name) {
			continue // Another test joined it.
		}
		version, err := tr.version(m.Name)
		if err != nil {
			return answer, err
		}
		answer.MemberClusters.Nodes = append(answer.MemberClusters.Nodes, memberAnswer{
			Name: m.Name, Ready: meta.IsStatusConditionTrue(m.Status.Conditions, "Ready"), KubernetesVersion: version,
		})
	}
	for key, health := range sampleHealth[name] {
		w, err := tr.workload(ctx, name, key)
		if err != nil {
			return answer, fmt.Errorf("%s: %w", key, err)
		}
		w.Health = health
		answer.Workloads.Nodes = append(answer.Workloads.Nodes, w)
	}
	slices.SortFunc(answer.Workloads.Nodes, func(a, b workloadAnswer) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return answer, nil
}

// version is what a cluster's API server reports about itself.
func (tr truth) version(cluster string) (string, error) {
	v, err := tr.fleet.Kubernetes(tr.t, cluster).Discovery().ServerVersion()
	if err != nil {
		return "", err
	}
	return v.GitVersion, nil
}

var gitVersion = regexp.MustCompile(`GitVersion:"([^"]+)"`)

// karmadaVersion is what Karmada's program reports about itself.
func (tr truth) karmadaVersion() string {
	out, err := exec.Command(filepath.Join(tr.fleet.Bin, "karmada-controller-manager"), "version").CombinedOutput()
	if err != nil {
		tr.t.Fatalf("asking Karmada for its version: %v\n%s", err, out)
	}
	found := gitVersion.FindSubmatch(out)
	if found == nil {
		tr.t.Fatalf("Karmada does not tell its version: %s", out)
	}
	return string(found[1])
}

// newWorkload makes an empty object of a kind of the schema.
func newWorkload(kind string) client.Object {
	switch kind {
	case "DEPLOYMENT":
		return &appsv1.Deployment{}
	case "STATEFUL_SET":
		return &appsv1.StatefulSet{}
	case "DAEMON_SET":
		return &appsv1.DaemonSet{}
	case "JOB":
		return &batchv1.Job{}
	case "CRON_JOB":
		return &batchv1.CronJob{}
	}
	panic("no kind of workload: " + kind)
}

// workload tells everything of one workload but its health.
func (tr truth) workload(ctx context.Context, instance, key string) (workloadAnswer, error) {
	kind, fullName, _ := strings.Cut(key, " ")
	namespace, name, _ := strings.Cut(fullName, "/")
	w := workloadAnswer{Kind: kind, Namespace: namespace, Name: name, OverridePolicies: []nameAnswer{}, Placements: []placementAnswer{}}
	c := tr.fleet.Client(tr.t, instance)
	template := newWorkload(kind)
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, template); err != nil {
		return w, err
	}
	var err error
	if w.Policy, err = tr.policy(ctx, c, template); err != nil {
		return w, err
	}
	b, err := tr.binding(ctx, c, template)
	if err != nil || b == nil {
		return w, err
	}
	overrides := map[string]struct{}{}
	for _, target := range b.Spec.Clusters {
		if err := tr.overrides(ctx, c, b, target.Name, overrides); err != nil {
			return w, err
		}
		p, err := tr.placement(ctx, target.Name, kind, namespace, name)
		if err != nil {
			return w, err
		}
		w.Placements = append(w.Placements, p)
		if p.Desired != nil {
			w.Replicas.Desired += *p.Desired
		}
		if p.Ready != nil {
			w.Replicas.Ready += *p.Ready
		}
	}
	slices.SortFunc(w.Placements, func(a, b placementAnswer) int { return strings.Compare(a.ClusterName, b.ClusterName) })
	for name := range overrides {
		w.OverridePolicies = append(w.OverridePolicies, nameAnswer{name})
	}
	return w, nil
}

// policy finds the policy whose permanent ID is on the template.
func (tr truth) policy(ctx context.Context, c client.Client, template client.Object) (*nameAnswer, error) {
	if id := template.GetLabels()[policyv1alpha1.PropagationPolicyPermanentIDLabel]; id != "" {
		var list policyv1alpha1.PropagationPolicyList
		if err := c.List(ctx, &list, client.MatchingLabels{policyv1alpha1.PropagationPolicyPermanentIDLabel: id}); err != nil {
			return nil, err
		}
		if len(list.Items) == 1 {
			return &nameAnswer{list.Items[0].Name}, nil
		}
		return nil, fmt.Errorf("%d policies have the ID that is on the template", len(list.Items))
	}
	if id := template.GetLabels()[policyv1alpha1.ClusterPropagationPolicyPermanentIDLabel]; id != "" {
		var list policyv1alpha1.ClusterPropagationPolicyList
		if err := c.List(ctx, &list, client.MatchingLabels{policyv1alpha1.ClusterPropagationPolicyPermanentIDLabel: id}); err != nil {
			return nil, err
		}
		if len(list.Items) == 1 {
			return &nameAnswer{list.Items[0].Name}, nil
		}
		return nil, fmt.Errorf("%d cluster policies have the ID that is on the template", len(list.Items))
	}
	return nil, nil
}

// binding finds the binding that is about the template.
func (tr truth) binding(ctx context.Context, c client.Client, template client.Object) (*workv1alpha2.ResourceBinding, error) {
	var list workv1alpha2.ResourceBindingList
	if err := c.List(ctx, &list, client.InNamespace(template.GetNamespace())); err != nil {
		return nil, err
	}
	for i := range list.Items {
		if list.Items[i].Spec.Resource.UID == template.GetUID() {
			return &list.Items[i], nil
		}
	}
	return nil, nil
}

// overrides adds the names of the override policies that the Work for a cluster
// says were applied.
func (tr truth) overrides(ctx context.Context, c client.Client, b *workv1alpha2.ResourceBinding, cluster string, into map[string]struct{}) error {
	var works workv1alpha1.WorkList
	if err := c.List(ctx, &works, client.InNamespace("karmada-es-"+cluster), client.MatchingLabels{
		workv1alpha2.ResourceBindingPermanentIDLabel: b.Labels[workv1alpha2.ResourceBindingPermanentIDLabel],
	}); err != nil {
		return err
	}
	for _, work := range works.Items {
		for _, annotation := range []string{"policy.karmada.io/applied-overrides", "policy.karmada.io/applied-cluster-overrides"} {
			text := work.Annotations[annotation]
			if text == "" {
				continue
			}
			var applied []struct {
				PolicyName string `json:"policyName"`
			}
			if err := json.Unmarshal([]byte(text), &applied); err != nil {
				return err
			}
			for _, a := range applied {
				into[a.PolicyName] = struct{}{}
			}
		}
	}
	return nil
}

// placement reads a workload in a member.
func (tr truth) placement(ctx context.Context, cluster, kind, namespace, name string) (placementAnswer, error) {
	p := placementAnswer{ClusterName: cluster, Health: "HEALTHY"}
	c := tr.fleet.Client(tr.t, cluster)
	object := newWorkload(kind)
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, object); err != nil {
		return p, err
	}
	var containers []corev1.Container
	switch o := object.(type) {
	case *appsv1.Deployment:
		p.Desired, p.Ready, containers = o.Spec.Replicas, &o.Status.ReadyReplicas, o.Spec.Template.Spec.Containers
	case *appsv1.StatefulSet:
		p.Desired, p.Ready, containers = o.Spec.Replicas, &o.Status.ReadyReplicas, o.Spec.Template.Spec.Containers
	case *appsv1.DaemonSet:
		p.Desired, p.Ready, containers = &o.Status.DesiredNumberScheduled, &o.Status.NumberReady, o.Spec.Template.Spec.Containers
	case *batchv1.Job:
		p.Desired, p.Ready, containers = o.Spec.Completions, &o.Status.Succeeded, o.Spec.Template.Spec.Containers
	case *batchv1.CronJob:
		containers = o.Spec.JobTemplate.Spec.Template.Spec.Containers
	}
	p.Object = &objectAnswer{UID: string(object.GetUID()), Images: []string{}, Pods: []podAnswer{}}
	for _, container := range containers {
		p.Object.Images = append(p.Object.Images, container.Image)
	}
	pods, err := podsOf(ctx, c, object)
	if err != nil {
		return p, err
	}
	for _, pod := range pods {
		p.Object.Pods = append(p.Object.Pods, podAnswer{Name: pod.Name, Phase: strings.ToUpper(string(pod.Status.Phase))})
	}
	slices.SortFunc(p.Object.Pods, func(a, b podAnswer) int { return strings.Compare(a.Name, b.Name) })
	return p, nil
}

// podsOf follows the owners of the pods of a namespace up to the object.
func podsOf(ctx context.Context, c client.Client, object client.Object) ([]corev1.Pod, error) {
	namespace := client.InNamespace(object.GetNamespace())
	var sets appsv1.ReplicaSetList
	var jobs batchv1.JobList
	var pods corev1.PodList
	for _, list := range []client.ObjectList{&sets, &jobs, &pods} {
		if err := c.List(ctx, list, namespace); err != nil {
			return nil, err
		}
	}
	owners := map[types.UID]struct{}{object.GetUID(): {}}
	owned := func(o metav1.Object) bool {
		ref := metav1.GetControllerOf(o)
		if ref == nil {
			return false
		}
		_, ok := owners[ref.UID]
		return ok
	}
	for i := range sets.Items {
		if owned(&sets.Items[i]) {
			owners[sets.Items[i].UID] = struct{}{}
		}
	}
	for i := range jobs.Items {
		if owned(&jobs.Items[i]) {
			owners[jobs.Items[i].UID] = struct{}{}
		}
	}
	return slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return !owned(&p) }), nil
}
