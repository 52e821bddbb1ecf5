package instanceaccess

import (
	"cmp"
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/connection"
	"github.com/kairship-io/kairship/pkg/controllers/internal/connections"
	"github.com/kairship-io/kairship/pkg/controllers/internal/removal"
)

// scope is the state that the phases of one reconciliation share.
type scope struct {
	name string
	// instance is nil when there is none.
	instance *v1alpha1.Instance
	bindings []*binding

	// to is how the instance is reached, and inside its client; set by connect.
	to connection.Connection
	inside
	conn *connections.Conn
	// global is the UID of the global cluster in the owner labels; set by connect.
	global string

	// What the instance has; set by look.
	looked bool
	roles  map[string]*rbacv1.ClusterRole
	grants map[place]*grant
	// bound are the bindings that had grants when these were read, and changed those of which some were written or
	// removed since.
	bound, changed map[string]bool
	// foreign counts the grants that were made for another Instance, or from another global
	// cluster.
	foreign int
	// namespaces are those in which editors of the whole instance are bound, and
	// namespacesRefused why the instance does not say which there are; set by
	// readNamespaces.
	namespaces        []string
	namespacesRefused error

	// limits are the states of the admission policies; set by limit.
	limits []limitation

	// rolesAreNew reports whether roles were written just now; incomplete, that the
	// instance has not done its part yet.
	rolesAreNew, incomplete bool
}

// binding is one InstanceRoleBinding, with the state of its rules in the instance.
type binding struct {
	*v1alpha1.InstanceRoleBinding
	// said is the condition to write; nil keeps the stored one.
	said *metav1.Condition
	// cleaned means that none of its rules is left in the instance.
	cleaned bool
	// held means that it has our finalizer.
	held bool
}

func newScope(name string, instance *v1alpha1.Instance, all []v1alpha1.InstanceRoleBinding) *scope {
	s := &scope{name: name, instance: instance}
	for i := range all {
		s.bindings = append(s.bindings, &binding{
			InstanceRoleBinding: &all[i],
			held:                slices.Contains(all[i].Finalizers, v1alpha1.InstanceAccessFinalizer),
		})
	}
	// The same order each time, so that what does not fit goes to the same ones.
	slices.SortFunc(s.bindings, func(a, b *binding) int { return cmp.Compare(a.Name, b.Name) })
	return s
}

// leaving reports whether the Instance is being deleted and its rules are to be removed. Before
// that, while clusters still block the deletion, users need their roles to remove workloads from
// these.
func (s *scope) leaving() bool {
	return s.instance != nil && removal.Begun(s.instance, v1alpha1.InstanceAccessFinalizer)
}

// holding reports whether the Instance has our finalizer.
func (s *scope) holding() bool {
	return s.instance != nil && slices.Contains(s.instance.Finalizers, v1alpha1.InstanceAccessFinalizer)
}

// wanted reports whether the binding is to have rules in the instance.
func (s *scope) wanted(b *binding) bool {
	return b.DeletionTimestamp.IsZero() && !b.Spec.Revoked && s.instance != nil && !s.leaving()
}

// idle reports whether the instance needs no rules, and never had any.
func (s *scope) idle() bool {
	return !s.holding() && !slices.ContainsFunc(s.bindings, func(b *binding) bool { return b.held || s.wanted(b) })
}

// letGo records that no binding has rules to remove.
func (s *scope) letGo() {
	for _, b := range s.bindings {
		b.cleaned = true
	}
}

// tell sets the condition of every binding that has none yet: one for roles that are wanted,
// another for roles that are to be removed.
func (s *scope) tell(wanted metav1.Condition, unwanted func(*binding) metav1.Condition) {
	for _, b := range s.bindings {
		if b.said != nil {
			continue
		}
		said := wanted
		switch {
		case b.cleaned:
			said = s.gone(b)
		case !s.wanted(b):
			said = unwanted(b)
		}
		b.said = &said
	}
}

// gone returns the condition of a role that has no rules left in the instance.
func (s *scope) gone(b *binding) metav1.Condition {
	switch {
	case !b.DeletionTimestamp.IsZero():
		return v1alpha1.InstanceNotBound(v1alpha1.ReasonDeleting, "Nothing is left of the role in the instance.")
	case b.Spec.Revoked:
		return v1alpha1.InstanceNotBound(v1alpha1.ReasonRevoked, "The role was taken away, and nothing is left of it in the instance.")
	case s.instance == nil:
		return v1alpha1.InstanceNotBound(v1alpha1.ReasonNoInstance,
			fmt.Sprintf("There is no Instance %q. The role takes effect once there is one.", s.name))
	}
	return v1alpha1.InstanceNotBound(v1alpha1.ReasonDeleting, fmt.Sprintf("The Instance %q is being deleted.", s.name))
}

// stuck returns the condition of a role whose rules could not be removed.
func (s *scope) stuck(why string) func(*binding) metav1.Condition {
	message := "The rules in the instance could not be removed yet, which is tried again: " + why
	return func(b *binding) metav1.Condition {
		if b.DeletionTimestamp.IsZero() && b.Spec.Revoked {
			return v1alpha1.InstanceNotBound(v1alpha1.ReasonRevoking, message)
		}
		return v1alpha1.InstanceNotBound(v1alpha1.ReasonDeleting, message)
	}
}
