package rolebinding

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/authz/roles"
)

// Verb is what can be done with objects.
type Verb string

// The verbs, in Kubernetes' words.
const (
	VerbGet    Verb = "GET"
	VerbList   Verb = "LIST"
	VerbWatch  Verb = "WATCH"
	VerbCreate Verb = "CREATE"
	VerbUpdate Verb = "UPDATE"
	VerbPatch  Verb = "PATCH"
	VerbDelete Verb = "DELETE"
)

// Question is what WhoCan is asked.
type Question struct {
	// Namespace is empty for objects without one.
	Namespace string
	Verb      Verb
	// Resource is a plural with its subresource and group, such as deployments.apps.
	Resource string
}

// WhoCan is who may do something.
type WhoCan struct{ Subjects []*WhoCanSubject }

// WhoCanSubject is a user or a group, with the bindings that permit it.
type WhoCanSubject struct {
	Kind     v1alpha1.SubjectKind
	Name     string
	Bindings []*RoleBinding
}

// question is a Question in the words of rules.
type question struct{ namespace, verb, group, resource string }

// resourceForm matches a plural with its subresource and group.
var resourceForm = regexp.MustCompile(`^([a-z0-9]+(?:/[a-z0-9]+)?)(?:\.([a-z0-9]([-a-z0-9.]*[a-z0-9])?))?$`)

func (q Question) parse() (question, error) {
	parts := resourceForm.FindStringSubmatch(q.Resource)
	if parts == nil {
		return question{}, apierror.Invalid("resource", "give the plural in lower case, with its group where it has one, for example deployments.apps, configmaps or pods/log")
	}
	return question{namespace: q.Namespace, verb: strings.ToLower(string(q.Verb)), group: parts[2], resource: parts[1]}, nil
}

// answer returns the subjects of the bindings that permit it.
func (q question) answer(bindings []*RoleBinding) (*WhoCan, error) {
	slices.SortFunc(bindings, byInstance)
	var out WhoCan
	for _, b := range bindings {
		permits, err := q.permittedBy(b)
		if err != nil {
			return nil, err
		}
		if !permits {
			continue
		}
		at := slices.IndexFunc(out.Subjects, func(s *WhoCanSubject) bool { return s.Kind == b.SubjectKind() && s.Name == b.Subject() })
		if at < 0 {
			at = len(out.Subjects)
			out.Subjects = append(out.Subjects, &WhoCanSubject{Kind: b.SubjectKind(), Name: b.Subject()})
		}
		out.Subjects[at].Bindings = append(out.Subjects[at].Bindings, b)
	}
	slices.SortFunc(out.Subjects, func(a, b *WhoCanSubject) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return &out, nil
}

// permittedBy reports whether a binding permits it, by the rules of its role in the instance.
func (q question) permittedBy(b *RoleBinding) (bool, error) {
	named := b.Namespaces()
	switch {
	case b.Revoked():
		return false, nil
	case len(named) > 0 && !slices.Contains(named, q.namespace):
		return false, nil
	}
	inNamespace := q.namespace != "" && (len(named) > 0 || !roles.Reserved(q.namespace))
	rules, err := roles.InInstance(b.Role(), len(named) > 0, inNamespace)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(rules, q.permits), nil
}

// permits reports whether a rule permits it for all objects.
func (q question) permits(r rbacv1.PolicyRule) bool {
	has := func(list []string, value string) bool {
		return slices.Contains(list, value) || slices.Contains(list, "*")
	}
	_, sub, _ := strings.Cut(q.resource, "/")
	return len(r.ResourceNames) == 0 && has(r.Verbs, q.verb) && has(r.APIGroups, q.group) &&
		(has(r.Resources, q.resource) || sub != "" && slices.Contains(r.Resources, "*/"+sub))
}
