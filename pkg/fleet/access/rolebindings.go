package access

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/audit"
	"github.com/kairship-io/kairship/pkg/authz"
)

// IsSubject reports whether a binding with a subject is about a user.
func IsSubject(user authz.User, subject v1alpha1.BindingSubject) bool {
	switch subject.Kind {
	case v1alpha1.SubjectUser:
		return subject.Name == user.Name
	case v1alpha1.SubjectGroup:
		return slices.Contains(user.Groups, subject.Name)
	}
	return false
}

// listRoleBindings keeps the bindings on the instances that the user sees: all of them where the
// user may manage access, elsewhere those that are about the user.
func (w *Watched) listRoleBindings(ctx context.Context, into *v1alpha1.InstanceRoleBindingList, opts []client.ListOption) error {
	var all v1alpha1.InstanceRoleBindingList
	if err := w.reader.List(ctx, &all, opts...); err != nil {
		return err
	}
	var names []string
	for i := range all.Items {
		names = append(names, all.Items[i].Spec.InstanceRef.Name)
	}
	slices.Sort(names)
	v, err := w.access.permissions.For(ctx, slices.Compact(names)...)
	if err != nil {
		audit.From(ctx).Fail()
		return err
	}
	user, known := authz.UserFrom(ctx)
	kept := all.Items[:0]
	for i := range all.Items {
		b := &all.Items[i]
		grant, visible := v.Instance(b.Spec.InstanceRef.Name)
		if visible && (grant.Can(authz.VerbManageAccess, "") || known && IsSubject(user, b.Spec.Subject)) {
			kept = append(kept, *b)
		}
	}
	all.Items = kept
	*into = all
	return nil
}
