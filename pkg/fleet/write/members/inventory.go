package members

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/cluster"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/write"
)

// Inventory writes which instance a cluster of the inventory is joined to. Kairship
// writes it, after the global cluster has said that the caller has the right to the
// cluster's membership: the caller's right to write a Cluster would also be the right to
// change where it leads.
type Inventory struct {
	Rights write.Rights
	// Global reads from and writes to the global cluster itself, as Kairship.
	Global client.Client
	// Watched is the watch on the global cluster that later reads are answered from.
	Watched client.Reader
	// Visible reads what the caller may see of the inventory.
	Visible *cluster.Service
	Now     func() time.Time
}

var clusterKind = write.Kind{GroupVersionResource: v1alpha1.ClusterResource, Kind: "Cluster"}

// permit returns nil when the caller may change the membership of a cluster. Callers who may
// neither change nor see the cluster get NOT_FOUND.
func (v *Inventory) permit(ctx context.Context, name string) error {
	refusal := v.Rights.ChangeMembership(ctx, name, clusterArgument)
	if !apierror.Is(refusal, apierror.CodeForbidden) {
		return refusal
	}
	seen, err := v.Visible.Get(ctx, name)
	switch {
	case err != nil:
		return err
	case seen == nil:
		return apierror.At(apierror.NotFound(clusterKind.Kind, name), clusterArgument)
	}
	return refusal
}

// get reads a cluster from the global cluster itself.
func (v *Inventory) get(ctx context.Context, name string) (*v1alpha1.Cluster, error) {
	var c v1alpha1.Cluster
	if err := v.Global.Get(ctx, client.ObjectKey{Name: name}, &c); err != nil {
		return nil, translateCluster(http.MethodGet, name, err)
	}
	return &c, nil
}

// join writes the instance that a cluster is joined to, nil for none, and the removal policy; nil
// keeps that. It returns a conflict when the cluster has changed since it was read.
func (v *Inventory) join(ctx context.Context, c *v1alpha1.Cluster, to *string, policy *v1alpha1.RemovalPolicy, dryRun bool) (*v1alpha1.Cluster, error) {
	var ref *v1alpha1.InstanceReference
	if to != nil {
		ref = &v1alpha1.InstanceReference{Name: *to}
	}
	spec := map[string]any{"instanceRef": ref}
	if policy != nil {
		spec["join"] = map[string]any{"removalPolicy": *policy}
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": c.ResourceVersion},
		"spec":     spec,
	})
	if err != nil {
		return nil, err
	}
	options := &client.PatchOptions{FieldManager: write.FieldManager, DryRun: write.DryRun(dryRun)}
	written := c.DeepCopy()
	if err := v.Global.Patch(ctx, written, client.RawPatch(types.MergePatchType, patch), options); err != nil {
		return nil, translateCluster(http.MethodPatch, c.Name, err)
	}
	if !dryRun {
		write.Await(ctx, v.Watched, written, &v1alpha1.Cluster{})
	}
	return written, nil
}

// shown is a cluster as the API shows it.
func (v *Inventory) shown(c *v1alpha1.Cluster) *cluster.Cluster {
	return cluster.New(c, freshness.LiveAt(v.Now()))
}

// translateCluster words the failure of a request about a cluster after the inputs.
func translateCluster(verb, name string, err error) error {
	switch {
	case apierrors.IsNotFound(err):
		return apierror.At(apierror.NotFound(clusterKind.Kind, name), clusterArgument)
	case apierrors.IsConflict(err):
		return apierror.At(apierror.Wrap(err, apierror.CodeConflict, "cluster %q keeps changing; try again", name), clusterArgument)
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return write.Translate("", err, clusterKind, verb, "", name, write.Paths{"": "input", "spec": clusterArgument + "!", "spec.instanceRef": write.InstanceArgument + "!"})
	}
	return write.Unanswered(err, "the cluster")
}
