package members

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/cluster"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/write"
)

// Inventory writes the clusters of the inventory in the global cluster, as the
// person who asks: the RBAC of the global cluster decides about them, whatever
// Kairship itself may do there.
type Inventory struct {
	// Global sends requests to the global cluster with Kairship's own identity, which
	// may impersonate.
	Global rest.Interface
	// Watched is the watch on the global cluster that later reads are answered from.
	Watched client.Reader
	// Visible reads what the person may see of the inventory.
	Visible *cluster.Service
	Now     func() time.Time

	// impersonates is set once it is known that the headers are heeded.
	impersonates atomic.Bool
}

var clusterKind = write.Kind{GroupVersionResource: v1alpha1.ClusterResource, Kind: "Cluster"}

// get reads a cluster from the global cluster itself.
func (v *Inventory) get(ctx context.Context, name string) (*v1alpha1.Cluster, error) {
	return v.send(ctx, http.MethodGet, name, nil, false)
}

// join writes which instance a cluster is joined to, nil stands for none, and how
// it may leave; nil leaves that. It is a conflict when the cluster is no longer what
// it was.
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
	written, err := v.send(ctx, http.MethodPatch, c.Name, patch, dryRun)
	if err == nil && !dryRun {
		write.Await(ctx, v.Watched, written, &v1alpha1.Cluster{})
	}
	return written, err
}

// shown is a cluster as the API shows it.
func (v *Inventory) shown(c *v1alpha1.Cluster) *cluster.Cluster {
	at, lag := v.Now(), 0.0
	return cluster.New(c, freshness.Freshness{Source: freshness.SourceLive, ObservedAt: &at, Lag: &lag})
}

// send sends one request about a cluster as the caller.
func (v *Inventory) send(ctx context.Context, verb, name string, patch []byte, dryRun bool) (*v1alpha1.Cluster, error) {
	user, ok := authz.UserFrom(ctx)
	if !ok {
		return nil, apierror.New(apierror.CodeUnauthenticated, "nobody is known to ask for this")
	}
	header, err := user.ImpersonationHeader()
	if err != nil {
		return nil, err
	}
	if err := v.checkImpersonation(ctx, user, header); err != nil {
		return nil, err
	}
	r := as(header, v.Global.Verb(verb)).AbsPath("apis", clusterKind.Group, clusterKind.Version, clusterKind.Resource, name)
	if patch != nil {
		r = r.SetHeader("Content-Type", string(types.MergePatchType)).Body(patch).
			Param("fieldManager", write.FieldManager).Param("fieldValidation", metav1.FieldValidationStrict)
	}
	if dryRun {
		r = r.Param("dryRun", metav1.DryRunAll)
	}
	result := r.Do(ctx)
	if err := result.Error(); err != nil {
		return nil, v.translate(ctx, verb, name, err)
	}
	raw, err := result.Raw()
	if err != nil {
		return nil, err
	}
	var c v1alpha1.Cluster
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, apierror.Wrap(err, apierror.CodeInternal, "internal error")
	}
	return &c, nil
}

// checkImpersonation asks once who the global cluster takes the sender for.
// Something in between that drops the headers would otherwise have everybody write
// with Kairship's own rights.
func (v *Inventory) checkImpersonation(ctx context.Context, user authz.User, header http.Header) error {
	if v.impersonates.Load() {
		return nil
	}
	body, err := json.Marshal(&authenticationv1.SelfSubjectReview{
		TypeMeta: metav1.TypeMeta{APIVersion: authenticationv1.SchemeGroupVersion.String(), Kind: "SelfSubjectReview"},
	})
	if err != nil {
		return err
	}
	raw, err := as(header, v.Global.Post()).AbsPath("/apis/authentication.k8s.io/v1/selfsubjectreviews").
		SetHeader("Content-Type", "application/json").Body(body).DoRaw(ctx)
	if err != nil {
		return unanswered(err)
	}
	var review authenticationv1.SelfSubjectReview
	if err := json.Unmarshal(raw, &review); err != nil {
		return apierror.Wrap(err, apierror.CodeInternal, "internal error")
	}
	if got := review.Status.UserInfo.Username; got != user.Name {
		return apierror.Wrap(fmt.Errorf("impersonation of %q is not heeded: the global cluster takes the sender for %q", user.Name, got),
			apierror.CodeInternal, "internal error")
	}
	v.impersonates.Store(true)
	return nil
}

// as sends a request as somebody, for an answer in JSON.
func as(header http.Header, r *rest.Request) *rest.Request {
	for name, values := range header {
		r = r.SetHeader(name, values...)
	}
	return r.SetHeader("Accept", "application/json")
}

func unanswered(err error) error {
	return apierror.Wrap(err, apierror.CodeTimeout, "the global cluster did not answer as expected; look at the cluster before you try again")
}

// translate says what became of a request in the words of the inputs. Who may
// neither read the cluster in the global cluster nor see it here is told that
// there is none.
func (v *Inventory) translate(ctx context.Context, verb, name string, err error) error {
	switch {
	case apierrors.IsForbidden(err):
		seen, e := v.Visible.Get(ctx, name)
		switch {
		case e != nil:
			return e
		case seen == nil && verb == http.MethodGet:
			return apierror.At(apierror.NotFound(clusterKind.Kind, name), clusterArgument)
		}
		return apierror.Wrap(err, apierror.CodeForbidden,
			"the roles that you have in the global cluster do not let you change cluster %q: it takes get and patch on clusters.kairship.io", name)
	case apierrors.IsNotFound(err):
		return apierror.At(apierror.NotFound(clusterKind.Kind, name), clusterArgument)
	case apierrors.IsConflict(err):
		return apierror.At(apierror.Wrap(err, apierror.CodeConflict, "cluster %q keeps changing; try again", name), clusterArgument)
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return write.Translate("", err, clusterKind, verb, "", name, write.Paths{"": "input", "spec": clusterArgument + "!", "spec.instanceRef": write.InstanceArgument + "!"})
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return unanswered(err)
}
