package authz

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
)

// rule writes a rule of group kairship.io: lists are separated by spaces.
func rule(verbs, resources, names string) authorizationv1.ResourceRule {
	return authorizationv1.ResourceRule{
		Verbs: strings.Fields(verbs), APIGroups: []string{"kairship.io"},
		Resources: strings.Fields(resources), ResourceNames: strings.Fields(names),
	}
}

func groupRule(groups, verbs, resources, names string) authorizationv1.ResourceRule {
	r := rule(verbs, resources, names)
	r.APIGroups = strings.Split(groups, " ")
	return r
}

const (
	reads  = "get list watch"
	writes = "create update patch delete"
)

// The rules of the roles, as a binding to an instance gives them.
func viewerRules(instance string) []authorizationv1.ResourceRule {
	return []authorizationv1.ResourceRule{
		rule(reads, "instances", instance),
		rule(reads, "instances/resources", instance),
	}
}

func editorRules(instance string) []authorizationv1.ResourceRule {
	return append(viewerRules(instance),
		rule(writes, "instances/resources", instance),
		rule("get", "instances/secrets", instance),
		rule("get create update patch delete", "instances/proxy", instance))
}

func adminRules(instance string) []authorizationv1.ResourceRule {
	return append(editorRules(instance),
		rule("get create update patch delete", "instances/access", instance),
		rule("update delete", "instances/management", instance))
}

// What the roles amount to, in the words of summary.
const (
	viewerSummary = "view=* watch=*"
	editorSummary = viewerSummary + " create=* update=* delete=* readSecrets=* proxy"
	adminSummary  = editorSummary + " manageAccess updateInstance deleteInstance"
	// ownerSummary is what a user who may do everything may do; no role may make instances.
	ownerSummary = adminSummary + " createInstance"
)

var (
	objectVerbs   = []Verb{VerbView, VerbWatch, VerbCreate, VerbUpdate, VerbDelete, VerbReadSecrets}
	instanceVerbs = []Verb{VerbProxy, VerbManageAccess, VerbUpdateInstance, VerbDeleteInstance, VerbCreateInstance}
)

// summary says what a grant permits: "*" stands for everything, "+" for every
// namespace. An instance that may only be seen is "seen".
func summary(v *Visibility, instance string) string {
	g, ok := v.Instance(instance)
	if !ok {
		return "hidden"
	}
	var parts []string
	for _, verb := range objectVerbs {
		switch r := g.Reach(verb); {
		case r.None():
		case r.Everything:
			parts = append(parts, verb.String()+"=*")
		case r.EveryNamespace:
			parts = append(parts, verb.String()+"=+")
		default:
			parts = append(parts, verb.String()+"="+strings.Join(r.Namespaces, ","))
		}
	}
	for _, verb := range instanceVerbs {
		if g.Can(verb, "") {
			parts = append(parts, verb.String())
		}
	}
	if len(parts) == 0 {
		return "seen"
	}
	return strings.Join(parts, " ")
}

func visibilityOf(rules ...authorizationv1.ResourceRule) *Visibility {
	parsed := parseRules(&authorizationv1.SubjectRulesReviewStatus{ResourceRules: rules})
	return &Visibility{rules: parsed, all: parsed.everything.has(seeInstance)}
}

func TestParseRules(t *testing.T) {
	see := rule("get", "instances", "alpha")
	for _, tt := range []struct {
		name  string
		rules []authorizationv1.ResourceRule
		// alpha and beta say what is permitted there.
		alpha, beta string
		all         bool
		why         string
	}{
		{name: "nothing", alpha: "hidden", beta: "hidden", why: "no rule, no instance"},
		{name: "viewer", rules: viewerRules("alpha"), alpha: viewerSummary, beta: "hidden", why: "the role, on its instance alone"},
		{name: "editor", rules: editorRules("alpha"), alpha: editorSummary, beta: "hidden", why: "the role, on its instance alone"},
		{name: "admin", rules: adminRules("alpha"), alpha: adminSummary, beta: "hidden", why: "the role, on its instance alone"},
		{
			name: "two roles", rules: append(viewerRules("alpha"), editorRules("beta")...),
			alpha: viewerSummary, beta: editorSummary, why: "what one binding gives does not leak into the other's instance",
		},
		{
			name: "viewer in namespaces", rules: []authorizationv1.ResourceRule{see, rule(reads, "instances/namespaces", "alpha:shop alpha:ops")},
			alpha: "view=ops,shop watch=ops,shop", beta: "hidden", why: "only what is in the namespaces",
		},
		{
			name: "editor in one namespace, viewer in another", rules: []authorizationv1.ResourceRule{
				see, rule(reads, "instances/namespaces", "alpha:ops alpha:shop"), rule(writes, "instances/namespaces", "alpha:shop"),
				rule("get", "instances/secrets", "alpha:shop"), rule("get", "instances/proxy", "alpha"),
			},
			alpha: "view=ops,shop watch=ops,shop create=shop update=shop delete=shop readSecrets=shop proxy", beta: "hidden",
			why: "each namespace has what its own rules say",
		},
		{
			name: "namespaces without the instance", rules: []authorizationv1.ResourceRule{rule(reads, "instances/namespaces", "alpha:shop")},
			alpha: "hidden", beta: "hidden", why: "what is in an instance can't be shown without the instance",
		},
		{
			name: "resources without the instance", rules: []authorizationv1.ResourceRule{rule("*", "instances/resources", "alpha")},
			alpha: "hidden", beta: "hidden", why: "what is in an instance can't be shown without the instance",
		},
		{
			name: "namespaces and the whole", rules: append(viewerRules("alpha"), rule(writes, "instances/namespaces", "alpha:shop")),
			alpha: viewerSummary + " create=shop update=shop delete=shop", beta: "hidden", why: "reading everything does not write everything",
		},
		{
			name: "list without get", rules: []authorizationv1.ResourceRule{rule("list watch", "instances", "alpha"), rule("*", "instances/resources", "alpha")},
			alpha: "hidden", beta: "hidden", why: "get is what shows an instance",
		},
		{name: "seen only", rules: []authorizationv1.ResourceRule{see}, alpha: "seen", beta: "hidden", why: "a name and a state, nothing inside"},
		{
			name: "every instance", rules: []authorizationv1.ResourceRule{rule(reads, "instances instances/resources", "")},
			alpha: viewerSummary, beta: viewerSummary, all: true, why: "no names are all names",
		},
		{
			name: "every instance seen, one read", rules: []authorizationv1.ResourceRule{rule("get", "instances", ""), rule(reads, "instances/resources", "beta")},
			alpha: "seen", beta: viewerSummary, all: true, why: "seeing all does not read all",
		},
		{
			name: "administrator", rules: []authorizationv1.ResourceRule{groupRule("*", "*", "*", "")},
			alpha: ownerSummary, beta: ownerSummary, all: true, why: "cluster-admin may do everything",
		},
		{
			name: "any group", rules: []authorizationv1.ResourceRule{groupRule("*", reads, "instances instances/resources", "alpha")},
			alpha: viewerSummary, beta: "hidden", why: "* stands for every group",
		},
		{
			name: "one of several groups", rules: []authorizationv1.ResourceRule{groupRule("apps kairship.io", "get", "instances", "alpha")},
			alpha: "seen", beta: "hidden", why: "one match is enough",
		},
		{
			name: "another group", rules: []authorizationv1.ResourceRule{groupRule("apps", "*", "*", ""), groupRule("operator.kairship.io", "*", "*", "")},
			alpha: "hidden", beta: "hidden", why: "instances of another API are none of ours",
		},
		{
			name: "the core group", rules: []authorizationv1.ResourceRule{groupRule("", "*", "*", "")},
			alpha: "hidden", beta: "hidden", why: "an empty name is a group of its own",
		},
		{
			name: "no group", rules: []authorizationv1.ResourceRule{{Verbs: []string{"*"}, Resources: []string{"*"}}},
			alpha: "hidden", beta: "hidden", why: "no groups are no groups, unlike names",
		},
		{
			name: "no verbs", rules: []authorizationv1.ResourceRule{rule("", "*", "")},
			alpha: "hidden", beta: "hidden", why: "no verbs are no verbs, unlike names",
		},
		{
			name: "no resources", rules: []authorizationv1.ResourceRule{rule("*", "", "")},
			alpha: "hidden", beta: "hidden", why: "no resources are no resources, unlike names",
		},
		{
			name: "instances covers no subresource", rules: []authorizationv1.ResourceRule{rule("*", "instances", "alpha")},
			alpha: "seen", beta: "hidden", why: "RBAC gives a subresource only by its own name",
		},
		{
			name: "instances/*", rules: []authorizationv1.ResourceRule{see, rule("*", "instances/*", "alpha")},
			alpha: "seen", beta: "hidden", why: "RBAC knows no such wildcard, however much it looks like one",
		},
		{
			name: "*/*", rules: []authorizationv1.ResourceRule{see, rule("*", "*/*", "")},
			alpha: "seen", beta: "hidden", why: "RBAC knows no such wildcard, however much it looks like one",
		},
		{
			name: "*/resources", rules: []authorizationv1.ResourceRule{see, rule(reads, "*/resources", "")},
			alpha: viewerSummary, beta: "hidden", why: "the subresource of everything; beta may still not be seen",
		},
		{
			name: "*/namespaces of all", rules: []authorizationv1.ResourceRule{see, rule(reads, "*/namespaces", "")},
			alpha: "view=+ watch=+", beta: "hidden", why: "every namespace, and nothing outside of namespaces",
		},
		{
			name: "all namespaces, one of them to write", rules: []authorizationv1.ResourceRule{
				see, rule(reads, "instances/namespaces", ""), rule(writes, "instances/namespaces", "alpha:shop"),
			},
			alpha: "view=+ watch=+ create=shop update=shop delete=shop", beta: "hidden", why: "rules add up",
		},
		{
			name: "everything under one name", rules: []authorizationv1.ResourceRule{rule("*", "*", "alpha")},
			alpha: ownerSummary, beta: "hidden", why: "* covers subresources; the name still counts",
		},
		{
			name: "everything under a namespace's name", rules: []authorizationv1.ResourceRule{see, rule("*", "*", "alpha:shop")},
			alpha: "view=shop watch=shop create=shop update=shop delete=shop readSecrets=shop", beta: "hidden",
			why: "only what is about namespaces has such a name",
		},
		{
			name: "the star as a name", rules: []authorizationv1.ResourceRule{rule("*", "*", "*")},
			alpha: "hidden", beta: "hidden", why: "RBAC compares names; none is special",
		},
		{
			name: "a namespace's name on the whole", rules: []authorizationv1.ResourceRule{see, rule(reads, "instances/resources", "alpha:shop")},
			alpha: "seen", beta: "hidden", why: "RBAC would be asked about alpha, not about alpha:shop",
		},
		{
			name: "an instance's name on namespaces", rules: []authorizationv1.ResourceRule{see, rule(reads, "instances/namespaces", "alpha")},
			alpha: "seen", beta: "hidden", why: "RBAC would be asked about alpha:shop, not about alpha",
		},
		{
			name: "broken names", rules: []authorizationv1.ResourceRule{see, rule(reads, "instances/namespaces", ": alpha: :shop")},
			alpha: "seen", beta: "hidden", why: "half a name is the name of nothing",
		},
		{
			name: "verbs over several rules", rules: []authorizationv1.ResourceRule{
				see, rule("get", "instances/resources", "alpha"), rule("list", "instances/resources", "alpha"), rule("watch", "instances/resources", "alpha"),
			},
			alpha: viewerSummary, beta: "hidden", why: "rules add up",
		},
		{
			name: "get without list", rules: []authorizationv1.ResourceRule{see, rule("get", "instances/resources", "alpha")},
			alpha: "seen", beta: "hidden", why: "the index reads both ways in one; half a permission to read is none",
		},
		{
			name: "get on the whole, list in a namespace", rules: []authorizationv1.ResourceRule{
				see, rule("get", "instances/resources", "alpha"), rule("list", "instances/namespaces", "alpha:shop"),
			},
			alpha: "view=shop", beta: "hidden", why: "in shop both are permitted, each by one of the rules",
		},
		{
			name: "read without watch", rules: []authorizationv1.ResourceRule{see, rule("get list", "instances/resources", "alpha")},
			alpha: "view=*", beta: "hidden", why: "to follow live is a permission of its own",
		},
		{
			name: "update without patch", rules: append(viewerRules("alpha"), rule("update", "instances/resources", "alpha")),
			alpha: viewerSummary, beta: "hidden", why: "a mutation may do either, so it has to be both",
		},
		{
			name: "any verb", rules: []authorizationv1.ResourceRule{rule("*", "instances instances/resources", "alpha")},
			alpha: "view=* watch=* create=* update=* delete=*", beta: "hidden", why: "* stands for every verb, on these resources",
		},
		{
			name: "an unknown verb", rules: []authorizationv1.ResourceRule{see, rule("escalate GET", "instances/resources", "alpha")},
			alpha: "seen", beta: "hidden", why: "verbs are compared exactly",
		},
		{
			name: "secrets without reading", rules: []authorizationv1.ResourceRule{see, rule("get", "instances/secrets", "alpha")},
			alpha: "seen", beta: "hidden", why: "the value of a Secret is read with the Secret",
		},
		{
			name: "secrets of one namespace", rules: append(viewerRules("alpha"), rule("get", "instances/secrets", "alpha:shop")),
			alpha: viewerSummary + " readSecrets=shop", beta: "hidden", why: "Secrets take both forms of a name",
		},
		{
			name: "secrets of all, reading in one namespace", rules: []authorizationv1.ResourceRule{
				see, rule(reads, "instances/namespaces", "alpha:shop"), rule("get", "instances/secrets", ""),
			},
			alpha: "view=shop watch=shop readSecrets=shop", beta: "hidden", why: "both are needed",
		},
		{
			name: "part of managing access", rules: append(viewerRules("alpha"), rule("get create", "instances/access", "alpha")),
			alpha: viewerSummary, beta: "hidden", why: "who manages access may do all of it",
		},
		{
			name: "one rule for several names", rules: []authorizationv1.ResourceRule{rule(reads, "instances instances/resources", "beta alpha")},
			alpha: viewerSummary, beta: viewerSummary, why: "each of the names",
		},
		{
			name: "a longer name", rules: viewerRules("alpha-2"), alpha: "hidden", beta: "hidden", why: "names are compared as wholes",
		},
		{
			name: "an empty name beside another", rules: []authorizationv1.ResourceRule{{
				Verbs: []string{"*"}, APIGroups: []string{"kairship.io"}, Resources: []string{"*"}, ResourceNames: []string{"", "beta"},
			}},
			alpha: "hidden", beta: ownerSummary, why: "an empty name in the list is not an empty list",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := visibilityOf(tt.rules...)
			got := []string{summary(v, "alpha"), summary(v, "beta")}
			if d := cmp.Diff([]string{tt.alpha, tt.beta}, got); d != "" {
				t.Errorf("%s (-want +got):\n%s", tt.why, d)
			}
			if v.All() != tt.all {
				t.Errorf("All() = %v, want %v; %s", v.All(), tt.all, tt.why)
			}
			// The order of rules means nothing.
			slices.Reverse(tt.rules)
			v = visibilityOf(tt.rules...)
			if d := cmp.Diff(got, []string{summary(v, "alpha"), summary(v, "beta")}); d != "" {
				t.Errorf("in another order (-first +reversed):\n%s", d)
			}
		})
	}
}

func TestParseRulesWithEvaluationError(t *testing.T) {
	parsed := parseRules(&authorizationv1.SubjectRulesReviewStatus{
		ResourceRules: viewerRules("alpha"), EvaluationError: `clusterroles.rbac.authorization.k8s.io "gone" not found`,
	})
	if got := summary(&Visibility{rules: parsed}, "alpha"); got != viewerSummary {
		t.Errorf("got %q, want %q: a binding to a deleted role takes nothing from the others", got, viewerSummary)
	}
}
