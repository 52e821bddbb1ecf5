package authz

import (
	"slices"
	"sync"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// rules are what RBAC says about instances, for one user.
type rules struct {
	// everything holds for every instance as a whole; everyNamespace for every
	// namespace of every instance.
	everything, everyNamespace facts
	// instances hold for single ones as a whole, namespaces for single namespaces
	// of single ones, by instance and then by namespace.
	instances  map[string]facts
	namespaces map[string]map[string]facts

	// key is that of Visibility.Key, computed when it is asked for.
	keyed sync.Once
	key   string
}

// parseRules reads the rules of a user from a SelfSubjectRulesReview. It takes
// each rule exactly as RBAC would when asked about one instance: a rule that it
// can't read permits nothing.
//
// status.evaluationError is not looked at. RBAC reports there that a role which
// a binding names is missing; such a binding permits nothing, here as in RBAC,
// and the other rules hold.
func parseRules(status *authorizationv1.SubjectRulesReviewStatus) *rules {
	r := &rules{instances: map[string]facts{}, namespaces: map[string]map[string]facts{}}
	for i := range status.ResourceRules {
		rule := &status.ResourceRules[i]
		if !matchesAny(rule.APIGroups, apiGroup) {
			continue
		}
		whole, namespaced := permitted(rule, questions), permitted(rule, namespaceQuestions)
		if whole|namespaced == 0 {
			continue
		}
		if len(rule.ResourceNames) == 0 {
			r.everything |= whole
			r.everyNamespace |= namespaced
			continue
		}
		for _, name := range rule.ResourceNames {
			r.addNamed(name, whole, namespaced)
		}
	}
	return r
}

// GrantOf returns what rules of RBAC permit on an instance.
func GrantOf(of []rbacv1.PolicyRule, instance string) Grant {
	var status authorizationv1.SubjectRulesReviewStatus
	for i := range of {
		status.ResourceRules = append(status.ResourceRules, authorizationv1.ResourceRule{
			Verbs: of[i].Verbs, APIGroups: of[i].APIGroups, Resources: of[i].Resources, ResourceNames: of[i].ResourceNames,
		})
	}
	return parseRules(&status).grant(instance)
}

func permitted(rule *authorizationv1.ResourceRule, about []question) facts {
	var f facts
	for _, q := range about {
		if matchesAny(rule.Verbs, q.verb) && matchesResource(rule.Resources, q.subresource) {
			f |= q.fact
		}
	}
	return f
}

// addNamed adds what a rule permits under one name. A name without a colon is no
// namespace's, and one with a colon no instance's; "*" is not special to RBAC.
func (r *rules) addNamed(name string, whole, namespaced facts) {
	instance, namespace, ok := cutNamespace(name)
	switch {
	case instance == "" || (ok && namespace == ""):
	case !ok:
		if whole != 0 {
			r.instances[instance] |= whole
		}
	case namespaced != 0:
		of := r.namespaces[instance]
		if of == nil {
			of = map[string]facts{}
			r.namespaces[instance] = of
		}
		of[namespace] |= namespaced
	}
}

// grant is what the rules permit on one instance.
func (r *rules) grant(instance string) Grant {
	return Grant{
		whole:      r.everything | r.instances[instance],
		every:      r.everyNamespace,
		namespaces: r.namespaces[instance],
	}
}

// named is what the rules permit on each instance that they name.
func (r *rules) named() map[string]Grant {
	grants := map[string]Grant{}
	for name := range r.instances {
		grants[name] = r.grant(name)
	}
	for name := range r.namespaces {
		grants[name] = r.grant(name)
	}
	return grants
}

// mentions reports whether a rule names an instance so that it can be seen.
func (r *rules) mentions(instance string) bool {
	return (r.everything | r.instances[instance]).has(seeInstance)
}

// mentionedFirst orders names by whether a rule mentions them, then by name.
func (r *rules) mentionedFirst(names []string) []string {
	sorted := slices.Sorted(slices.Values(names))
	sorted = slices.Compact(sorted)
	slices.SortStableFunc(sorted, func(a, b string) int {
		switch x, y := r.mentions(a), r.mentions(b); {
		case x == y:
			return 0
		case x:
			return -1
		}
		return 1
	})
	return sorted
}
