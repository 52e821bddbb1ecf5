package workloadmoves

import (
	"context"

	"github.com/go-logr/logr"
	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/fleet/moving"
)

// labelled selects the policies of workloads that move.
var labelled = labels.SelectorFromSet(labels.Set{moving.Label: "true"})

// watch calls changed when there may be something to do in an instance: a policy of a workload that moves is new or
// changed, or a member cluster has another drain taint. It ends with the context.
func watch(ctx context.Context, kube client.WithWatch, changed func()) {
	// The conditions of the Instance report failures, and the watches retry.
	ctx = klog.NewContext(ctx, logr.Discard())
	for _, w := range []struct {
		list     func() client.ObjectList
		object   client.Object
		selector labels.Selector
	}{
		{func() client.ObjectList { return &policyv1alpha1.PropagationPolicyList{} }, &policyv1alpha1.PropagationPolicy{}, labelled},
		{func() client.ObjectList { return &policyv1alpha1.ClusterPropagationPolicyList{} }, &policyv1alpha1.ClusterPropagationPolicy{}, labelled},
		{func() client.ObjectList { return &clusterv1alpha1.ClusterList{} }, &clusterv1alpha1.Cluster{}, labels.Everything()},
	} {
		_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
			ListerWatcher: &cache.ListWatch{
				ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
					list := w.list()
					return list, kube.List(ctx, list, &client.ListOptions{LabelSelector: w.selector, Raw: &options})
				},
				WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (apiwatch.Interface, error) {
					return kube.Watch(ctx, w.list(), &client.ListOptions{LabelSelector: w.selector, Raw: &options})
				},
			},
			ObjectType: w.object,
			Transform:  known,
			Handler: cache.ResourceEventHandlerFuncs{
				AddFunc: func(any) { changed() },
				UpdateFunc: func(before, after any) {
					if differs(before, after) {
						changed()
					}
				},
			},
		})
		go informer.RunWithContext(ctx)
	}
}

// known keeps no more of an object than is needed to see whether there is something to do.
func known(object any) (any, error) {
	kept := metav1.ObjectMeta{}
	if o, ok := object.(metav1.Object); ok {
		kept.Namespace, kept.Name, kept.UID, kept.ResourceVersion = o.GetNamespace(), o.GetName(), o.GetUID(), o.GetResourceVersion()
	}
	switch o := object.(type) {
	case *clusterv1alpha1.Cluster:
		one := &clusterv1alpha1.Cluster{ObjectMeta: kept}
		if t := moving.Draining(o); t != nil {
			one.Spec.Taints = append(one.Spec.Taints, *t)
		}
		return one, nil
	case *policyv1alpha1.PropagationPolicy:
		return &policyv1alpha1.PropagationPolicy{ObjectMeta: kept}, nil
	case *policyv1alpha1.ClusterPropagationPolicy:
		return &policyv1alpha1.ClusterPropagationPolicy{ObjectMeta: kept}, nil
	}
	return object, nil
}

// differs reports whether a change matters: every one of a policy, and of a cluster that of its drain taint.
func differs(before, after any) bool {
	b, ok := before.(*clusterv1alpha1.Cluster)
	a, also := after.(*clusterv1alpha1.Cluster)
	if !ok || !also {
		return true
	}
	was, is := moving.Draining(b), moving.Draining(a)
	return (was == nil) != (is == nil) || was != nil && was.Value != is.Value
}
