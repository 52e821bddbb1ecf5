package main

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pediav1alpha2 "github.com/kairship-io/kairship/pkg/apis/clusterpedia/v1alpha2"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/projection"
)

// scaleInventory makes the instances and members in the global cluster. They are copies of
// the fleet's own, states included: nothing answers behind them, and no controller runs that
// would find out.
type scaleInventory struct{ global client.Client }

func newScaleInventory(f *fleet) (*scaleInventory, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, pediav1alpha2.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	config, err := f.config("global")
	if err != nil {
		return nil, err
	}
	global, err := client.New(config, client.Options{Scheme: scheme})
	return &scaleInventory{global}, err
}

// ensure makes what is missing.
func (v *scaleInventory) ensure(ctx context.Context) error {
	var (
		instance               v1alpha1.Instance
		virtual, member        v1alpha1.Cluster
		ofVirtual, ofMember    pediav1alpha2.PediaCluster
		virtualName, firstName = v1alpha1.VirtualClusterName(instanceName), members[0]
	)
	for _, each := range []struct {
		name string
		into client.Object
	}{{instanceName, &instance}, {virtualName, &virtual}, {firstName, &member}, {virtualName, &ofVirtual}, {firstName, &ofMember}} {
		if err := v.global.Get(ctx, client.ObjectKey{Name: each.name}, each.into); err != nil {
			return fmt.Errorf("reading %s, to copy it: %w", each.name, err)
		}
	}
	for n := range scaleInstances {
		name := scaleInstance(n)
		i := &v1alpha1.Instance{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: *instance.Spec.DeepCopy()}
		if err := v.create(ctx, i, func() { i.Status = *instance.Status.DeepCopy() }); err != nil {
			return err
		}
		if err := v.collected(ctx, v1alpha1.VirtualClusterName(name), name, string(i.UID), &virtual, &ofVirtual); err != nil {
			return err
		}
		for _, m := range scaleMembers(name) {
			if err := v.collected(ctx, m, name, "", &member, &ofMember); err != nil {
				return err
			}
		}
	}
	return nil
}

// collected makes a cluster of an instance and the record of its collection. owner is the
// UID of the instance that the cluster is made for; empty for a member.
func (v *scaleInventory) collected(ctx context.Context, name, instance, owner string, like *v1alpha1.Cluster, record *pediav1alpha2.PediaCluster) error {
	c := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1alpha1.OwnerUIDLabel: owner}}, Spec: *like.Spec.DeepCopy()}
	c.Spec.Alias = ""
	c.Spec.InstanceRef = &v1alpha1.InstanceReference{Name: instance}
	if err := v.create(ctx, c, func() {
		c.Status = *like.Status.DeepCopy()
		if c.Status.Membership != nil {
			c.Status.Membership.Instance = instance
		}
	}); err != nil {
		return err
	}
	pc := &pediav1alpha2.PediaCluster{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1alpha1.OwnerUIDLabel: string(c.UID)}}, Spec: *record.Spec.DeepCopy()}
	return v.create(ctx, pc, func() { pc.Status = *record.Status.DeepCopy() })
}

// create creates an object, then gives it a status.
func (v *scaleInventory) create(ctx context.Context, o client.Object, setStatus func()) error {
	if err := v.global.Create(ctx, o); err != nil {
		return fmt.Errorf("creating %T %s: %w", o, o.GetName(), err)
	}
	setStatus()
	if err := v.global.Status().Update(ctx, o); err != nil {
		return fmt.Errorf("giving %T %s a status: %w", o, o.GetName(), err)
	}
	return nil
}

// remove removes what was made.
func (v *scaleInventory) remove(ctx context.Context) error {
	for n := range scaleInstances {
		name := scaleInstance(n)
		metadata := metav1.ObjectMeta{Name: name}
		all := []client.Object{&v1alpha1.Instance{ObjectMeta: metadata}}
		pair := scaleMembers(name)
		for _, cluster := range append(pair[:], v1alpha1.VirtualClusterName(name)) {
			metadata.Name = cluster
			all = append(all, &pediav1alpha2.PediaCluster{ObjectMeta: metadata}, &v1alpha1.Cluster{ObjectMeta: metadata})
		}
		for _, o := range all {
			if err := client.IgnoreNotFound(v.global.Delete(ctx, o)); err != nil {
				return fmt.Errorf("deleting %T %s: %w", o, o.GetName(), err)
			}
		}
	}
	return nil
}

// collections are the clusters of members as the projector needs them, with those of the
// fleet itself.
func (v *scaleInventory) collections(ctx context.Context) ([]projection.Collection, error) {
	var clusters v1alpha1.ClusterList
	if err := v.global.List(ctx, &clusters); err != nil {
		return nil, err
	}
	var all []projection.Collection
	for i := range clusters.Items {
		if c := &clusters.Items[i]; c.Spec.Type == v1alpha1.ClusterTypePhysical && c.Spec.InstanceRef != nil {
			all = append(all, projection.Collection{Cluster: c.Name, Instance: c.Spec.InstanceRef.Name})
		}
	}
	return all, nil
}
