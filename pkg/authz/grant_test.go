package authz

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
)

func grantOf(t *testing.T, all ...authorizationv1.ResourceRule) Grant {
	t.Helper()
	g, ok := visibilityOf(all...).Instance("alpha")
	if !ok {
		t.Fatal("alpha is not visible")
	}
	return g
}

func TestGrantNamespaces(t *testing.T) {
	see := rule("get", "instances", "alpha")
	for _, tt := range []struct {
		name     string
		rules    []authorizationv1.ResourceRule
		want     []string
		wantAll  bool
		readable map[string]bool
		why      string
	}{
		{
			name: "the whole", rules: viewerRules("alpha"), wantAll: true,
			readable: map[string]bool{"": true, "shop": true}, why: "everything",
		},
		{
			name: "two namespaces", rules: []authorizationv1.ResourceRule{see, rule(reads, "instances/namespaces", "alpha:shop alpha:ops")},
			want: []string{"ops", "shop"}, readable: map[string]bool{"": false, "shop": true, "ops": true, "billing": false, "sho": false},
			why: "these, and nothing without a namespace",
		},
		{
			name: "every namespace", rules: []authorizationv1.ResourceRule{see, rule(reads, "instances/namespaces", "")},
			wantAll: true, readable: map[string]bool{"": false, "shop": true}, why: "all namespaces are not the whole",
		},
		{
			name: "a namespace to write to only", rules: []authorizationv1.ResourceRule{see, rule(writes, "instances/namespaces", "alpha:shop")},
			readable: map[string]bool{"": false, "shop": false}, why: "to write is not to read",
		},
		{name: "seen only", rules: []authorizationv1.ResourceRule{see}, readable: map[string]bool{"": false, "shop": false}, why: "nothing inside"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := grantOf(t, tt.rules...)
			names, all := g.Namespaces()
			if d := cmp.Diff(tt.want, names); d != "" || all != tt.wantAll {
				t.Errorf("%s: all = %v, want %v; names (-want +got):\n%s", tt.why, all, tt.wantAll, d)
			}
			for namespace, want := range tt.readable {
				if got := g.CanRead(namespace); got != want {
					t.Errorf("CanRead(%q) = %v, want %v; %s", namespace, got, want, tt.why)
				}
			}
		})
	}
}

func TestGrantCanProxy(t *testing.T) {
	g := grantOf(t, rule("get", "instances", "alpha"), rule("get patch", "instances/proxy", "alpha"))
	for verb, want := range map[string]bool{
		"get": true, "list": true, "watch": true, "patch": true,
		"create": false, "update": false, "delete": false, "deletecollection": false,
		"": false, "*": false, "connect": false, "PATCH": false,
	} {
		if got := g.CanProxy(verb); got != want {
			t.Errorf("CanProxy(%q) = %v, want %v", verb, got, want)
		}
	}
	if (Grant{whole: getProxy}).CanProxy("get") {
		t.Error("an instance that may not be seen can be reached through the passthrough")
	}
}

func TestZeroGrantPermitsNothing(t *testing.T) {
	for _, g := range []Grant{{}, {whole: ^seeInstance, every: ^facts(0)}} {
		for verb := range needs {
			for _, namespace := range []string{"", "shop"} {
				if g.Can(verb, namespace) {
					t.Errorf("%+v permits %s in %q", g, verb, namespace)
				}
			}
			if r := g.Reach(verb); !r.None() || r.Everything {
				t.Errorf("%+v reaches %+v with %s", g, r, verb)
			}
		}
		if c := g.ViewerCan(); c != (ViewerCan{}) {
			t.Errorf("%+v: viewer can %+v", g, c)
		}
	}
	if (Grant{whole: ^facts(0)}).Can(Verb(999), "") {
		t.Error("a verb that is not defined is permitted")
	}
}

func TestGrantKey(t *testing.T) {
	see := rule("get", "instances", "alpha")
	shop := rule(reads, "instances/namespaces", "alpha:shop")
	viewer := grantOf(t, viewerRules("alpha")...)
	for _, tt := range []struct {
		name string
		a, b Grant
		same bool
		why  string
	}{
		{"twice", viewer, grantOf(t, viewerRules("alpha")...), true, "it is stable"},
		{"all instances", viewer, grantOf(t, rule(reads, "instances instances/resources", "")), true, "what is permitted elsewhere plays no part"},
		{"editor", viewer, grantOf(t, editorRules("alpha")...), false, "an editor may do more"},
		{"namespace", viewer, grantOf(t, see, shop), false, "a part is not the whole"},
		{"other namespace", grantOf(t, see, shop), grantOf(t, see, rule(reads, "instances/namespaces", "alpha:ops")), false, "namespaces differ"},
		{
			"namespaces run together", grantOf(t, see, rule(reads, "instances/namespaces", "alpha:a alpha:b")),
			grantOf(t, see, rule(reads, "instances/namespaces", "alpha:ab")), false, "two names are not one",
		},
		{"namespace of the whole", viewer, grantOf(t, append(viewerRules("alpha"), shop)...), true, "it permits nothing that was not permitted"},
		{"hidden", Grant{}, Grant{whole: getProxy, namespaces: map[string]facts{"shop": getObjects}}, true, "both permit nothing"},
		{"every namespace", viewer, grantOf(t, see, rule(reads, "instances/namespaces", "")), false, "objects without namespace differ"},
	} {
		if same := tt.a.Key() == tt.b.Key(); same != tt.same {
			t.Errorf("%s: same = %v, want %v: %s", tt.name, same, tt.same, tt.why)
		}
	}
}

func TestViewerCan(t *testing.T) {
	see := rule("get", "instances", "alpha")
	for _, tt := range []struct {
		name               string
		rules              []authorizationv1.ResourceRule
		instance, in, bare ViewerCan
		why                string
	}{
		{
			name: "viewer", rules: viewerRules("alpha"),
			instance: ViewerCan{View: true}, in: ViewerCan{View: true}, bare: ViewerCan{View: true}, why: "looks",
		},
		{
			name: "editor", rules: editorRules("alpha"),
			instance: ViewerCan{View: true, Create: true, Proxy: true},
			in:       ViewerCan{View: true, Create: true, Update: true, Delete: true, Proxy: true},
			bare:     ViewerCan{View: true, Create: true, Update: true, Delete: true, Proxy: true},
			why:      "changes what is inside, and not the instance itself",
		},
		{
			name: "admin", rules: adminRules("alpha"),
			instance: ViewerCan{true, true, true, true, true, true}, in: ViewerCan{true, true, true, true, true, true}, bare: ViewerCan{true, true, true, true, true, true},
			why: "everything",
		},
		{
			name: "editor in shop", rules: []authorizationv1.ResourceRule{see, rule(reads+" "+writes, "instances/namespaces", "alpha:shop")},
			instance: ViewerCan{View: true, Create: true}, in: ViewerCan{View: true, Create: true, Update: true, Delete: true}, bare: ViewerCan{},
			why: "can create somewhere in it, and nothing without a namespace",
		},
		{name: "seen only", rules: []authorizationv1.ResourceRule{see}, instance: ViewerCan{View: true}, why: "sees that it is there"},
	} {
		g := grantOf(t, tt.rules...)
		if d := cmp.Diff([]ViewerCan{tt.instance, tt.in, tt.bare}, []ViewerCan{g.ViewerCan(), g.ViewerCanIn("shop"), g.ViewerCanIn("")}); d != "" {
			t.Errorf("%s: %s (-want +got):\n%s", tt.name, tt.why, d)
		}
	}
}

func TestVisibilityFilter(t *testing.T) {
	v := visibilityOf(append(viewerRules("alpha"), rule("get", "instances", "gamma a:b"))...)
	names := []string{"gamma", "beta", "alpha", "a:b", ""}
	if d := cmp.Diff([]string{"gamma", "alpha"}, v.Filter(names)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"gamma", "beta", "alpha", "a:b", ""}, names); d != "" {
		t.Errorf("the caller's list was changed:\n%s", d)
	}
	if (&Visibility{}).Sees("alpha") || (&Visibility{}).All() {
		t.Error("the zero Visibility shows something")
	}
	everything := visibilityOf(groupRule("*", "*", "*", ""))
	if everything.Sees("a:b") || everything.Sees("") {
		t.Error("a name that no instance can have is visible")
	}
}

// TestVisibilityReadingKey checks that two users have the same key exactly if they may read the
// same.
func TestVisibilityReadingKey(t *testing.T) {
	with := func(rules ...[]authorizationv1.ResourceRule) *Visibility {
		return visibilityOf(slices.Concat(rules...)...)
	}
	key := func(v *Visibility) string { return v.ReadingKey() }
	all := []authorizationv1.ResourceRule{groupRule("*", "*", "*", "")}
	alpha := key(with(viewerRules("alpha")))
	for _, tt := range []struct {
		name string
		of   *Visibility
		same bool
	}{
		{"the same rules twice", with(viewerRules("alpha"), viewerRules("alpha")), true},
		{"rules about instances that cannot be seen", with(viewerRules("alpha"), []authorizationv1.ResourceRule{rule("get", "instances/namespaces", "beta:shop")}), true},
		{"another instance", with(viewerRules("beta")), false},
		{"one more instance", with(viewerRules("alpha"), viewerRules("beta")), false},
		{"names that run together", with(viewerRules("alphabeta")), false},
		{"a namespace", with([]authorizationv1.ResourceRule{rule("get", "instances", "alpha"), rule(reads, "instances/namespaces", "alpha:shop")}), false},
		{"everything", with(all), false},
		{"nothing", &Visibility{}, false},
		{"reviewed one by one", &Visibility{reviewed: map[string]Grant{"alpha": grantOf(t, viewerRules("alpha")...), "beta": {}}}, true},
		{"reviewed, and more", &Visibility{reviewed: map[string]Grant{"alpha": grantOf(t, viewerRules("alpha")...), "beta": grantOf(t, viewerRules("alpha")...)}}, false},
	} {
		if got := key(tt.of) == alpha; got != tt.same {
			t.Errorf("%s: the same key as a viewer of alpha: %t", tt.name, got)
		}
	}
	if key(with(all)) != key(with(all, viewerRules("alpha"))) {
		t.Error("a rule that adds nothing makes a difference")
	}
	if (Grant{}).ReadingKey() == grantOf(t, viewerRules("alpha")...).ReadingKey() {
		t.Error("nothing and something have the same key")
	}
}

func TestGrantInReservedNamespaces(t *testing.T) {
	viewer, editor := viewerRules("alpha"), append(viewerRules("alpha"), rule(writes, "instances/resources", "alpha"), rule("get", "instances/secrets", "alpha"))
	manages := append(slices.Clone(editor), rule("get create update patch delete", "instances/access", "alpha"))
	named := []authorizationv1.ResourceRule{rule("get", "instances", "alpha"), rule(reads+" "+writes, "instances/namespaces", "alpha:karmada-cluster"), rule("get", "instances/secrets", "alpha:karmada-cluster")}
	for _, tt := range []struct {
		why       string
		rules     []authorizationv1.ResourceRule
		namespace string
		reads     bool
		beyond    bool
	}{
		{"an editor has everything where nothing is reserved", editor, "shop", true, true},
		{"the credentials of the members", editor, "karmada-cluster", true, false},
		{"what is applied in a member", editor, "karmada-es-m1", true, false},
		{"Karmada's own", editor, "karmada-system", true, false},
		{"Kubernetes' own", editor, "kube-system", true, false},
		{"a name that only begins in a similar way", editor, "karmada-essentials", true, true},
		{"a viewer reads, as everywhere", viewer, "karmada-cluster", true, false},
		{"who manages access could give any right away", manages, "karmada-cluster", true, true},
		{"a rule that names the namespace is no way around", named, "karmada-cluster", true, false},
	} {
		g := grantOf(t, tt.rules...)
		if got := g.CanRead(tt.namespace); got != tt.reads {
			t.Errorf("%s: CanRead(%q) = %v", tt.why, tt.namespace, got)
		}
		for _, verb := range []Verb{VerbCreate, VerbUpdate, VerbDelete, VerbReadSecrets} {
			if got := g.Can(verb, tt.namespace); got != tt.beyond {
				t.Errorf("%s: Can(%s, %q) = %v", tt.why, verb, tt.namespace, got)
			}
		}
	}
}

// TestVisibilityKey checks that two users have the same key exactly if they may do the same.
func TestVisibilityKey(t *testing.T) {
	alpha := visibilityOf(viewerRules("alpha")...)
	for _, tt := range []struct {
		name string
		of   *Visibility
		same bool
	}{
		{"the same rules, read once more", visibilityOf(viewerRules("alpha")...), true},
		{"rules that add nothing", visibilityOf(slices.Concat(viewerRules("alpha"), viewerRules("alpha"), []authorizationv1.ResourceRule{rule(writes, "instances/resources", "beta")})...), true},
		{"one more verb", visibilityOf(append(viewerRules("alpha"), rule("delete", "instances/resources", "alpha"))...), false},
		{"the passthrough", visibilityOf(append(viewerRules("alpha"), rule("get", "instances/proxy", "alpha"))...), false},
		{"the values of Secrets in a namespace", visibilityOf(append(viewerRules("alpha"), rule("get", "instances/secrets", "alpha:shop"))...), false},
		{"an Instance of its own", visibilityOf(append(viewerRules("alpha"), rule("create", "instances/management", "alpha"))...), false},
		{"every instance", visibilityOf(viewerRules("")...), false},
		{"one more instance", visibilityOf(slices.Concat(viewerRules("alpha"), viewerRules("beta"))...), false},
		{"nothing", visibilityOf(), false},
		{"not known", &Visibility{}, false},
		{"asked about one by one", &Visibility{reviewed: map[string]Grant{"alpha": grantOf(t, viewerRules("alpha")...)}}, false},
	} {
		if alpha.Same(tt.of) != tt.same || tt.of.Same(alpha) != tt.same {
			t.Errorf("%s: the same as a viewer of alpha: %t", tt.name, !tt.same)
		}
	}
	if unknown := (&Visibility{reviewed: map[string]Grant{}}); unknown.Same(unknown) {
		t.Error("what was asked about one by one is the same, although more may be asked about")
	}
}

// TestGrantsChanged: an answer that is another one, or none, is a change; the same answer
// of a later review is none.
func TestGrantsChanged(t *testing.T) {
	for _, tt := range []struct {
		name   string
		later  []authorizationv1.ResourceRule
		err    error
		change bool
	}{
		{"the same rules", viewerRules("alpha"), nil, false},
		{"more", append(viewerRules("alpha"), viewerRules("beta")...), nil, true},
		{"less", nil, nil, true},
		{"the answer is unknown", nil, errors.New("connection refused"), true},
	} {
		rules := &fakeRules{answer: listed(viewerRules("alpha")...)}
		resolver := NewResolver(rules, noAccessReviews(t), nil, nil)
		ctx := WithUser(t.Context(), User{Name: "alice"})
		first, err := resolver.For(ctx)
		if err != nil {
			t.Fatal(err)
		}
		ctx, grants := WithGrants(ctx, first)
		if _, err := resolver.For(ctx, "alpha"); err != nil || grants.Changed() {
			t.Fatalf("%s: changed before the change: %v", tt.name, err)
		}
		rules.answer = func(ctx context.Context, u User) (*authorizationv1.SubjectRulesReviewStatus, error) {
			if tt.err != nil {
				return nil, tt.err
			}
			return listed(tt.later...)(ctx, u)
		}
		resolver.Flush()
		_, _ = resolver.For(ctx, "alpha")
		rules.answer = listed(viewerRules("alpha")...)
		resolver.Flush()
		_, _ = resolver.For(ctx, "alpha")
		if grants.Changed() != tt.change {
			t.Errorf("%s: changed: %t", tt.name, grants.Changed())
		}
	}
}

// TestEqualKeysPermitTheSame compares everything that can be asked of two users, of random
// rules, whose keys are equal.
func TestEqualKeysPermitTheSame(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	one := func(of ...string) string { return of[random.IntN(len(of))] }
	behaviour := func(v *Visibility) string {
		var b strings.Builder
		fmt.Fprint(&b, v.All())
		for _, name := range []string{"alpha", "beta", "gamma"} {
			g, sees := v.Instance(name)
			fmt.Fprint(&b, sees, g.ViewerCan())
			for _, verb := range Verbs() {
				fmt.Fprint(&b, g.Reach(verb))
				for _, namespace := range []string{"", "shop", "ops", "karmada-system"} {
					fmt.Fprint(&b, g.Can(verb, namespace), g.ViewerCanIn(namespace))
				}
			}
			for _, verb := range []string{"get", "create", "update", "patch", "delete"} {
				fmt.Fprint(&b, g.CanProxy(verb))
			}
		}
		return b.String()
	}
	seen, equal := map[string]string{}, 0
	for range 3_000 {
		var all []authorizationv1.ResourceRule
		for range random.IntN(4) {
			all = append(all, rule(one("get", "get list", "get list watch", "update patch", "*"),
				one("instances", "instances/resources", "instances/namespaces", "instances/secrets", "instances/proxy", "instances/access", "instances/management", "*"),
				one("", "alpha", "beta", "alpha beta", "alpha:shop", "alpha:ops alpha:shop", "alpha:karmada-system")))
		}
		v := visibilityOf(all...)
		key, _ := v.Key()
		now := behaviour(v)
		if before, known := seen[key]; known && before != now {
			t.Fatalf("rules with the same key permit something else: %+v", all)
		} else if known {
			equal++
		}
		seen[key] = now
	}
	if equal < 1000 || len(seen) < 100 {
		t.Errorf("%d keys, and %d rules with a key of others: nothing was compared", len(seen), equal)
	}
}
