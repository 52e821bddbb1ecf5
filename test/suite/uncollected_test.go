package suite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	kairshipv1alpha1 "github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/nodeid"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// listed is a list of objects of any kind.
type listed struct {
	Instance *struct {
		Resources struct {
			TotalCount int
			Nodes      []struct {
				ID, Namespace, Name string
				Manifest            map[string]any
				Annotations         []struct{ Key string }
			}
			PageInfo struct {
				HasNextPage bool
				EndCursor   *string
			}
			Freshness struct {
				Source string
				Lag    *float64
				Stale  bool
			}
		}
	}
}

func (l *listed) names() string {
	var all []string
	for _, n := range l.Instance.Resources.Nodes {
		all = append(all, n.Namespace+"/"+n.Name)
	}
	return strings.Join(all, " ")
}

const secretsQuery = `query($selector: String!, $first: Int, $after: String) { instance(name: "alpha") {
	resources(version: "v1", resource: "secrets", first: $first, after: $after, filter: {labelSelector: $selector}) {
		totalCount nodes { id namespace name annotations { key } manifest } pageInfo { hasNextPage endCursor } freshness { source lag stale } } } }`

// TestSecretsAreReadFromTheInstance lists Secrets, which the index does not collect, as
// people with different roles.
func TestSecretsAreReadFromTheInstance(t *testing.T) {
	on := open(t)
	w := &world{fleet: on.fleet, id: newID()}
	t.Cleanup(w.remove)
	a, b := "suite-"+w.id+"-a", "suite-"+w.id+"-b"
	value := "value-" + newID() + newID()
	w.create(t, created{"alpha", &corev1.Namespace{ObjectMeta: w.meta("", a)}}, created{"alpha", &corev1.Namespace{ObjectMeta: w.meta("", b)}})
	for _, at := range []string{a + "/one", a + "/two", b + "/one"} {
		namespace, name, _ := strings.Cut(at, "/")
		meta := w.meta(namespace, name)
		meta.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: `{"stringData":{"password":"` + value + `"}}`}
		w.create(t, created{"alpha", &corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{"password": []byte(value)}}})
	}
	variables := map[string]any{"selector": "suite=" + w.id}
	shopper := newPerson(t, on, nil)
	bindingIn(t, on, shopper, kairshipv1alpha1.RoleEditor, "alpha", a)
	viewer := newPerson(t, on, viewerOf("alpha"))
	all := a + "/one " + a + "/two " + b + "/one"
	for _, tt := range []struct {
		person string
		as     *gql.Client
		want   string
		values bool
	}{
		{"admin", on.as(t, "admin"), all, true},
		{"an editor of the instance", on.as(t, "alice"), all, true},
		{"an editor of one namespace", shopper.Client, a + "/one " + a + "/two", true},
		{"a viewer", viewer.Client, all, false},
	} {
		t.Run(tt.person, func(t *testing.T) {
			// The rights inside a namespace that was just made come a moment later.
			poll.Until(t, propagationTimeout, "the Secrets are listed", func(ctx context.Context) error {
				got, r, err := gql.Query[listed](ctx, tt.as, secretsQuery, variables)
				if err != nil {
					return err
				}
				if diff := cmp.Diff(tt.want, got.names()); diff != "" {
					return fmt.Errorf("the list differs (-want +got):\n%s", diff)
				}
				list := got.Instance.Resources
				if list.TotalCount != len(list.Nodes) || list.Freshness.Source != "LIVE" || list.Freshness.Stale || list.Freshness.Lag == nil || *list.Freshness.Lag != 0 {
					return poll.Stop(fmt.Errorf("the list says %+v", list))
				}
				for _, n := range list.Nodes {
					data, _ := n.Manifest["data"].(map[string]any)
					if shown := data["password"]; !tt.values && shown != "***" || tt.values && shown != base64Of(value) {
						return fmt.Errorf("%s/%s has the password %v", n.Namespace, n.Name, shown)
					}
				}
				if !tt.values && (strings.Contains(string(r.Body), value) || strings.Contains(string(r.Body), base64Of(value))) {
					return poll.Stop(errors.New("the answer has the value"))
				}
				return nil
			})
			var pages []string
			var after *string
			for {
				got, _ := gql.MustQuery[listed](t, tt.as, secretsQuery, with(variables, "first", 1, "after", after))
				pages = append(pages, got.names())
				if after = got.Instance.Resources.PageInfo.EndCursor; !got.Instance.Resources.PageInfo.HasNextPage {
					break
				}
			}
			if got := strings.Join(pages, " "); got != tt.want {
				t.Errorf("page by page: %s, want %s", got, tt.want)
			}
		})
	}
	id := nodeid.New("Resource", "alpha", "", "v1", "secrets", b, "one")
	for _, tt := range []struct {
		person string
		as     *gql.Client
		query  string
		want   string
	}{
		{"mallory", on.as(t, "mallory"), `{ instance(name: "alpha") { resources(version: "v1", resource: "secrets") { totalCount } } }`, `{"instance":null}`},
		{"mallory", on.as(t, "mallory"), `{ instance(name: "alpha") { resources(group: "nope.io", version: "v1", resource: "secrets") { totalCount } } }`, `{"instance":null}`},
		{"mallory", on.as(t, "mallory"), `{ resources(version: "v1", resource: "secrets") { totalCount } }`, `{"resources":{"totalCount":0}}`},
		{"mallory", on.as(t, "mallory"), `{ resources(group: "nope.io", version: "v1", resource: "secrets") { totalCount } }`, `{"resources":{"totalCount":0}}`},
		{"mallory", on.as(t, "mallory"), fmt.Sprintf(`{ node(id: %q) { id } }`, id), `{"node":null}`},
		{"bob", on.as(t, "bob"), fmt.Sprintf(`{ node(id: %q) { id } }`, id), `{"node":null}`},
		{"the editor of another namespace", shopper.Client, fmt.Sprintf(`{ node(id: %q) { id } }`, id), `{"node":null}`},
		{"the editor of another namespace", shopper.Client, fmt.Sprintf(`{ instance(name: "alpha") { resources(version: "v1", resource: "secrets", namespace: %q) { totalCount } } }`, b), `{"instance":{"resources":{"totalCount":0}}}`},
		{"the editor of another namespace", shopper.Client, `{ instance(name: "alpha") { resources(version: "v1", resource: "persistentvolumes") { totalCount } } }`, `{"instance":{"resources":{"totalCount":0}}}`},
		{"alice", on.as(t, "alice"), fmt.Sprintf(`{ node(id: %q) { ... on Resource { namespace name } } }`, id), fmt.Sprintf(`{"node":{"namespace":%q,"name":"one"}}`, b)},
	} {
		if r := tt.as.Must(t, gql.Request{Query: tt.query}); len(r.Errors) > 0 || string(r.Data) != tt.want {
			t.Errorf("%s, %s: got %s, want %s", tt.person, tt.query, r.Body, tt.want)
		}
	}
}

// bindingIn gives a user a role in one namespace, and waits until it has taken effect.
func bindingIn(t *testing.T, on *target, p *person, role kairshipv1alpha1.Role, instance, namespace string) {
	t.Helper()
	b := bindingOf(t, on, p, role, instance, namespace)
	poll.Until(t, propagationTimeout, "the person sees the instance", func(ctx context.Context) error {
		r, err := p.Do(ctx, gql.Request{Query: anyQuery})
		if err == nil && !sees(r) {
			err = fmt.Errorf("%s is not there yet: %s", b.Name, r.Body)
		}
		return err
	})
}

// TestKindsThatAreNotServedAreRefused asks for kinds that alpha does not serve.
func TestKindsThatAreNotServedAreRefused(t *testing.T) {
	on := open(t)
	for _, tt := range []struct{ arguments, at, near string }{
		{`group: "nope.io", version: "v1", resource: "secrets"`, "group", `"secrets" of v1`},
		{`group: "apps", version: "v1beta1", resource: "deployments"`, "version", `"deployments" of apps/v1`},
		{`version: "v1", resource: "deployments"`, "resource", `"deployments" of apps/v1`},
		{`version: "v1", resource: "secret"`, "resource", `"secrets" of v1`},
		{`group: "apps", version: "v1", resource: "Deployment"`, "resource", `"deployments" of apps/v1`},
		{`version: "v1", resource: "secretz"`, "resource", `"secrets" of v1`},
		{`group: "policy.karmada.io", version: "v1alpha1", resource: "propagationpolicy"`, "resource", `"propagationpolicies" of policy.karmada.io/v1alpha1`},
	} {
		for _, field := range []string{"resources(" + tt.arguments + ") { totalCount }", "resource(" + tt.arguments + `, name: "x") { name }`} {
			r := on.as(t, "alice").Must(t, gql.Request{Query: `{ instance(name: "alpha") { ` + field + ` } }`})
			if len(r.Errors) != 1 || r.Errors[0].Extensions.Code != "INVALID" || r.Errors[0].Extensions.Argument != tt.at ||
				r.Errors[0].Extensions.Instance != "alpha" || !strings.Contains(r.Errors[0].Message, "did you mean "+tt.near) {
				t.Errorf("%s: got %s, want INVALID at %s that suggests %s", field, r.Body, tt.at, tt.near)
			}
		}
	}
	id := nodeid.New("Resource", "alpha", "nope.io", "v1", "secrets", "shop", "x")
	if r := on.as(t, "alice").Must(t, gql.Request{Query: fmt.Sprintf(`{ node(id: %q) { id } }`, id)}); string(r.Data) != `{"node":null}` || len(r.Errors) > 0 {
		t.Errorf("an object of such a kind: %s", r.Body)
	}
	// Below several instances, each says so for itself.
	r := on.kairship.Must(t, gql.Request{Query: `{ instances(filter: {name: ["alpha", "beta"]}) { nodes {
		name resources(group: "nope.io", version: "v1", resource: "secrets") { totalCount freshness { stale observedAt } } } } }`})
	const want = `{"instances":{"nodes":[
		{"name":"alpha","resources":{"totalCount":null,"freshness":{"stale":true,"observedAt":null}}},
		{"name":"beta","resources":{"totalCount":null,"freshness":{"stale":true,"observedAt":null}}}]}}`
	if len(r.Errors) != 2 || !sameJSON(t, string(r.Data), want) {
		t.Errorf("below several instances: %s", r.Body)
	}
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	for text, into := range map[string]*any{a: &x, b: &y} {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	return cmp.Equal(x, y)
}

// TestAKindThatComesAndGoes queries a kind all the time, while it is defined and removed.
// Each answer is true of its moment: the kind is refused, or its objects are there.
func TestAKindThatComesAndGoes(t *testing.T) {
	on := open(t)
	w := &world{fleet: on.fleet, id: newID()}
	t.Cleanup(w.remove)
	alpha, group := on.fleet.Client(t, "alpha"), "suite-"+w.id+".example.com"
	query := fmt.Sprintf(`{ instance(name: "alpha") { resources(group: %q, version: "v1", resource: "widgets") { totalCount nodes { id namespace name } freshness { source } } } }`, group)
	// now is what the API reports about the kind: "" that it is not served, else its objects.
	ask := func(ctx context.Context) (served bool, names string, err error) {
		r, err := on.kairship.Do(ctx, gql.Request{Query: query})
		switch {
		case err != nil:
			return false, "", err
		case len(r.Errors) == 1 && r.Errors[0].Extensions.Code == "INVALID":
			return false, "", nil
		case len(r.Errors) > 0:
			return false, "", fmt.Errorf("%v", r.Errors)
		}
		var got listed
		if err := json.Unmarshal(r.Data, &got); err != nil {
			return false, "", err
		}
		if got.Instance.Resources.Freshness.Source != "LIVE" {
			return false, "", poll.Stop(fmt.Errorf("the list is not live: %s", r.Body))
		}
		return true, strings.TrimSpace(got.names()), nil
	}
	within := func(what string, wantServed bool, wantNames string) {
		t.Helper()
		poll.Until(t, 10*time.Second, what, func(ctx context.Context) error {
			served, names, err := ask(ctx)
			if err == nil && (served != wantServed || names != wantNames) {
				err = fmt.Errorf("served %v, objects %q", served, names)
			}
			return err
		})
	}
	within("the kind is refused before it is there", false, "")
	definition := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "widgets." + group, "labels": map[string]any{"suite": w.id}},
		"spec": map[string]any{
			"group": group, "scope": "Namespaced", "names": map[string]any{"kind": "Widget", "plural": "widgets", "singular": "widget"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}}}},
		},
	}}
	// The admins of instances get what is aggregated to Kubernetes' role admin, as this is.
	rights := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets-" + w.id, Labels: map[string]string{"suite": w.id, "rbac.authorization.k8s.io/aggregate-to-admin": "true"}},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{group}, Resources: []string{"widgets"}, Verbs: []string{"get", "list", "watch"}}},
	}
	w.create(t, created{"alpha", definition}, created{"alpha", rights})
	within("the kind is listed", true, "")
	one := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": group + "/v1", "kind": "Widget", "metadata": map[string]any{"namespace": "default", "name": "one"},
	}}
	if err := alpha.Create(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	if served, names, err := ask(t.Context()); err != nil || !served || names != "default/one" {
		t.Errorf("just after the object was made: served %v, objects %q, %v", served, names, err)
	}
	// Kubernetes' roles of an editor have nothing about it, and that is no empty list.
	if r := on.as(t, "alice").Must(t, gql.Request{Query: query}); len(r.Errors) != 1 || r.Errors[0].Extensions.Code != "FORBIDDEN" || r.Errors[0].Extensions.Instance != "alpha" {
		t.Errorf("alice, whom the instance does not let list it: %s", r.Body)
	}
	id := nodeid.New("Resource", "alpha", group, "v1", "widgets", "default", "one")
	if r := on.kairship.Must(t, gql.Request{Query: fmt.Sprintf(`{ node(id: %q) { id } }`, id)}); string(r.Data) != fmt.Sprintf(`{"node":{"id":%q}}`, id) {
		t.Errorf("by its ID: %s", r.Body)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	asked := make(chan int)
	for range 3 {
		go func() {
			n := 0
			for ; ctx.Err() == nil; n++ {
				served, names, err := ask(ctx)
				// Kubernetes deletes the objects first, so an empty list may be true then.
				if ctx.Err() == nil && (err != nil && !strings.Contains(err.Error(), "INSTANCE_UNAVAILABLE") || served && names != "" && names != "default/one") {
					t.Errorf("while the kind goes: served %v, objects %q, %v", served, names, err)
				}
			}
			asked <- n
		}()
	}
	if err := client.IgnoreNotFound(alpha.Delete(t.Context(), definition)); err != nil {
		t.Fatal(err)
	}
	within("the kind is refused after it is gone", false, "")
	stop()
	for range 3 {
		if <-asked == 0 {
			t.Error("nothing was asked meanwhile")
		}
	}
	if r := on.kairship.Must(t, gql.Request{Query: fmt.Sprintf(`{ node(id: %q) { id } }`, id)}); string(r.Data) != `{"node":null}` || len(r.Errors) > 0 {
		t.Errorf("by its ID after the kind is gone: %s", r.Body)
	}
}

// TestWhatIsCollectedCostsTheInstanceNothing counts the requests to the instance.
func TestWhatIsCollectedCostsTheInstanceNothing(t *testing.T) {
	on := open(t)
	for _, tt := range []struct {
		field string
		want  int
		why   string
	}{
		{`resources(version: "v1", resource: "configmaps") { nodes { name manifest } }`, 0, "it is in the index"},
		{`resource(version: "v1", resource: "configmaps", namespace: "shop", name: "none-such") { name }`, 0, "also what is not there"},
		{`resources(version: "v1", resource: "secrets", first: 500) { totalCount nodes { name labels { key } } }`, 1, "one list, however many there are"},
		{`resources(version: "v1", resource: "secrets", first: 1) { nodes { name } }`, 1, "and however small the page"},
	} {
		for range 2 { // What the instance serves is remembered after the first time.
			r := on.kairship.Must(t, gql.Request{Query: `{ instance(name: "alpha") { ` + tt.field + ` } }`, Extensions: map[string]any{"queryPlan": true}})
			var plan struct {
				Extensions struct {
					Plan struct {
						Upstreams []struct {
							Kind     string
							Requests int
						}
					}
				}
			}
			if err := json.Unmarshal(r.Body, &plan); err != nil || len(r.Errors) > 0 {
				t.Fatalf("%v: %s", err, r.Body)
			}
			requests := 0
			for _, u := range plan.Extensions.Plan.Upstreams {
				if u.Kind == "INSTANCE" {
					requests += u.Requests
				}
			}
			if requests != tt.want {
				t.Errorf("%s: %d requests to the instance, want %d: %s", tt.field, requests, tt.want, tt.why)
			}
		}
	}
}
