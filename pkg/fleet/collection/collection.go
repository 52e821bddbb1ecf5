// Package collection reports what the index collects: which kinds of a cluster, and for which
// owner.
//
// The index identifies clusters by name alone. It also collects a PediaCluster that a user
// created under a name that Kairship needs, from any address that the PediaCluster has. That
// may be another instance, which the users of this one may not see.
package collection

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pediav1alpha2 "github.com/kairship-io/kairship/pkg/apis/clusterpedia/v1alpha2"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// ByOthers reports whether what the index has under a cluster's name was collected for
// another owner: by a PediaCluster that Kairship did not make for this very Cluster
// or, under the name of an instance's virtual cluster, for a Cluster that it did not
// make for this very Instance. Where there is no PediaCluster, nothing is collected,
// and no other objects can be shown.
func ByOthers(ctx context.Context, watched client.Reader, cluster string) (bool, error) {
	var pc pediav1alpha2.PediaCluster
	if found, err := get(ctx, watched, cluster, &pc); err != nil || !found {
		return false, err
	}
	var c v1alpha1.Cluster
	if found, err := get(ctx, watched, cluster, &c); err != nil || !found || !madeFor(&pc, &c) {
		return true, err
	}
	instance := v1alpha1.InstanceOfVirtualCluster(cluster)
	if instance == "" {
		return false, nil
	}
	var i v1alpha1.Instance
	found, err := get(ctx, watched, instance, &i)
	return !found || !madeFor(&c, &i), err
}

// get reads an object of a name, which is only looked at.
func get(ctx context.Context, watched client.Reader, name string, into client.Object) (found bool, err error) {
	switch err := watched.Get(ctx, client.ObjectKey{Name: name}, into, client.UnsafeDisableDeepCopy); {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("finding out for whom %s is collected: %w", name, err)
	}
	return true, nil
}

// madeFor reports whether Kairship made an object for an owner. A name proves nothing:
// it may have had another owner before.
func madeFor(o, owner client.Object) bool {
	return o.GetLabels()[v1alpha1.OwnerUIDLabel] == string(owner.GetUID())
}
