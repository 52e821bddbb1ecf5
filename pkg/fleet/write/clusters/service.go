// Package clusters implements the mutations of the inventory: it registers clusters, changes them, rotates their
// credentials, and removes them.
//
// Kairship writes a Cluster with its own identity and not as the user, after the global cluster has said that the user has
// the right to clusters/management. Credentials are tried against the cluster before they are stored.
package clusters

import (
	"context"
	"errors"
	"net/http"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/connection"
	"github.com/kairship-io/kairship/pkg/fleet/access"
	"github.com/kairship-io/kairship/pkg/fleet/cluster"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/write"
)

var kind = write.Kind{GroupVersionResource: v1alpha1.ClusterResource, Kind: "Cluster"}

const clusterArgument = "input.cluster"

// theCluster is what a person looks at after a write that was not answered.
const theCluster = "the cluster"

// undoWithin bounds taking back what was written, also when the caller has left.
const undoWithin = 10 * time.Second

// paths are the inputs that the fields of a Cluster come from.
var paths = write.Paths{
	"": "input", "metadata": clusterArgument + "!", "metadata.labels": "input.labels!", "spec": "input",
	"spec.apiEndpoint": "input.apiEndpoint!", "spec.credentialsSecretRef": clusterArgument + "!",
}

// Service registers, changes and removes clusters.
type Service struct {
	Rights write.Rights
	// Global reads from and writes to the global cluster itself, as Kairship.
	Global client.Client
	// Watched is the watch on the global cluster that later reads are answered from.
	Watched client.Reader
	// Visible reads what the caller may see of the inventory.
	Visible *cluster.Service
	// Try tries credentials; the function of that name.
	Try func(context.Context, connection.Connection) (*Found, error)
	Now func() time.Time
}

// Properties are what else a cluster of the inventory has. Nil keeps what there is.
type Properties struct {
	Alias    *string
	Provider *string
	Region   *string
	Zone     *string
	Labels   []object.Pair
}

// RegisterInput is the input of registerCluster.
type RegisterInput struct {
	Credentials
	Properties

	Cluster string
	DryRun  bool
}

// UpdateInput is the input of updateCluster. What is nil stays.
type UpdateInput struct {
	Credentials
	Properties

	Cluster         string
	ResourceVersion string
	DryRun          bool
}

// RemoveInput is the input of removeCluster.
type RemoveInput struct {
	Cluster         string
	ResourceVersion *string
	DryRun          bool
}

// Payload is a cluster that was written.
type Payload struct {
	Cluster *cluster.Cluster
	// KubeSystemID is by which the cluster is known, as the credentials showed it; nil where none were given.
	KubeSystemID *string
	// MayJoin reports whether the credentials suffice to join the cluster; nil where none were given.
	MayJoin *bool
	// CredentialsExpireTime is when they stop to be accepted; nil where they do not say, and where none were given.
	CredentialsExpireTime *time.Time
	// ConsistencyToken is always nil: the inventory is watched, not indexed.
	ConsistencyToken *string
}

// RemovePayload is what became of a removal.
type RemovePayload struct {
	Cluster *cluster.Cluster
	// Removed reports whether it no longer exists; otherwise what was made for it is being removed.
	Removed bool
	// ConsistencyToken is always nil: the inventory is watched, not indexed.
	ConsistencyToken *string
}

// tried is what a try of given credentials showed.
type tried struct {
	*Found

	to     connection.Connection
	stored []byte
}

// Register adds a cluster to the inventory.
func (s *Service) Register(ctx context.Context, in RegisterInput) (*Payload, error) {
	if err := write.CheckName(in.Cluster, clusterArgument); err != nil {
		return nil, err
	}
	if err := s.permit(ctx, "create", in.Cluster); err != nil {
		return nil, err
	}
	c := &v1alpha1.Cluster{}
	c.Name, c.Spec.Type, c.Spec.CredentialsSecretRef = in.Cluster, v1alpha1.ClusterTypePhysical, secretOf(in.Cluster)
	if err := in.apply(c); err != nil {
		return nil, err
	}
	t, err := s.try(ctx, &in.Credentials, c)
	if err != nil {
		return nil, err
	}
	c.Spec.APIEndpoint = t.to.Endpoint
	// Both are tried before either is written; the name is taken by the Cluster.
	if err := s.add(ctx, c.DeepCopy(), true); err != nil {
		return nil, err
	}
	if err := s.store(ctx, c, t.stored, true); err != nil {
		return nil, err
	}
	if in.DryRun {
		return s.payload(c, t), nil
	}
	if err := s.add(ctx, c, false); err != nil {
		return nil, err
	}
	if err := s.store(ctx, c, t.stored, false); err != nil {
		return nil, s.undo(ctx, c, err)
	}
	write.Await(ctx, s.Watched, c, &v1alpha1.Cluster{})
	return s.payload(c, t), nil
}

// Update changes a cluster, and replaces its credentials.
func (s *Service) Update(ctx context.Context, in UpdateInput) (*Payload, error) {
	c, err := s.find(ctx, in.Cluster, "update", &in.ResourceVersion)
	if err != nil {
		return nil, err
	}
	before := c.DeepCopy()
	if err := in.apply(c); err != nil {
		return nil, err
	}
	var t *tried
	if in.given() {
		if t, err = s.try(ctx, &in.Credentials, c); err != nil {
			return nil, err
		}
		c.Spec.APIEndpoint = t.to.Endpoint
		if !owns(c) {
			// What another client wrote stays its own, and stays as it is.
			c.Spec.CredentialsSecretRef = secretOf(c.Name)
		}
	}
	// Everything is tried before anything is written.
	attempt := c.DeepCopy()
	if err := s.patch(ctx, before, attempt, true); err != nil {
		return nil, err
	}
	if t != nil {
		if err := s.store(ctx, c, t.stored, true); err != nil {
			return nil, err
		}
	}
	if in.DryRun {
		return s.payload(attempt, t), nil
	}
	// The controllers use changed credentials once they have seen that these lead to the same cluster, and the former ones
	// until then: in whatever order the two are written, there is no gap.
	if t != nil {
		if err := s.store(ctx, c, t.stored, false); err != nil {
			return nil, err
		}
	}
	if err := s.patch(ctx, before, c, false); err != nil {
		return nil, err
	}
	write.Await(ctx, s.Watched, c, &v1alpha1.Cluster{})
	return s.payload(c, t), nil
}

// Remove removes a cluster from the inventory. The cluster itself stays as it is.
func (s *Service) Remove(ctx context.Context, in RemoveInput) (*RemovePayload, error) {
	c, err := s.find(ctx, in.Cluster, "delete", in.ResourceVersion)
	if err != nil {
		return nil, err
	}
	if err := s.unused(ctx, c); err != nil {
		return nil, err
	}
	only := client.Preconditions{UID: &c.UID, ResourceVersion: in.ResourceVersion}
	if err := s.Global.Delete(ctx, c, only, &client.DeleteOptions{DryRun: write.DryRun(in.DryRun)}); client.IgnoreNotFound(err) != nil {
		return nil, translate(http.MethodDelete, c.Name, err)
	}
	if in.DryRun {
		return &RemovePayload{Cluster: s.shown(c)}, nil
	}
	var now v1alpha1.Cluster
	err = s.Global.Get(ctx, client.ObjectKeyFromObject(c), &now)
	if client.IgnoreNotFound(err) != nil {
		return nil, translate(http.MethodGet, c.Name, err)
	}
	if apierrors.IsNotFound(err) || now.UID != c.UID {
		c.DeletionTimestamp = new(metav1.NewTime(s.Now()))
		write.Await(ctx, s.Watched, c, &v1alpha1.Cluster{})
		return &RemovePayload{Removed: true}, nil
	}
	write.Await(ctx, s.Watched, &now, &v1alpha1.Cluster{})
	return &RemovePayload{Cluster: s.shown(&now)}, nil
}

// permit refuses callers who may not do something with a cluster of a name, whether there is one or not.
func (s *Service) permit(ctx context.Context, verb, name string) error {
	return s.Rights.Permit(ctx, authorizationv1.ResourceAttributes{
		Resource: v1alpha1.ClusterResource.Resource, Subresource: v1alpha1.ManagementSubresource, Verb: verb, Name: name,
	}, "", clusterArgument, "the roles that you have in the global cluster do not let you %s cluster %q of the inventory: that takes %s on clusters/management of kairship.io", verb, name, verb)
}

// find reads a cluster that the caller may change, from the global cluster itself. To callers who may neither change nor
// see it, it is missing.
func (s *Service) find(ctx context.Context, name, verb string, version *string) (*v1alpha1.Cluster, error) {
	missing := apierror.At(apierror.NotFound(kind.Kind, name), clusterArgument)
	if err := write.CheckName(name, clusterArgument); err != nil {
		return nil, err
	}
	if refused := s.permit(ctx, verb, name); refused != nil {
		if !apierror.Is(refused, apierror.CodeForbidden) {
			return nil, refused
		}
		seen, err := s.Visible.Get(ctx, name)
		switch {
		case err != nil:
			return nil, err
		case seen == nil:
			return nil, missing
		}
		return nil, refused
	}
	if err := write.CheckPreconditions(version, nil); err != nil {
		return nil, err
	}
	var c v1alpha1.Cluster
	if err := s.Global.Get(ctx, client.ObjectKey{Name: name}, &c); err != nil {
		return nil, translate(http.MethodGet, name, err)
	}
	switch {
	case c.Spec.Type == v1alpha1.ClusterTypeVirtual:
		return nil, apierror.Invalid(clusterArgument, "cluster %q stands for an instance: change the instance instead (updateInstance, deleteInstance)", name)
	case version != nil && *version != c.ResourceVersion:
		return nil, &apierror.Error{
			Code: apierror.CodeConflict, Argument: "input.resourceVersion", CurrentVersion: c.ResourceVersion,
			Message: "cluster " + name + " has changed since resourceVersion " + *version + ": read it again, and decide anew",
		}
	}
	return &c, nil
}

// try reads given credentials and tries them. They have to lead to the cluster that is registered, or to one that is not.
func (s *Service) try(ctx context.Context, given *Credentials, c *v1alpha1.Cluster) (*tried, error) {
	to, stored, err := given.read()
	if err != nil {
		return nil, err
	}
	found, err := s.Try(ctx, to)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, refusal(err, to.Endpoint, given.argument())
	case len(found.Missing) > 0:
		return nil, lacking(found.Missing, given.argument())
	}
	if known := c.Status.KubeSystemID; known != "" && known != found.KubeSystemID {
		return nil, apierror.Invalid(given.argument(),
			"the credentials lead to another cluster (its kube-system has the UID %s) than cluster %q (%s): register that one under a name of its own (registerCluster)", found.KubeSystemID, c.Name, known)
	}
	return &tried{found, to, stored}, s.unregistered(ctx, c.Name, found.KubeSystemID, given.argument())
}

// unregistered refuses a cluster that is in the inventory under another name, which is told only to callers who may see it.
func (s *Service) unregistered(ctx context.Context, name, id, argument string) error {
	var all v1alpha1.ClusterList
	if err := s.Watched.List(ctx, &all); err != nil {
		return write.Unanswered(err, theCluster)
	}
	for i := range all.Items {
		holder := &all.Items[i]
		if holder.Name == name || holder.Status.KubeSystemID != id || holder.Spec.Type != v1alpha1.ClusterTypePhysical {
			continue
		}
		seen, err := s.Visible.Get(ctx, holder.Name)
		switch {
		case err != nil:
			return err
		case seen == nil:
			return apierror.At(apierror.New(apierror.CodeAlreadyExists, "this cluster is registered already, under another name"), argument)
		}
		return apierror.At(apierror.New(apierror.CodeAlreadyExists,
			"this cluster is registered already, as cluster %q: use that one; if it is to be reached with these credentials, give them to that one (updateCluster)", holder.Name), argument)
	}
	return nil
}

// unused refuses to remove a cluster while an instance has it or runs on it.
func (s *Service) unused(ctx context.Context, c *v1alpha1.Cluster) error {
	if access.InstanceOfCluster(c) != "" || c.Status.Membership != nil {
		return apierror.At(apierror.New(apierror.CodeConflict, "cluster %q is joined to an instance, or leaves one: have it leave first (unjoinCluster), and wait until it has", c.Name), clusterArgument)
	}
	var instances v1alpha1.InstanceList
	if err := s.Watched.List(ctx, &instances); err != nil {
		return write.Unanswered(err, theCluster)
	}
	for i := range instances.Items {
		if instances.Items[i].Spec.HostCluster == c.Name {
			return apierror.At(apierror.New(apierror.CodeConflict, "an instance is installed on cluster %q: delete the instance first", c.Name), clusterArgument)
		}
	}
	return nil
}

// apply changes the properties of a cluster.
func (p *Properties) apply(c *v1alpha1.Cluster) error {
	if p.Labels != nil {
		labels, err := write.Map(p.Labels, "input.labels")
		if err != nil {
			return err
		}
		c.Labels = labels
	}
	for _, of := range []struct {
		value *string
		field *string
	}{{p.Alias, &c.Spec.Alias}, {p.Provider, &c.Spec.Provider}, {p.Region, &c.Spec.Region}, {p.Zone, &c.Spec.Zone}} {
		if of.value != nil {
			*of.field = *of.value
		}
	}
	return nil
}

func (s *Service) add(ctx context.Context, c *v1alpha1.Cluster, dryRun bool) error {
	return translate(http.MethodPost, c.Name, s.Global.Create(ctx, c, &client.CreateOptions{DryRun: write.DryRun(dryRun), FieldManager: write.FieldManager}))
}

// patch writes what differs, if anything does, and only when no other client wrote meanwhile.
func (s *Service) patch(ctx context.Context, before, c *v1alpha1.Cluster, dryRun bool) error {
	if equality.Semantic.DeepEqual(before, c) {
		return nil
	}
	lock := client.MergeFromWithOptions(before.DeepCopy(), client.MergeFromWithOptimisticLock{})
	return translate(http.MethodPatch, c.Name, s.Global.Patch(ctx, c, lock, &client.PatchOptions{DryRun: write.DryRun(dryRun), FieldManager: write.FieldManager}))
}

// undo deletes a Cluster whose credentials could not be written, and says so.
func (s *Service) undo(ctx context.Context, c *v1alpha1.Cluster, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoWithin)
	defer cancel()
	err := s.Global.Delete(ctx, c, client.Preconditions{UID: &c.UID})
	if client.IgnoreNotFound(err) == nil {
		return cause
	}
	return apierror.Wrap(errors.Join(cause, err), apierror.CodeOf(cause),
		"the Cluster was written, its credentials were not, and it could not be removed again: remove cluster %q, then try again", c.Name)
}

// payload is what a mutation answers, with what the given credentials showed.
func (s *Service) payload(c *v1alpha1.Cluster, t *tried) *Payload {
	p := &Payload{Cluster: s.shown(c)}
	if t == nil {
		return p
	}
	p.KubeSystemID, p.MayJoin = &t.KubeSystemID, &t.MayJoin
	if at := t.to.ExpireTime(); !at.IsZero() {
		p.CredentialsExpireTime = new(at.UTC())
	}
	return p
}

// shown is a cluster as the API shows it.
func (s *Service) shown(c *v1alpha1.Cluster) *cluster.Cluster {
	return cluster.New(c, freshness.LiveAt(s.Now()))
}

// translate returns the error of a request about a Cluster in the words of the inputs.
func translate(verb, name string, err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsNotFound(err):
		return apierror.At(apierror.NotFound(kind.Kind, name), clusterArgument)
	case apierrors.IsConflict(err):
		return apierror.At(apierror.Wrap(err, apierror.CodeConflict, "cluster %q has changed meanwhile; read it again, and decide anew", name), "input.resourceVersion")
	case apierrors.IsAlreadyExists(err), apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return write.Translate("", err, kind, verb, "", name, paths)
	}
	return write.Unanswered(err, theCluster)
}
