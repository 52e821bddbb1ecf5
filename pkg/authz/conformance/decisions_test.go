package conformance_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/kairship-io/kairship/pkg/authz"
)

var (
	instances  = []string{"alpha", "beta", "gamma-2"}
	namespaces = []string{"", "shop", "ops"}
)

// needed are the permissions that each decision requires, by subresource and verb: an independent
// copy of the table in the documentation of pkg/authz.
var needed = map[authz.Verb][]string{
	authz.VerbView:           {"resources get", "resources list"},
	authz.VerbWatch:          {"resources get", "resources list", "resources watch"},
	authz.VerbCreate:         {"resources create"},
	authz.VerbUpdate:         {"resources update", "resources patch"},
	authz.VerbDelete:         {"resources delete"},
	authz.VerbReadSecrets:    {"resources get", "resources list", "secrets get"},
	authz.VerbProxy:          {"proxy get"},
	authz.VerbManageAccess:   {"access get", "access create", "access update", "access patch", "access delete"},
	authz.VerbUpdateInstance: {"management update"},
	authz.VerbDeleteInstance: {"management delete"},
	authz.VerbCreateInstance: {"management create"},
}

// can decides by asking the API server about every permission alone.
func (j *judge) can(ctx context.Context, u authz.User, verb authz.Verb, instance, namespace string) (bool, error) {
	for _, permission := range append([]string{" get"}, needed[verb]...) {
		subresource, v, _ := strings.Cut(permission, " ")
		ok, err := j.permits(ctx, u, subresource, v, instance, namespace)
		if err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

// permits asks about the instance as a whole and, where the permission can be
// given for a namespace, about that.
func (j *judge) permits(ctx context.Context, u authz.User, subresource, verb, instance, namespace string) (bool, error) {
	a := authorizationv1.ResourceAttributes{Group: "kairship.io", Resource: "instances", Subresource: subresource, Verb: verb, Name: instance}
	ok, err := j.allows(ctx, u, a)
	if err != nil || ok || namespace == "" {
		return ok, err
	}
	switch subresource {
	case "resources":
		a.Subresource = "namespaces"
	case "secrets":
	default:
		return false, nil
	}
	a.Name += ":" + namespace
	return j.allows(ctx, u, a)
}

// agree compares every decision about a user.
func (g *global) agree(j *judge, resolver *authz.Resolver, u authz.User) {
	g.t.Helper()
	u.Groups = append([]string{"system:authenticated"}, u.Groups...)
	v, err := resolver.Visibility(g.t.Context(), u, instances...)
	if err != nil {
		g.t.Errorf("%s: %v", u.Name, err)
		return
	}
	check := func(what string, got bool, err error, want bool) {
		g.t.Helper()
		if err != nil || got != want {
			g.t.Errorf("%s, %s: we say %v, the API server %v, %v", u.Name, what, got, want, err)
		}
	}
	all, err := j.allows(g.t.Context(), u, authorizationv1.ResourceAttributes{Group: "kairship.io", Resource: "instances", Verb: "get"})
	check("every instance", v.All(), err, all)
	for _, instance := range instances {
		grant, visible := v.Instance(instance)
		want, err := j.permits(g.t.Context(), u, "", "get", instance, "")
		check("see "+instance, visible, err, want)
		for verb := range needed {
			for _, namespace := range namespaces {
				want, err := j.can(g.t.Context(), u, verb, instance, namespace)
				check(fmt.Sprintf("%s in %s of %s", verb, namespace, instance), grant.Can(verb, namespace), err, want)
			}
		}
		for _, verb := range []string{"get", "create", "update", "patch", "delete"} {
			want, err := j.permits(g.t.Context(), u, "proxy", verb, instance, "")
			check("proxy "+verb+" to "+instance, grant.CanProxy(verb), err, want && visible)
		}
	}
}

// written are users whose rules are written for a reason.
func written(g *global) []authz.User {
	const reads, writes = "get list watch", "create update patch delete"
	see := rule("get", "instances", "alpha")
	viewer := []rbacv1.PolicyRule{rule(reads, "instances instances/resources", "alpha")}
	editor := slices.Concat(viewer, []rbacv1.PolicyRule{
		rule(writes, "instances/resources", "alpha"), rule("get", "instances/secrets", "alpha"), rule("get "+writes, "instances/proxy", "alpha"),
	})
	var users []authz.User
	user := func(name string, rules ...rbacv1.PolicyRule) {
		u := authz.User{Name: g.prefix + "-" + name}
		if len(rules) > 0 {
			g.bind(g.role(rules...), person(u.Name))
		}
		users = append(users, u)
	}
	user("nobody")
	user("viewer", viewer...)
	user("editor", editor...)
	user("admin", append(editor, rule("get "+writes, "instances/access", "alpha"), rule("update delete", "instances/management", "alpha"))...)
	user("in-shop", see, rule(reads+" "+writes, "instances/namespaces", "alpha:shop"), rule("get", "instances/secrets", "alpha:shop"))
	user("in-two", see, rule(reads, "instances/namespaces", "alpha:shop alpha:ops"), rule(writes, "instances/namespaces", "alpha:ops"))
	user("namespaces-only", rule("*", "instances/namespaces", "alpha:shop"))
	user("every-namespace", see, rule(reads, "instances/namespaces", ""))
	user("any-resource", rule("*", "*", "alpha"))
	user("any-subresource", see, rule("*", "*/resources */secrets", ""))
	user("looks-like-any", see, rule("*", "instances/* */* instances/", ""))
	user("any-verb", rule("*", "instances instances/resources", ""))
	user("any-group", inGroups("*", rule("get list", "instances instances/resources", "beta")))
	user("other-group", inGroups("apps operator.kairship.io", rule("*", "*", "")))
	user("star-name", rule("*", "*", "*"))
	user("odd-names", see, rule(reads, "instances/namespaces", "alpha: :shop alpha alpha:shop:ops"), rule(reads, "instances/resources", "alpha:shop"))
	user("split", see, rule("get", "instances/resources", "alpha"), rule("list", "instances/namespaces", "alpha:shop"))
	user("cluster-admin", inGroups("*", rule("*", "*", "")))

	byGroup := authz.User{Name: g.prefix + "-by-group", Groups: []string{g.prefix + ":group"}}
	g.bind(g.role(viewer...), group(byGroup.Groups[0]))
	both := authz.User{Name: g.prefix + "-by-both", UID: "u-1", Groups: byGroup.Groups, Extra: map[string][]string{"scopes": {"a", "b"}, "example.org/Key%": {"c"}}}
	g.bind(g.role(rule("get", "instances", "beta")), person(both.Name))
	machine := authz.User{Name: "system:serviceaccount:default:" + g.prefix, Groups: []string{"system:serviceaccounts", "system:serviceaccounts:default"}}
	g.bind(g.role(viewer...), rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: "default", Name: g.prefix})

	inNamespace := authz.User{Name: g.prefix + "-in-a-namespace"}
	g.bindIn("default", g.role(inGroups("*", rule("*", "*", ""))), person(inNamespace.Name))
	g.bindIn("kube-system", g.role(viewer...), person(inNamespace.Name))
	dangling := authz.User{Name: g.prefix + "-dangling"}
	g.bind("no-such-role", person(dangling.Name))
	g.bind(g.role(viewer...), person(dangling.Name))
	return append(users, byGroup, both, machine, inNamespace, dangling)
}

// generated are users with random rules: cases that were not thought of.
func generated(g *global, count int) []authz.User {
	random := rand.New(rand.NewPCG(1, 2)) // The same users in every run.
	some := func(most int, from ...string) []string {
		picked := make([]string, 1+random.IntN(most))
		for i := range picked {
			picked[i] = from[random.IntN(len(from))]
		}
		return picked
	}
	users := make([]authz.User, count)
	for i := range users {
		users[i].Name = fmt.Sprintf("%s-generated-%d", g.prefix, i)
		rules := []rbacv1.PolicyRule{rule("get", "instances", instances[random.IntN(len(instances))])}
		for range 1 + random.IntN(6) {
			r := rbacv1.PolicyRule{
				APIGroups: some(2, "kairship.io", "kairship.io", "kairship.io", "*", "apps", ""),
				Verbs:     some(5, "get", "list", "get", "list", "watch", "create", "update", "patch", "delete", "*"),
				Resources: some(3, "instances", "instances/resources", "instances/namespaces", "instances/secrets", "instances/proxy", "instances/access", "instances/management",
					"*", "*/resources", "*/namespaces", "*/proxy", "instances/*", "*/*", "clusters"),
			}
			if random.IntN(5) > 0 {
				r.ResourceNames = some(3, "alpha", "beta", "gamma-2", "alpha:shop", "alpha:ops", "beta:shop", "beta:ops", "gamma-2:shop", "gamma", "alpha:", "*")
			}
			rules = append(rules, r)
		}
		// Rules of one user may come from several bindings.
		at := random.IntN(len(rules))
		if at > 0 {
			g.bind(g.role(rules[:at]...), person(users[i].Name))
		}
		g.bind(g.role(rules[at:]...), person(users[i].Name))
	}
	return users
}

func TestDecisionsAgreeWithTheAPIServer(t *testing.T) {
	g := newGlobal(t, "agree")
	users := append(written(g), generated(g, 60)...)
	g.awaitRules()
	j := &judge{g: g, known: map[asked]bool{}}
	for name, resolver := range map[string]*authz.Resolver{
		"listed": g.resolver(),
		// An API server that can't list its rules is asked one by one.
		"one by one": authz.NewResolver(incomplete{authz.NewRulesReviewer(g.kube.AuthorizationV1().RESTClient())},
			g.kube.AuthorizationV1().SubjectAccessReviews(), nil, nil),
	} {
		t.Run(name, func(t *testing.T) {
			of := *g
			of.t = t
			var running errgroup.Group
			running.SetLimit(8)
			for _, u := range users {
				running.Go(func() error {
					of.agree(j, resolver, u)
					return nil
				})
			}
			_ = running.Wait()
		})
	}
	permitted := 0
	for _, answer := range j.known {
		if answer {
			permitted++
		}
	}
	if permitted < len(j.known)/20 || permitted > len(j.known)*19/20 {
		t.Errorf("of %d questions %d were answered yes: the users say too little", len(j.known), permitted)
	}
	t.Logf("%d users, %d questions to the API server, %d answered yes", len(users), len(j.known), permitted)
}

// incomplete reports of every answer that it is not all.
type incomplete struct{ authz.RulesReviewer }

func (i incomplete) Rules(ctx context.Context, u authz.User) (*authorizationv1.SubjectRulesReviewStatus, error) {
	status, err := i.RulesReviewer.Rules(ctx, u)
	if err != nil {
		return nil, err
	}
	status.Incomplete = true
	return status, nil
}
