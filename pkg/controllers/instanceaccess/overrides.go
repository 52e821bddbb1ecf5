package instanceaccess

import (
	"context"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/authz/overrides"
	"github.com/kairship-io/kairship/pkg/authz/roles"
)

// limitation is how it is with the admission policy for overrides in an instance.
type limitation struct {
	// inForce means that the policy and its binding were found as they are to be, so
	// that editors may write override policies.
	inForce bool
	// isNew means that one of them was written just now. An API server enforces a policy
	// a moment after it is stored, so editors get the right at the next look.
	isNew bool
	// problem is why the instance does not have them.
	problem string
}

// limitOverrides keeps the admission policy that limits what editors may override. It
// goes with the ClusterRoles, with the last binding.
func (r *Reconciler) limitOverrides(ctx context.Context, s *scope) error {
	policies, bindings := s.admission.ValidatingAdmissionPolicies(), s.admission.ValidatingAdmissionPolicyBindings()
	if !s.anybodyWanted() {
		if s.strangers > 0 || len(s.grants) > 0 {
			return nil
		}
		err := remove(ctx, bindings, overrides.Name)
		if err == nil {
			err = remove(ctx, policies, overrides.Name)
		}
		if err == nil || refusal(err) {
			return nil
		}
		return r.unreached(ctx, s, err)
	}
	wrote, err := keep(ctx, policies, overrides.Policy(), func(have, want *admissionv1.ValidatingAdmissionPolicy) bool {
		same := equality.Semantic.DeepEqual(have.Spec, want.Spec)
		have.Spec = want.Spec
		return same
	})
	if err == nil {
		s.overrides.isNew = wrote
		wrote, err = keep(ctx, bindings, overrides.Binding(), func(have, want *admissionv1.ValidatingAdmissionPolicyBinding) bool {
			same := equality.Semantic.DeepEqual(have.Spec, want.Spec)
			have.Spec = want.Spec
			return same
		})
		s.overrides.isNew = s.overrides.isNew || wrote
	}
	switch {
	case err == nil:
		s.overrides.inForce = !s.overrides.isNew
	case apierrors.IsAlreadyExists(err):
		s.overrides.problem = fmt.Sprintf("it has a ValidatingAdmissionPolicy or ValidatingAdmissionPolicyBinding %q that was not made by Kairship. It is left alone; delete it to go on.", overrides.Name)
	case apierrors.IsNotFound(err):
		s.overrides.problem = "it does not serve ValidatingAdmissionPolicy of admissionregistration.k8s.io/v1, which Kubernetes has since version 1.30."
	case refusal(err):
		s.overrides.problem = fmt.Sprintf("it does not let its credentials write ValidatingAdmissionPolicies and their bindings: %v", err)
	default:
		return r.unreached(ctx, s, err)
	}
	if s.overrides.problem != "" {
		s.overrides.isNew = false
	}
	return nil
}

// overridesOf is the condition of a role that is bound without the right to write
// override policies; nil for the others.
func (s *scope) overridesOf(b *binding) *metav1.Condition {
	if s.overrides.inForce || !roles.WritesOverrides(b.Spec.Role, len(b.Spec.Namespaces) > 0) {
		return nil
	}
	said := v1alpha1.InstanceBoundUnknown(v1alpha1.ReasonPending, "The instance is taking over the admission policy that limits overrides.")
	if s.overrides.problem != "" {
		said = v1alpha1.InstanceNotBound(v1alpha1.ReasonOverridesWithheld,
			"The role has taken effect without the right to write override policies, because the instance cannot limit these: "+s.overrides.problem)
	}
	return &said
}

// store is a typed client of one kind.
type store[T metav1.Object] interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (T, error)
	Create(ctx context.Context, object T, options metav1.CreateOptions) (T, error)
	Update(ctx context.Context, object T, options metav1.UpdateOptions) (T, error)
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
}

// keep stores an object as wanted, and reports whether it wrote. The function makes what
// is there like what is wanted, and reports whether it was. An object that is not ours is
// left alone, with the error AlreadyExists.
func keep[T metav1.Object](ctx context.Context, in store[T], want T, adjust func(have, want T) (same bool)) (wrote bool, err error) {
	have, err := in.Get(ctx, want.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = in.Create(ctx, want, metav1.CreateOptions{FieldManager: Name})
		return err == nil, err
	}
	if err != nil {
		return false, err
	}
	if !ours(have) {
		return false, apierrors.NewAlreadyExists(admissionv1.Resource("validatingadmissionpolicies"), want.GetName())
	}
	labelled := contains(have.GetLabels(), want.GetLabels())
	have.SetLabels(merged(have.GetLabels(), want.GetLabels()))
	if adjust(have, want) && labelled {
		return false, nil
	}
	_, err = in.Update(ctx, have, metav1.UpdateOptions{FieldManager: Name})
	return err == nil, err
}

// remove deletes an object where it is ours.
func remove[T metav1.Object](ctx context.Context, in store[T], name string) error {
	have, err := in.Get(ctx, name, metav1.GetOptions{})
	if err == nil && ours(have) {
		uid := have.GetUID()
		err = in.Delete(ctx, name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func ours(object metav1.Object) bool {
	return object.GetLabels()[v1alpha1.ManagedByLabel] == v1alpha1.ManagedByValue
}
