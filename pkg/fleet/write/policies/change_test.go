package policies

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/access"
	"github.com/kairship-io/kairship/pkg/fleet/write"
	"github.com/kairship-io/kairship/pkg/fleet/write/specs"
	"github.com/kairship-io/kairship/pkg/instanceproxy/fake"
)

// people are the rules of some users: what they may do on resources of alpha.
var people = map[string]map[string]string{
	"editor":   {"instances": "get", "instances/resources": "get list create update patch delete"},
	"reader":   {"instances": "get", "instances/resources": "get list"},
	"nobody":   {},
	"inAShop":  {"instances": "get", "instances/namespaces": "get list create update patch delete"},
	"readShop": {"instances": "get", "instances/namespaces": "get list"},
}

type listedRules struct{}

// Rules implements authz.RulesReviewer.
func (listedRules) Rules(_ context.Context, u authz.User) (*authorizationv1.SubjectRulesReviewStatus, error) {
	status := &authorizationv1.SubjectRulesReviewStatus{}
	for resource, verbs := range people[u.Name] {
		name := "alpha"
		if resource == "instances/namespaces" {
			name = "alpha:shop"
		}
		status.ResourceRules = append(status.ResourceRules, authorizationv1.ResourceRule{
			APIGroups: []string{"kairship.io"}, Resources: []string{resource}, Verbs: strings.Fields(verbs), ResourceNames: []string{name},
		})
	}
	return status, nil
}

// upstream is an instance with one policy and some bindings, and remembers what it was asked.
type upstream struct {
	bindings int

	mu    sync.Mutex
	asked []string
	// dry are those of asked that were dry runs.
	dry   []string
	users map[string]bool
	sent  map[string]string
}

const stored = `{"apiVersion":"policy.karmada.io/v1alpha1","kind":"PropagationPolicy","metadata":{"name":"web","namespace":"shop","uid":"u1","resourceVersion":"7",
"labels":{"propagationpolicy.karmada.io/permanent-id":"p1","a":"1"},"finalizers":["karmada.io/propagation-policy-controller"]},"spec":{"resourceSelectors":[],"newer":1}}`

// ServeHTTP implements http.Handler.
func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.asked = append(u.asked, r.Method+" "+r.URL.Path)
	if r.URL.Query().Get("dryRun") == "All" || strings.Contains(string(body), `"dryRun":["All"]`) {
		u.dry = append(u.dry, r.Method+" "+r.URL.Path)
	}
	u.users[r.Header.Get("Impersonate-User")] = true
	u.sent[r.Method] = string(body)
	w.Header().Set("Content-Type", "application/json")
	if !strings.HasSuffix(r.URL.Path, "bindings") {
		if r.Method == http.MethodPut || r.Method == http.MethodPost {
			_, _ = w.Write(body)
			return
		}
		_, _ = io.WriteString(w, stored)
		return
	}
	if got := r.URL.Query().Get("labelSelector"); got != "propagationpolicy.karmada.io/permanent-id=p1" {
		http.Error(w, "selector "+got, http.StatusBadRequest)
		return
	}
	var from int
	_, _ = fmt.Sscan(r.URL.Query().Get("continue"), &from)
	list := map[string]any{"metadata": map[string]any{}}
	var items []any
	for i := from; i < min(from+write.PageSize, u.bindings); i++ {
		items = append(items, map[string]any{"spec": map[string]any{"resource": map[string]any{
			"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": fmt.Sprint("d", i),
		}}})
	}
	if from+write.PageSize < u.bindings {
		list["metadata"] = map[string]any{"continue": fmt.Sprint(from + write.PageSize)}
	}
	list["items"] = items
	_ = json.NewEncoder(w).Encode(list)
}

func newUpstream(t *testing.T, bindings int) (*upstream, *Writes) {
	t.Helper()
	u := &upstream{bindings: bindings, users: map[string]bool{}, sent: map[string]string{}}
	return u, NewWrites(&write.Writer{
		Access:  access.New(authz.NewResolver(listedRules{}, nil, nil, nil)),
		Clients: fake.New(t, map[string]http.Handler{"alpha": u}), Logger: slog.New(slog.DiscardHandler), Now: time.Now,
	})
}

func as(t *testing.T, user string) context.Context {
	t.Helper()
	return authz.WithUser(t.Context(), authz.User{Name: user})
}

// A bounded number of the resources that a policy has claimed is read, all of them as the user who
// deletes it.
func TestUseIsBounded(t *testing.T) {
	for _, tt := range []struct {
		reason                 string
		bindings, lists, count int
		more                   bool
	}{
		{"nobody", 0, 1, 0, false},
		{"one page", write.PageSize, 1, write.PageSize, false},
		{"one more than a page", write.PageSize + 1, 2, write.PageSize + 1, false},
		{"as many as are looked at", write.MostListed, write.MostListed / write.PageSize, write.MostListed, false},
		{"more than are looked at", write.MostListed + 1, write.MostListed / write.PageSize, write.MostListed, true},
	} {
		u, writes := newUpstream(t, tt.bindings)
		done, err := writes.Propagation.Delete(as(t, "editor"), specs.DeleteInput{Instance: "alpha", Namespace: "shop", Name: "web", AllowInUse: true, DryRun: true})
		if err != nil {
			t.Fatalf("%s: %v", tt.reason, err)
		}
		if done.UsedBy.Count != tt.count || done.UsedBy.More != tt.more || len(done.UsedBy.Users) != min(tt.count, 20) {
			t.Errorf("%s: got %d, more %t, %d named", tt.reason, done.UsedBy.Count, done.UsedBy.More, len(done.UsedBy.Users))
		}
		lists := 0
		for _, asked := range u.asked {
			if strings.HasSuffix(asked, "resourcebindings") {
				lists++
			}
		}
		if lists != tt.lists {
			t.Errorf("%s: %d lists, want %d: %v", tt.reason, lists, tt.lists, u.asked)
		}
		if diff := cmp.Diff(map[string]bool{"editor": true}, u.users); diff != "" {
			t.Errorf("%s: who asked (-want +got):\n%s", tt.reason, diff)
		}
	}
}

// A policy that is in use is not deleted, and the one that was looked at is deleted and no other.
func TestDeleteWhatWasLookedAt(t *testing.T) {
	u, writes := newUpstream(t, 3)
	in := specs.DeleteInput{Instance: "alpha", Namespace: "shop", Name: "web"}
	if _, err := writes.Propagation.Delete(as(t, "editor"), in); apierror.CodeOf(err) != apierror.CodeConflict {
		t.Errorf("in use: got %v", err)
	}
	if slices.ContainsFunc(u.asked, func(s string) bool { return strings.HasPrefix(s, http.MethodDelete) }) {
		t.Errorf("it was deleted: %v", u.asked)
	}
	in.AllowInUse = true
	if _, err := writes.Propagation.Delete(as(t, "editor"), in); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(u.sent[http.MethodDelete], `"preconditions":{"uid":"u1"}`) {
		t.Errorf("deleted with %s", u.sent[http.MethodDelete])
	}
}

// Fields that an update omits keep their values, and those that it has are replaced as a whole.
func TestUpdateKeepsWhatItLeavesOut(t *testing.T) {
	u, writes := newUpstream(t, 0)
	in := UpdatePropagationPolicyInput{Instance: "alpha", Namespace: "shop", Name: "web", ResourceVersion: "7"}
	if _, err := writes.Propagation.Update(as(t, "editor"), in); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"newer":1`, `"a":"1"`, `/permanent-id":"p1"`, "karmada.io/propagation-policy-controller", `"resourceVersion":"7"`} {
		if !strings.Contains(u.sent[http.MethodPut], want) {
			t.Errorf("%s is missing in %s", want, u.sent[http.MethodPut])
		}
	}
	in.Spec = &policyv1alpha1.PropagationSpec{PropagateDeps: true}
	if _, err := writes.Propagation.Update(as(t, "editor"), in); err != nil {
		t.Fatal(err)
	}
	if sent := u.sent[http.MethodPut]; strings.Contains(sent, `"newer"`) || !strings.Contains(sent, `"propagateDeps":true`) {
		t.Errorf("the spec was not replaced: %s", sent)
	}
}

// A write without permission sends nothing to the instance.
func TestNothingIsSentWithoutPermission(t *testing.T) {
	for _, tt := range []struct {
		reason, user, namespace string
		cluster                 bool
		want                    apierror.Code
	}{
		{"who does not see the instance", "nobody", "shop", false, apierror.CodeNotFound},
		{"who may only read", "reader", "shop", false, apierror.CodeForbidden},
		{"who may only read in the namespace", "readShop", "shop", false, apierror.CodeForbidden},
		{"who writes in another namespace", "inAShop", "ops", false, apierror.CodeForbidden},
		{"who writes in a namespace, outside of any", "inAShop", "", true, apierror.CodeForbidden},
	} {
		u, writes := newUpstream(t, 0)
		ctx := as(t, tt.user)
		var errs []error
		note := func(err error) { errs = append(errs, err) }
		if tt.cluster {
			_, err := writes.ClusterPropagation.Create(ctx, CreateClusterPropagationPolicyInput{Instance: "alpha", Name: "web"})
			note(err)
			_, err = writes.ClusterOverride.Delete(ctx, specs.DeleteInput{Instance: "alpha", Name: "web"})
			note(err)
		} else {
			_, err := writes.Propagation.Create(ctx, CreatePropagationPolicyInput{Instance: "alpha", Namespace: tt.namespace, Name: "web"})
			note(err)
			_, err = writes.Override.Update(ctx, UpdateOverridePolicyInput{Instance: "alpha", Namespace: tt.namespace, Name: "web", ResourceVersion: "7"})
			note(err)
			_, err = writes.Propagation.Delete(ctx, specs.DeleteInput{Instance: "alpha", Namespace: tt.namespace, Name: "web"})
			note(err)
		}
		for _, err := range errs {
			if apierror.CodeOf(err) != tt.want {
				t.Errorf("%s: got %v, want %s", tt.reason, err, tt.want)
			}
		}
		if len(u.asked) > 0 {
			t.Errorf("%s: the instance was asked %v", tt.reason, u.asked)
		}
	}
}

// A version that says nothing is none to an instance, and no client that sends one means that.
func TestVersionThatSaysNothing(t *testing.T) {
	_, writes := newUpstream(t, 0)
	for _, version := range []string{"", "0"} {
		_, updating := writes.Propagation.Update(as(t, "editor"), specs.UpdateInput[policyv1alpha1.PropagationSpec]{Instance: "alpha", Namespace: "shop", Name: "web", ResourceVersion: version})
		_, deleting := writes.Propagation.Delete(as(t, "editor"), specs.DeleteInput{Instance: "alpha", Namespace: "shop", Name: "web", ResourceVersion: &version})
		for what, err := range map[string]error{"update": updating, "delete": deleting} {
			if e, ok := errors.AsType[*apierror.Error](err); !ok || e.Code != apierror.CodeInvalid || e.Argument != "input.resourceVersion" {
				t.Errorf("%s with version %q: %v", what, version, err)
			}
		}
	}
}
