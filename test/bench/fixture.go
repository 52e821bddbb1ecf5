package main

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The fixture: 2,030 Deployments, of which 30 in the middle are propagated.
// Propagation is expensive, for Karmada and for everything behind it, so there
// is no more of it than a full page needs.
const (
	plainCount      = 1000 // in each of the two namespaces without policies
	propagatedCount = 30
	total           = 2*plainCount + propagatedCount
	// firstPropagated is the place of the first propagated one in the list.
	firstPropagated = plainCount
	createWorkers   = 16
)

// namespaces of the fixture, in the order of the list.
var (
	before, between, after = "bench-a", "bench-b", "bench-c"
	namespaces             = []string{before, between, after}
)

// fixture makes the objects that are measured, in the instance.
type fixture struct {
	instance client.Client
	members  map[string]client.Client
	index    *restClient
	sayf     func(format string, args ...any)
}

func newFixture(f *fleet, index *restClient, sayf func(string, ...any)) (*fixture, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, policyv1alpha1.Install} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	clients := map[string]client.Client{}
	for _, name := range append([]string{instanceName}, members...) {
		config, err := f.config(name)
		if err != nil {
			return nil, err
		}
		if clients[name], err = client.New(config, client.Options{Scheme: scheme}); err != nil {
			return nil, fmt.Errorf("making the client of %s: %w", name, err)
		}
	}
	fx := &fixture{instance: clients[instanceName], index: index, sayf: sayf}
	delete(clients, instanceName)
	fx.members = clients
	return fx, nil
}

// ensure creates what is missing and waits until the index has all of it.
func (f *fixture) ensure(ctx context.Context) error {
	have, err := f.existing(ctx)
	if err != nil {
		return err
	}
	var missing []client.Object
	for _, name := range namespaces {
		missing = append(missing, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	// What is propagated comes first: Karmada looks at every unclaimed workload
	// again whenever a policy comes.
	for i := range propagatedCount {
		missing = append(missing, policyFor(i), deployment(between, appName(i), replicasOf(i)))
	}
	for _, ns := range []string{before, after} {
		for i := range plainCount {
			missing = append(missing, deployment(ns, fmt.Sprintf("%s-%04d", strings.TrimPrefix(ns, "bench-"), i), 1))
		}
	}
	missing = slices.DeleteFunc(missing, func(o client.Object) bool {
		_, there := have[o.GetNamespace()+"/"+o.GetName()]
		_, isDeployment := o.(*appsv1.Deployment)
		return isDeployment && there
	})
	f.sayf("fixture: %d of %d Deployments are there", len(have), total)
	head := min(len(missing), len(namespaces)+2*propagatedCount)
	for _, o := range missing[:len(namespaces)] {
		if err := f.create(ctx, o); err != nil {
			return err
		}
	}
	for _, part := range [][]client.Object{missing[len(namespaces):head], missing[head:]} {
		g, gctx := errgroup.WithContext(ctx)
		g.SetLimit(createWorkers)
		for _, o := range part {
			g.Go(func() error { return f.create(gctx, o) })
		}
		if err := g.Wait(); err != nil {
			return err
		}
	}
	return f.settle(ctx)
}

func (f *fixture) existing(ctx context.Context) (map[string]struct{}, error) {
	have := map[string]struct{}{}
	for _, ns := range namespaces {
		var list metav1.PartialObjectMetadataList
		list.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("DeploymentList"))
		if err := f.instance.List(ctx, &list, client.InNamespace(ns)); err != nil {
			return nil, fmt.Errorf("listing the Deployments of %s in %s: %w", ns, instanceName, err)
		}
		for i := range list.Items {
			have[ns+"/"+list.Items[i].Name] = struct{}{}
		}
	}
	return have, nil
}

func (f *fixture) create(ctx context.Context, o client.Object) error {
	err := f.instance.Create(ctx, o)
	if err == nil || apierrors.IsAlreadyExists(err) {
		return nil
	}
	return fmt.Errorf("creating %T %s/%s in %s: %w", o, o.GetNamespace(), o.GetName(), instanceName, err)
}

// settle waits until the index has the whole fixture and the propagated part of
// it runs, seen twice in a row.
func (f *fixture) settle(ctx context.Context) error {
	f.sayf("fixture: waiting until the index has all %d and the %d propagated ones run", total, propagatedCount)
	const most = 3 * time.Minute
	seen, state := 0, ""
	err := wait.PollUntilContextTimeout(ctx, time.Second, most, true, func(ctx context.Context) (bool, error) {
		var err error
		state, err = f.unsettled(ctx)
		if err != nil {
			return false, err
		}
		if state != "" {
			seen = 0
			return false, nil
		}
		seen++
		return seen == 2, nil
	})
	if err != nil {
		return fmt.Errorf("the fixture did not settle within %s (%s): %w", most, state, err)
	}
	return nil
}

// unsettled says what the fixture still lacks; empty when nothing.
func (f *fixture) unsettled(ctx context.Context) (string, error) {
	var count metav1.PartialObjectMetadataList
	err := f.index.read(ctx, pathTemplates, url.Values{
		"namespaces": {strings.Join(namespaces, ",")}, "limit": {"1"}, "withRemainingCount": {"true"}, "onlyMetadata": {"true"},
	}, &count)
	if err != nil {
		return "", err
	}
	indexed := len(count.Items)
	if count.RemainingItemCount != nil {
		indexed += int(*count.RemainingItemCount)
	}
	if indexed != total {
		return fmt.Sprintf("the index has %d of %d Deployments", indexed, total), nil
	}
	rows, err := f.index.job(ctx, pick{offset: firstPropagated})
	if err != nil {
		return "", err
	}
	for i, r := range rows[:propagatedCount] {
		if len(r.Placements) != len(members) || r.Policy == "" || r.Ready != len(members) || r.Desired != r.Ready {
			return fmt.Sprintf("%s/%s, number %d of those with a policy, has %d of %d replicas ready", r.Namespace, r.Name, i, r.Ready, len(members)), nil
		}
	}
	// The template's status follows the members; its updates must be over too.
	var templates appsv1.DeploymentList
	if err := f.index.read(ctx, pathTemplates, url.Values{"namespaces": {between}}, &templates); err != nil {
		return "", err
	}
	for i := range templates.Items {
		if t := &templates.Items[i]; int(t.Status.ReadyReplicas) != len(members) {
			return t.Name + " does not report its replicas in the instance yet", nil
		}
	}
	return "", nil
}

// cleanup removes the fixture everywhere and waits until the index has nothing of it.
func (f *fixture) cleanup(ctx context.Context) error {
	for _, ns := range namespaces {
		if err := remove(ctx, f.instance, ns); err != nil {
			return fmt.Errorf("%s: %w", instanceName, err)
		}
	}
	f.sayf("cleanup: waiting until %s and the index have nothing of the fixture", instanceName)
	const most = 5 * time.Minute
	err := wait.PollUntilContextTimeout(ctx, time.Second, most, true, func(ctx context.Context) (bool, error) {
		for _, ns := range namespaces {
			err := f.instance.Get(ctx, client.ObjectKey{Name: ns}, &corev1.Namespace{})
			if !apierrors.IsNotFound(err) {
				return false, client.IgnoreNotFound(err)
			}
		}
		for _, path := range []string{pathTemplates, pathMembers} {
			var left metav1.PartialObjectMetadataList
			params := url.Values{"namespaces": {strings.Join(namespaces, ",")}, "limit": {"1"}, "onlyMetadata": {"true"}}
			if err := f.index.read(ctx, path, params, &left); err != nil || len(left.Items) > 0 {
				return false, err
			}
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("the fixture was not gone within %s: %w", most, err)
	}
	// Karmada takes the workloads out of the members, and leaves their namespaces.
	for _, name := range slices.Sorted(maps.Keys(f.members)) {
		for _, ns := range namespaces {
			if err := remove(ctx, f.members[name], ns); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

func remove(ctx context.Context, c client.Client, namespace string) error {
	err := c.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting namespace %s: %w", namespace, err)
	}
	return nil
}

// appName is the name of a propagated Deployment and of its policy.
func appName(i int) string { return fmt.Sprintf("app-%02d", i) }

// divided reports whether a propagated Deployment's replicas are divided over the
// members; the others are duplicated. Either way each member runs one.
func divided(i int) bool { return i%2 == 1 }

func replicasOf(i int) int32 {
	if divided(i) {
		return int32(len(members))
	}
	return 1
}

func policyFor(i int) *policyv1alpha1.PropagationPolicy {
	strategy := &policyv1alpha1.ReplicaSchedulingStrategy{ReplicaSchedulingType: policyv1alpha1.ReplicaSchedulingTypeDuplicated}
	if divided(i) {
		var weights []policyv1alpha1.StaticClusterWeight
		for _, m := range members {
			weights = append(weights, policyv1alpha1.StaticClusterWeight{
				TargetCluster: policyv1alpha1.ClusterAffinity{ClusterNames: []string{m}}, Weight: 1,
			})
		}
		strategy = &policyv1alpha1.ReplicaSchedulingStrategy{
			ReplicaSchedulingType:     policyv1alpha1.ReplicaSchedulingTypeDivided,
			ReplicaDivisionPreference: policyv1alpha1.ReplicaDivisionPreferenceWeighted,
			WeightPreference:          &policyv1alpha1.ClusterPreferences{StaticWeightList: weights},
		}
	}
	return &policyv1alpha1.PropagationPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: between, Name: appName(i)},
		Spec: policyv1alpha1.PropagationSpec{
			ResourceSelectors: []policyv1alpha1.ResourceSelector{{APIVersion: "apps/v1", Kind: "Deployment", Name: appName(i)}},
			Placement: policyv1alpha1.Placement{
				ClusterAffinity:   &policyv1alpha1.ClusterAffinity{ClusterNames: members},
				ReplicaScheduling: strategy,
			},
		},
	}
}

// deployment is one of the size that people's Deployments have.
func deployment(namespace, name string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app.kubernetes.io/name": name, "app.kubernetes.io/part-of": "bench", "team": "storefront"}
	probe := &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromString("http")}},
		PeriodSeconds: 10,
	}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/name": name}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					Containers: []corev1.Container{{
						Name:  "web",
						Image: "registry.example.com/bench/" + name + ":1.4.2",
						Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}, {Name: "metrics", ContainerPort: 9090}},
						Env: []corev1.EnvVar{
							{Name: "LOG_LEVEL", Value: "info"},
							{Name: "LISTEN_ADDRESS", Value: ":8080"},
							{Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}},
						},
						Resources: corev1.ResourceRequirements{
							Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("16Mi")},
							Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")},
						},
						ReadinessProbe: probe,
						LivenessProbe:  probe,
					}},
				},
			},
		},
	}
}
