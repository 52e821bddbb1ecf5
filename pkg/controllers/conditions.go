package controllers

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// conditionsDesc is bounded by the constants of the API: names of objects are none
// of its labels.
var conditionsDesc = prometheus.NewDesc("kairship_conditions",
	"Objects by what a condition of theirs says.", []string{"kind", "type", "status", "reason"}, nil)

// conditions counts what all controllers say. Only the leader shows it, so that a
// sum over the replicas is right.
type conditions struct {
	objects client.Reader
	leads   atomic.Bool
}

// Start shows the counts until the context ends.
func (c *conditions) Start(ctx context.Context) error {
	c.leads.Store(true)
	<-ctx.Done()
	c.leads.Store(false)
	return nil
}

// NeedLeaderElection has it run on the leader only.
func (c *conditions) NeedLeaderElection() bool { return true }

// Describe implements prometheus.Collector.
func (c *conditions) Describe(descs chan<- *prometheus.Desc) { descs <- conditionsDesc }

// Collect implements prometheus.Collector.
func (c *conditions) Collect(into chan<- prometheus.Metric) {
	if !c.leads.Load() {
		return
	}
	type series struct{ kind, condition, status, reason string }
	counts := map[series]int{}
	count := func(kind string, all []metav1.Condition) {
		for i := range all {
			counts[series{kind, all[i].Type, string(all[i].Status), all[i].Reason}]++
		}
	}
	var (
		instances v1alpha1.InstanceList
		clusters  v1alpha1.ClusterList
		bindings  v1alpha1.InstanceRoleBindingList
	)
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for _, list := range []client.ObjectList{&instances, &clusters, &bindings} {
		if err := c.objects.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return // The other metrics are worth more than an error in their place.
		}
	}
	for i := range instances.Items {
		count("Instance", instances.Items[i].Status.Conditions)
	}
	for i := range clusters.Items {
		count("Cluster", clusters.Items[i].Status.Conditions)
	}
	for i := range bindings.Items {
		count("InstanceRoleBinding", bindings.Items[i].Status.Conditions)
	}
	for of, number := range counts {
		into <- prometheus.MustNewConstMetric(conditionsDesc, prometheus.GaugeValue, float64(number), of.kind, of.condition, of.status, of.reason)
	}
}
