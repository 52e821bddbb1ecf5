package specs

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/write"
)

// Attempt is a change of an object that is tried, and not made.
type Attempt[S any] struct {
	// Verb is authz.VerbCreate, authz.VerbUpdate or authz.VerbDelete.
	Verb                      authz.Verb
	Instance, Namespace, Name string
	// Spec is what the object is to say; nil for a deletion, and to leave it as it is.
	Spec *S
}

// Tried is an object before and after a change that the instance would accept.
type Tried struct {
	Site *write.Site
	// Before is nil when the object is created, After when it is deleted.
	Before, After *unstructured.Unstructured
}

// Try has the instance check a change in a dry run, as the caller, and refuses what the mutation of the same
// verb refuses.
func (c *Changes[T, S]) Try(ctx context.Context, a Attempt[S]) (*Tried, error) {
	site, err := c.site(ctx, a.Verb, a.Instance, a.Namespace, a.Name)
	if err != nil {
		return nil, err
	}
	tried, dry := &Tried{Site: site}, write.Options{DryRun: true, Paths: paths}
	if a.Verb == authz.VerbCreate {
		if a.Spec == nil {
			return nil, apierror.Invalid("input.spec", "a new %s needs a spec", c.Kind.Kind)
		}
		u, err := c.draft(CreateInput[S]{Instance: a.Instance, Namespace: a.Namespace, Name: a.Name, Spec: *a.Spec})
		if err != nil {
			return nil, err
		}
		out, err := site.Create(ctx, c.Kind, u, dry)
		if err != nil {
			return nil, err
		}
		tried.After = out.Stored()
		return tried, nil
	}
	if tried.Before, err = site.Get(ctx, c.Kind, a.Namespace, a.Name, paths); err != nil {
		return nil, err
	}
	if a.Verb == authz.VerbDelete {
		_, err := site.Delete(ctx, c.Kind, a.Namespace, a.Name, write.Deletion{UID: string(tried.Before.GetUID())}, dry)
		return tried, err
	}
	u := tried.Before.DeepCopy()
	if a.Spec != nil {
		if err := c.say(u, a.Spec); err != nil {
			return nil, err
		}
	}
	u.SetManagedFields(nil)
	out, err := site.Update(ctx, c.Kind, u, dry)
	if err != nil {
		return nil, err
	}
	tried.After = out.Stored()
	return tried, nil
}
