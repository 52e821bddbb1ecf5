package rolebinding

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/audit"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/access"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/listing"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/index"
)

// Filter says which bindings to list.
type Filter struct {
	Subjects []string
	Roles    []v1alpha1.Role
	Source   *Source
}

// Service reads bindings from the watch on the global cluster.
type Service struct {
	// Watched restricts reads to what the caller may see; see access.Watched.
	Watched   client.Reader
	Access    *access.Access
	Freshness *freshness.Tracker
}

// List returns a page of the bindings on an instance.
func (s *Service) List(ctx context.Context, instance string, args page.Args, f *Filter) (*Connection, error) {
	all, err := s.all(ctx)
	if err != nil {
		return nil, err
	}
	if f == nil {
		f = &Filter{}
	}
	type identity struct {
		Instance string
		Filter   *Filter
	}
	return listing.Memory(listing.MemoryRequest[*RoleBinding]{
		Noun:          "RoleBinding",
		Args:          args,
		Order:         index.Order{Field: index.OrderByName},
		Match:         func(b *RoleBinding) bool { return b.InstanceName() == instance && f.matches(b) },
		MatchIdentity: identity{instance, f},
		Items:         all,
		Now:           s.Freshness.Now(),
		Freshness:     s.Freshness.Live(ctx),
	})
}

func (f *Filter) matches(b *RoleBinding) bool {
	return (f.Subjects == nil || slices.Contains(f.Subjects, b.Subject())) &&
		(f.Roles == nil || slices.Contains(f.Roles, b.Role())) &&
		(f.Source == nil || *f.Source == b.Source())
}

// Own returns the roles of the caller that were not taken away, by instance and name.
func (s *Service) Own(ctx context.Context) ([]RoleBinding, error) {
	user, known := authz.UserFrom(ctx)
	if !known {
		return nil, apierror.New(apierror.CodeUnauthenticated, "no credentials: send a bearer token of the global cluster in the Authorization header")
	}
	all, err := s.all(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, byInstance)
	own := []RoleBinding{}
	for _, b := range all {
		if !b.Revoked() && access.IsSubject(user, b.Spec.Subject) {
			own = append(own, *b)
		}
	}
	return own, nil
}

// WhoCan returns who may do something in an instance, by the roles on it. It is for users who
// may manage access to the instance.
func (s *Service) WhoCan(ctx context.Context, instance string, q Question) (*WhoCan, error) {
	grant, visible, err := s.Access.Instance(ctx, instance)
	switch {
	case err != nil:
		return nil, err
	case !visible:
		return nil, nil //nolint:nilnil // Null in the answer, as for an instance that does not exist.
	case !grant.Can(authz.VerbManageAccess, ""):
		audit.From(ctx).Refuse(instance)
		return nil, apierror.In(apierror.New(apierror.CodeForbidden, "your roles do not let you see who may do what on instance %q: that is for those who manage access to it", instance), instance)
	}
	asked, err := q.parse()
	if err != nil {
		return nil, err
	}
	var found v1alpha1.Instance
	if err := s.Watched.Get(ctx, client.ObjectKey{Name: instance}, &found); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	all, err := s.all(ctx)
	if err != nil {
		return nil, err
	}
	return asked.answer(slices.DeleteFunc(all, func(b *RoleBinding) bool { return b.InstanceName() != instance }))
}

// all returns the bindings that the caller may see, in no order.
func (s *Service) all(ctx context.Context) ([]*RoleBinding, error) {
	var list v1alpha1.InstanceRoleBindingList
	if err := s.Watched.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	items := make([]*RoleBinding, len(list.Items))
	for i := range list.Items {
		items[i] = New(&list.Items[i])
	}
	return items, nil
}
