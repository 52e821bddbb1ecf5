package instanceaccess

import (
	"context"
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/authz/roles"
)

// limitation is how it is with an admission policy in an instance.
type limitation struct {
	roles.Admission

	// inForce means that the policy and its binding are as they should be, so that editors may have
	// the permissions that it limits.
	inForce bool
	// isNew means that one of them was written just now. An API server enforces a policy
	// a moment after it is stored, so editors get the right at the next look.
	isNew bool
	// problem is why the instance does not have them.
	problem string
}

// limit keeps the admission policies that limit what editors may write. They go with the
// ClusterRoles, with the last binding.
func (r *Reconciler) limit(ctx context.Context, s *scope) error {
	s.limits = nil
	for _, a := range roles.Admissions() {
		l := limitation{Admission: a}
		if err := l.keep(ctx, s); err != nil {
			return r.unreached(ctx, s, err)
		}
		s.limits = append(s.limits, l)
	}
	return nil
}

// keep brings the policy and its binding to what they should be, and finds out how it is
// with them. The error is that of an instance that does not answer.
func (l *limitation) keep(ctx context.Context, s *scope) error {
	policies, bindings := s.admission.ValidatingAdmissionPolicies(), s.admission.ValidatingAdmissionPolicyBindings()
	if !s.anybodyWanted() {
		if s.foreign > 0 || len(s.grants) > 0 {
			return nil
		}
		err := remove(ctx, bindings, l.Binding.Name)
		if err == nil {
			err = remove(ctx, policies, l.Policy.Name)
		}
		if refusal(err) {
			return nil
		}
		return err
	}
	wrote, err := keep(ctx, policies, l.Policy, func(have, want *admissionv1.ValidatingAdmissionPolicy) bool {
		same := equality.Semantic.DeepEqual(have.Spec, want.Spec)
		have.Spec = want.Spec
		return same
	})
	if err == nil {
		l.isNew = wrote
		wrote, err = keep(ctx, bindings, l.Binding, func(have, want *admissionv1.ValidatingAdmissionPolicyBinding) bool {
			same := equality.Semantic.DeepEqual(have.Spec, want.Spec)
			have.Spec = want.Spec
			return same
		})
		l.isNew = l.isNew || wrote
	}
	switch {
	case err == nil:
		l.inForce = !l.isNew
	case apierrors.IsAlreadyExists(err):
		l.problem = fmt.Sprintf("it has a ValidatingAdmissionPolicy or ValidatingAdmissionPolicyBinding %q that was not made by Kairship. It is left alone; delete it to go on.", l.Policy.Name)
	case apierrors.IsNotFound(err):
		l.problem = "it does not serve ValidatingAdmissionPolicy of admissionregistration.k8s.io/v1, which Kubernetes has since version 1.30."
	case refusal(err):
		l.problem = fmt.Sprintf("it does not let its credentials write ValidatingAdmissionPolicies and their bindings: %v", err)
	default:
		return err
	}
	if l.problem != "" {
		l.isNew = false
	}
	return nil
}

// anyLimitNew reports whether an admission policy was written just now.
func (s *scope) anyLimitNew() bool {
	return slices.ContainsFunc(s.limits, func(l limitation) bool { return l.isNew })
}

// notLimited are the names of the admission policies that are not in force.
func (s *scope) notLimited() []string {
	var names []string
	for i := range s.limits {
		if !s.limits[i].inForce {
			names = append(names, s.limits[i].Policy.Name)
		}
	}
	return names
}

// withheldFrom is the condition of a role that is bound without a right, because the
// admission policy that limits it is not in force; nil for the others.
func (s *scope) withheldFrom(b *binding) *metav1.Condition {
	for i := range s.limits {
		l := &s.limits[i]
		if l.inForce || !roles.LimitedBy(l.Policy.Name, b.Spec.Role, len(b.Spec.Namespaces) > 0) {
			continue
		}
		said := v1alpha1.InstanceBoundUnknown(v1alpha1.ReasonPending,
			fmt.Sprintf("The instance is taking over the admission policy %s, without which the role has no right to %s.", l.Policy.Name, l.Limits))
		if l.problem != "" {
			said = v1alpha1.InstanceNotBound(l.Withheld,
				fmt.Sprintf("The role has taken effect without the right to %s, because the instance cannot limit these: %s", l.Limits, l.problem))
		}
		return &said
	}
	return nil
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
