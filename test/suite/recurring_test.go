package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/longtest"
	"github.com/kairship-io/kairship/internal/poll"
	kairshipv1alpha1 "github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// askedEvery is how long each asker waits, so that none is refused for asking too often.
const askedEvery = 10 * time.Millisecond

// recurring is a kind that appears and disappears in alpha, with one object in it.
type recurring struct {
	group string
	// settled is odd from when the object was listed until it is removed, when an empty list is false.
	settled atomic.Int64
}

// recurringAnswer is one list of the kind.
type recurringAnswer struct {
	// code is that of the error; empty for a list.
	code, names, source string
	body                []byte
}

func (k *recurring) ask(ctx context.Context, as *gql.Client, field string) (recurringAnswer, error) {
	r, err := as.Do(ctx, gql.Request{Query: "{ " + field + " }"})
	if err != nil {
		return recurringAnswer{}, err
	}
	a := recurringAnswer{body: r.Body}
	if len(r.Errors) > 0 {
		a.code = r.Errors[0].Extensions.Code
		return a, nil
	}
	var got listed
	if err := json.Unmarshal(r.Data, &got); err != nil || got.Instance == nil {
		return a, fmt.Errorf("%w: %s", err, r.Body)
	}
	a.names, a.source = strings.TrimSpace(got.names()), got.Instance.Resources.Freshness.Source
	return a, nil
}

func (k *recurring) field() string {
	return fmt.Sprintf(`instance(name: "alpha") { resources(group: %q, version: "v1", resource: "widgets") { totalCount nodes { namespace name } freshness { source } } }`, k.group)
}

// definition is the kind.
func (k *recurring) definition(labels map[string]string) *unstructured.Unstructured {
	marks := map[string]any{}
	for key, value := range labels {
		marks[key] = value
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "widgets." + k.group, "labels": marks},
		"spec": map[string]any{
			"group": k.group, "scope": "Namespaced", "names": map[string]any{"kind": "Widget", "plural": "widgets", "singular": "widget"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}}}},
		},
	}}
}

// TestAKindThatComesAndGoesAgain queries a kind all the time, while it is defined and removed again and again:
// first one that is not collected, then one that is. No answer is INTERNAL, and none is an empty list from when
// the object was seen to be there until it is removed.
func TestAKindThatComesAndGoesAgain(t *testing.T) {
	for _, tt := range []struct {
		name      string
		collected bool
		source    string
	}{{"read from the instance", false, "LIVE"}, {"collected", true, "INDEX"}} {
		t.Run(tt.name, func(t *testing.T) { comeAndGo(t, tt.collected, tt.source) })
	}
}

func comeAndGo(t *testing.T, collected bool, source string) {
	on := open(t)
	w := &world{fleet: on.fleet, id: newID()}
	t.Cleanup(w.remove)
	k := &recurring{group: "suite-" + w.id + ".example.com"}
	alpha := on.fleet.Client(t, "alpha")
	// The admins of instances get what is aggregated to Kubernetes' role admin, as this is.
	w.create(t, created{"alpha", &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets-" + w.id, Labels: map[string]string{"suite": w.id, "rbac.authorization.k8s.io/aggregate-to-admin": "true"}},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{k.group}, Resources: []string{"widgets"}, Verbs: []string{"get", "list", "watch"}}},
	}})
	if collected {
		t.Cleanup(func() {
			if err := setCollected(t, on, nil); err != nil {
				t.Error(err)
			}
		})
		if err := setCollected(t, on, &kairshipv1alpha1.CollectedKinds{OfInstance: []kairshipv1alpha1.CollectedKind{{Group: k.group, Version: "v1", Resource: "widgets"}}}); err != nil {
			t.Fatal(err)
		}
	}
	until := func(what string, right func(recurringAnswer) bool) {
		t.Helper()
		poll.Until(t, propagationTimeout, what, func(ctx context.Context) error {
			a, err := k.ask(ctx, on.kairship, k.field())
			if err == nil && !right(a) {
				err = fmt.Errorf("got %s", a.body)
			}
			return err
		})
	}
	ctx, stop := context.WithCancel(t.Context())
	var askers sync.WaitGroup
	var asked, hits atomic.Int64
	cycles := int64(2) // How often the kind appears and disappears.
	if longtest.On() {
		cycles = 5
	}
	for _, as := range []*gql.Client{on.kairship, on.kairship, on.as(t, "alice"), on.as(t, "mallory")} {
		askers.Go(func() {
			for ctx.Err() == nil {
				k.watch(ctx, t, as, &asked, &hits)
				time.Sleep(askedEvery)
			}
		})
	}
	defer func() {
		stop()
		askers.Wait()
	}()
	for range cycles {
		until("the kind is refused", func(a recurringAnswer) bool { return a.code == "INVALID" })
		definition := k.definition(map[string]string{"suite": w.id})
		w.create(t, created{"alpha", definition})
		until("the kind is listed", func(a recurringAnswer) bool { return a.code == "" && a.names == "" })
		one := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": k.group + "/v1", "kind": "Widget", "metadata": map[string]any{"namespace": "default", "name": "one"},
		}}
		if err := alpha.Create(t.Context(), one); err != nil {
			t.Fatal(err)
		}
		until("the object is listed from "+source, func(a recurringAnswer) bool { return a.names == "default/one" && a.source == source })
		k.settled.Add(1)
		select { // A while in which an empty list is false.
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
		k.settled.Add(1)
		if err := client.IgnoreNotFound(alpha.Delete(t.Context(), definition)); err != nil {
			t.Fatal(err)
		}
	}
	until("the kind is refused in the end", func(a recurringAnswer) bool { return a.code == "INVALID" })
	stop()
	askers.Wait()
	if asked.Load() < 10*cycles || hits.Load() == 0 {
		t.Errorf("of %d questions %d found the object: the test proves nothing", asked.Load(), hits.Load())
	}
}

// watch asks once and judges the answer by what was true before and after it.
func (k *recurring) watch(ctx context.Context, t *testing.T, as *gql.Client, asked, hits *atomic.Int64) {
	before := k.settled.Load()
	r, err := as.Do(ctx, gql.Request{Query: "{ " + k.field() + " }"})
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		t.Errorf("no answer: %v", err)
		return
	}
	asked.Add(1)
	for _, e := range r.Errors {
		switch e.Extensions.Code {
		case "INVALID", "FORBIDDEN", "INSTANCE_UNAVAILABLE":
		default:
			t.Errorf("while the kind comes and goes: %s", r.Body)
		}
	}
	found := strings.Contains(string(r.Data), `"name":"one"`)
	if found {
		hits.Add(1)
	}
	there := before%2 == 1 && k.settled.Load() == before
	if there && !found && strings.Contains(string(r.Data), `"nodes":[]`) {
		t.Errorf("an empty list while the object is there: %s", r.Body)
	}
}
