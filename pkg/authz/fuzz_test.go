package authz

import (
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
)

// rbacAllows judges one question as Kubernetes' RBAC authorizer does, written
// after its documentation and independent of the parser.
func rbacAllows(all []authorizationv1.ResourceRule, verb, subresource, name string) bool {
	combined := "instances"
	if subresource != "" {
		combined += "/" + subresource
	}
	return slices.ContainsFunc(all, func(r authorizationv1.ResourceRule) bool {
		verbs := slices.Contains(r.Verbs, verb) || slices.Contains(r.Verbs, "*")
		groups := slices.Contains(r.APIGroups, "kairship.io") || slices.Contains(r.APIGroups, "*")
		resources := slices.ContainsFunc(r.Resources, func(res string) bool {
			return res == "*" || res == combined || (subresource != "" && res == "*/"+subresource)
		})
		names := len(r.ResourceNames) == 0 || slices.Contains(r.ResourceNames, name)
		return verbs && groups && resources && names
	})
}

// rbacCan decides what Grant.Can decides, from single questions, after the table
// of virtual resources in the package's documentation.
func rbacCan(all []authorizationv1.ResourceRule, verb Verb, instance, namespace string) bool {
	of := func(subresource string, verbs ...string) bool {
		return !slices.ContainsFunc(verbs, func(v string) bool {
			switch {
			case rbacAllows(all, v, subresource, instance):
				return false
			case namespace == "":
				return true
			case subresource == "resources":
				return !rbacAllows(all, v, "namespaces", instance+":"+namespace)
			case subresource == "secrets":
				return !rbacAllows(all, v, "secrets", instance+":"+namespace)
			}
			return true
		})
	}
	if !of("", "get") {
		return false
	}
	switch verb {
	case VerbView:
		return of("resources", "get", "list")
	case VerbWatch:
		return of("resources", "get", "list", "watch")
	case VerbCreate:
		return of("resources", "create")
	case VerbUpdate:
		return of("resources", "update", "patch")
	case VerbDelete:
		return of("resources", "delete")
	case VerbReadSecrets:
		return of("resources", "get", "list") && of("secrets", "get")
	case VerbProxy:
		return of("proxy", "get")
	case VerbManageAccess:
		return of("access", "get", "create", "update", "patch", "delete")
	case VerbUpdateInstance:
		return of("management", "update")
	case VerbDeleteInstance:
		return of("management", "delete")
	case VerbCreateInstance:
		return of("management", "create")
	}
	return false
}

// rulesFrom makes rules of a text: one for each line, its four lists separated by
// "|" and their items by spaces.
func rulesFrom(text string) []authorizationv1.ResourceRule {
	var out []authorizationv1.ResourceRule
	for line := range strings.Lines(text) {
		var lists [4][]string
		for i, list := range strings.SplitN(line, "|", 4) {
			lists[i] = strings.Fields(list)
		}
		out = append(out, authorizationv1.ResourceRule{APIGroups: lists[0], Verbs: lists[1], Resources: lists[2], ResourceNames: lists[3]})
	}
	return out
}

func FuzzParseRules(f *testing.F) {
	for _, seed := range []string{
		"kairship.io|get list watch|instances instances/resources|alpha",
		"kairship.io|get|instances|alpha beta\nkairship.io|*|instances/namespaces|alpha:shop beta:ops",
		"*|*|*|",
		"* apps|*|*/namespaces */secrets|alpha:shop\nkairship.io|get|instances|",
		"kairship.io|get create update patch delete|instances/access instances/proxy|alpha\nkairship.io|get|*|",
		"kairship.io|*|instances/* */* instances/|alpha * alpha:* : :shop alpha:",
		"kairship.io|get|*/|alpha\nkairship.io|get|*|alpha:shop:ops",
		"",
		"kairship.io|update patch|instances/namespaces|\nkairship.io|patch|instances/resources|alpha\nkairship.io|get|instances|alpha",
	} {
		f.Add(seed, "alpha", "shop")
	}
	f.Fuzz(func(t *testing.T, text, instance, namespace string) {
		all := rulesFrom(text)
		v := visibilityOf(all...)
		if instance == "" || strings.Contains(instance, ":") {
			if v.Sees(instance) {
				t.Fatalf("%q can't be the name of an instance and is visible", instance)
			}
			return
		}
		g, visible := v.Instance(instance)
		if want := rbacAllows(all, "get", "", instance); visible != want {
			t.Fatalf("visible = %v, want %v", visible, want)
		}
		if want := rbacAllows(all, "get", "", "\x00 the name of none"); v.All() != want {
			t.Fatalf("All() = %v, want %v", v.All(), want)
		}
		for verb := range needs {
			for _, ns := range []string{namespace, "", "shop"} {
				if got, want := g.Can(verb, ns), rbacCan(all, verb, instance, ns); got != want {
					t.Errorf("Can(%s, %q) = %v, want %v", verb, ns, got, want)
				}
			}
			checkReach(t, g, verb, namespace)
		}
	})
}

// checkReach holds Reach against Can.
func checkReach(t *testing.T, g Grant, verb Verb, namespace string) {
	t.Helper()
	r := g.Reach(verb)
	if r.Everything != g.Can(verb, "") {
		t.Errorf("Reach(%s).Everything = %v, and Can without namespace %v", verb, r.Everything, !r.Everything)
	}
	if namespace != "" {
		if inside := r.EveryNamespace || slices.Contains(r.Namespaces, namespace); inside != g.Can(verb, namespace) {
			t.Errorf("Reach(%s) = %+v, and Can in %q %v", verb, r, namespace, !inside)
		}
	}
	if !slices.IsSorted(r.Namespaces) {
		t.Errorf("Reach(%s) is not in order: %q", verb, r.Namespaces)
	}
}
