// Package rolebindings implements the mutations that give and take away roles on instances.
//
// Kairship writes an InstanceRoleBinding with its own identity and not as the user. RBAC can't
// limit who may create one to an instance, so no role permits to write the stored object; roles
// permit the virtual resource instances/access instead, and this package decides what it allows.
package rolebindings

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/audit"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/authz/roles"
	"github.com/kairship-io/kairship/pkg/fleet/access"
	"github.com/kairship-io/kairship/pkg/fleet/rolebinding"
	"github.com/kairship-io/kairship/pkg/fleet/write"
)

var kind = write.Kind{GroupVersionResource: v1alpha1.GroupVersion.WithResource("instancerolebindings"), Kind: "InstanceRoleBinding"}

const bindingArgument = "input.binding"

// paths are the inputs that the fields of an InstanceRoleBinding come from.
var paths = write.Paths{
	"": "input", "metadata": bindingArgument + "!", "spec": "input", "spec.instanceRef": write.InstanceArgument + "!",
	"spec.subject.name": "input.subject!", "spec.subject.kind": "input.subjectKind!", "spec.namespaces": "input.namespaces",
}

// Service gives roles and takes them away.
type Service struct {
	Access *access.Access
	// Global reads from and writes to the global cluster itself, as Kairship.
	Global client.Client
	// Watched is the watch on the global cluster that later reads are answered from.
	Watched client.Reader
}

// GrantInput is the input of grantInstanceRole.
type GrantInput struct {
	Instance    string
	SubjectKind v1alpha1.SubjectKind
	Subject     string
	Role        v1alpha1.Role
	Namespaces  []string
	DryRun      bool
}

// GrantPayload is a role that was given.
type GrantPayload struct {
	Binding *rolebinding.RoleBinding
	// Unchanged reports that the role was given in the same way already.
	Unchanged bool
	// ConsistencyToken is always nil: bindings are watched, not indexed.
	ConsistencyToken *string
}

// RevokeInput is the input of revokeInstanceRole.
type RevokeInput struct {
	Instance        string
	Binding         string
	ResourceVersion *string
	DryRun          bool
}

// RevokePayload is a role that was taken away.
type RevokePayload struct {
	Binding *rolebinding.RoleBinding
	// ConsistencyToken is always nil: bindings are watched, not indexed.
	ConsistencyToken *string
}

// Grant gives a role.
func (s *Service) Grant(ctx context.Context, in GrantInput) (*GrantPayload, error) {
	grant, err := s.manage(ctx, in.Instance)
	if err != nil {
		return nil, err
	}
	if err := covered(grant, in); err != nil {
		return nil, err
	}
	b := in.binding()
	if user, ok := authz.UserFrom(ctx); ok {
		b.Annotations = map[string]string{v1alpha1.GrantedByAnnotation: user.Name}
	}
	err = s.Global.Create(ctx, b, &client.CreateOptions{DryRun: write.DryRun(in.DryRun), FieldManager: write.FieldManager})
	if apierrors.IsAlreadyExists(err) {
		return s.unchanged(ctx, b)
	}
	if err != nil {
		return nil, translate(http.MethodPost, in.Instance, b.Name, err)
	}
	if !in.DryRun {
		write.Await(ctx, s.Watched, b, &v1alpha1.InstanceRoleBinding{})
	}
	return &GrantPayload{Binding: rolebinding.New(b)}, nil
}

// unchanged returns the binding that exists in place of a new one.
func (s *Service) unchanged(ctx context.Context, wanted *v1alpha1.InstanceRoleBinding) (*GrantPayload, error) {
	instance := wanted.Spec.InstanceRef.Name
	var found v1alpha1.InstanceRoleBinding
	if err := s.Global.Get(ctx, client.ObjectKeyFromObject(wanted), &found); err != nil {
		return nil, translate(http.MethodGet, instance, wanted.Name, err)
	}
	switch b := rolebinding.New(&found); {
	case b.Revoked():
		return nil, apierror.In(apierror.New(apierror.CodeConflict, "the same role is being taken away at the moment; try again when binding %s no longer exists", found.Name), instance)
	case found.Spec.InstanceRef != wanted.Spec.InstanceRef || found.Spec.Subject != wanted.Spec.Subject || found.Spec.Role != wanted.Spec.Role ||
		!slices.Equal(b.Namespaces(), wanted.Spec.Namespaces):
		return nil, apierror.In(apierror.New(apierror.CodeConflict, "binding %s was changed to give another role: delete it, then try again", found.Name), instance)
	default:
		return &GrantPayload{Binding: b, Unchanged: true}, nil
	}
}

// Revoke takes a role away.
func (s *Service) Revoke(ctx context.Context, in RevokeInput) (*RevokePayload, error) {
	if _, err := s.manage(ctx, in.Instance); err != nil {
		return nil, err
	}
	if err := write.CheckPreconditions(in.ResourceVersion, nil); err != nil {
		return nil, err
	}
	missing := apierror.At(apierror.NotFound(kind.Kind, in.Binding), bindingArgument)
	if write.CheckName(in.Binding, bindingArgument) != nil {
		return nil, missing
	}
	var b v1alpha1.InstanceRoleBinding
	if err := s.Global.Get(ctx, client.ObjectKey{Name: in.Binding}, &b); err != nil {
		return nil, translate(http.MethodGet, in.Instance, in.Binding, err)
	}
	if b.Spec.InstanceRef.Name != in.Instance {
		return nil, missing
	}
	if err := removable(&b, in.ResourceVersion); err != nil {
		return nil, apierror.In(err, in.Instance)
	}
	only := client.Preconditions{UID: &b.UID, ResourceVersion: in.ResourceVersion}
	err := s.Global.Delete(ctx, &b, only, &client.DeleteOptions{DryRun: write.DryRun(in.DryRun)})
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, translate(http.MethodDelete, in.Instance, in.Binding, err)
	}
	if !in.DryRun {
		s.awaitRemoval(ctx, &b)
	}
	return &RevokePayload{Binding: rolebinding.New(&b)}, nil
}

// awaitRemoval waits until the watch has that a binding is deleted, or being deleted.
func (s *Service) awaitRemoval(ctx context.Context, b *v1alpha1.InstanceRoleBinding) {
	var now v1alpha1.InstanceRoleBinding
	if err := s.Global.Get(ctx, client.ObjectKeyFromObject(b), &now); err == nil && now.UID == b.UID {
		write.Await(ctx, s.Watched, &now, &v1alpha1.InstanceRoleBinding{})
		return
	}
	stamp := metav1.Now()
	removed := b.DeepCopy()
	removed.DeletionTimestamp = &stamp
	write.Await(ctx, s.Watched, removed, &v1alpha1.InstanceRoleBinding{})
}

// removable refuses to delete bindings of global management, and those that have changed.
func removable(b *v1alpha1.InstanceRoleBinding, version *string) error {
	switch {
	case b.Spec.Source != nil:
		return apierror.At(apierror.New(apierror.CodeInvalid,
			"binding %s comes from the platform's access management, which would give the role again: take it away there (its ID there is %q)", b.Name, b.Spec.Source.BindingID), bindingArgument)
	case version != nil && *version != b.ResourceVersion:
		return &apierror.Error{
			Code: apierror.CodeConflict, Argument: "input.resourceVersion", CurrentVersion: b.ResourceVersion,
			Message: fmt.Sprintf("binding %s has changed since resourceVersion %s: read it again, and decide anew", b.Name, *version),
		}
	}
	return nil
}

// manage returns the grant of a caller who may manage access to an instance that exists.
func (s *Service) manage(ctx context.Context, name string) (authz.Grant, error) {
	missing := apierror.At(apierror.NotFound("Instance", name), write.InstanceArgument)
	grant, visible, err := s.Access.Instance(ctx, name)
	switch {
	case err != nil:
		return grant, err
	case !visible:
		return grant, missing
	case !grant.Can(authz.VerbManageAccess, ""):
		audit.From(ctx).Refuse(name)
		return grant, apierror.In(apierror.New(apierror.CodeForbidden, "your roles do not let you manage access to instance %q: that is for its admins", name), name)
	}
	err = s.Watched.Get(ctx, client.ObjectKey{Name: name}, &v1alpha1.Instance{})
	if apierrors.IsNotFound(err) {
		return grant, missing
	}
	return grant, err
}

// covered refuses to give more than the caller may do.
func covered(grant authz.Grant, in GrantInput) error {
	if grant.Covers(authz.GrantOf(roles.Global(in.Role, in.Instance, in.Namespaces), in.Instance)) {
		return nil
	}
	return apierror.In(apierror.At(apierror.New(apierror.CodeForbidden,
		"you may manage access to instance %q, but the role %s permits more than your own roles do", in.Instance, strings.ToUpper(string(in.Role))), "input.role"), in.Instance)
}

// binding makes the resource. Its name follows from what it gives, so that the same role is given
// once.
func (in *GrantInput) binding() *v1alpha1.InstanceRoleBinding {
	const digits = 40
	namespaces := slices.Compact(slices.Sorted(slices.Values(in.Namespaces)))
	h := sha256.New()
	for _, part := range append([]string{in.Instance, string(in.SubjectKind), in.Subject, string(in.Role)}, namespaces...) {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return &v1alpha1.InstanceRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "role-" + hex.EncodeToString(h.Sum(nil))[:digits]},
		Spec: v1alpha1.InstanceRoleBindingSpec{
			InstanceRef: v1alpha1.InstanceReference{Name: in.Instance},
			Subject:     v1alpha1.BindingSubject{Kind: in.SubjectKind, Name: in.Subject},
			Role:        in.Role,
			Namespaces:  namespaces,
		},
	}
}

// translate returns the error of a request about a binding in the words of the inputs.
func translate(verb, instance, name string, err error) error {
	switch {
	case apierrors.IsNotFound(err):
		return apierror.At(apierror.NotFound(kind.Kind, name), bindingArgument)
	case apierrors.IsConflict(err):
		return apierror.In(apierror.At(apierror.Wrap(err, apierror.CodeConflict, "binding %s has changed meanwhile; read it again, and decide anew", name), "input.resourceVersion"), instance)
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return write.Translate("", err, kind, verb, "", name, paths)
	}
	return write.Unanswered(err, "the bindings")
}
