package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/longtest"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// outdated is a cache that has an old state of one binding.
type outdated struct {
	client.Client
	binding *v1alpha1.InstanceRoleBinding
}

func (o outdated) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if asked, ok := object.(*v1alpha1.InstanceRoleBinding); ok && key.Name == o.binding.Name {
		o.binding.DeepCopyInto(asked)
		return nil
	}
	return o.Client.Get(ctx, key, object, options...)
}

func TestAnUnreachableInstanceIsReportedAndTriedAgain(t *testing.T) {
	w := newAccessWorld(t)
	w.registered("away")
	defer w.leaveNothing("away")
	w.give("alice-away", "away", v1alpha1.RoleViewer)
	w.give("carol-away", "away", v1alpha1.RoleViewer)
	w.give("dave-away", "away", v1alpha1.RoleViewer)
	w.reconcileAccess("away")

	w.door.shut()
	w.drop("alice-away")
	w.change("carol-away", func(spec *v1alpha1.InstanceRoleBindingSpec) { spec.Revoked = true })
	w.give("erin-away", "away", v1alpha1.RoleEditor)
	w.reconcileAccess("away")

	w.wantBinding("dave-away", instanceReady, "Unknown/Unreachable", "HTTP 503")
	w.wantBinding("erin-away", globalReady, "True/Bound")
	w.wantBinding("erin-away", ready, "False/Unreachable", "HTTP 503")
	w.wantBinding("carol-away", ready, "False/Revoking", "could not be removed yet", "HTTP 503")
	w.wantBinding("alice-away", ready, "False/Deleting", "HTTP 503")
	for _, name := range []string{"alice-away", "carol-away"} { // The global cluster does not wait for the instance.
		w.gone("kairship:binding:"+name, &rbacv1.ClusterRole{})
		w.gone("kairship:binding:"+name, &rbacv1.ClusterRoleBinding{})
	}
	first, second := w.lookInside("away").RequeueAfter, w.lookInside("away").RequeueAfter
	if first <= 0 || second <= first || second > time.Minute {
		t.Errorf("the attempts follow after %v and %v, want growing pauses of at most a minute", first, second)
	}

	w.door.open()
	w.reconcileAccess("away")
	w.gone("alice-away", &v1alpha1.InstanceRoleBinding{})
	w.wantBinding("carol-away", ready, "False/Revoked")
	w.wantBinding("erin-away", ready, "True/Bound")
	if got := append(w.grants("alice-away"), w.grants("carol-away")...); len(got) > 0 {
		t.Errorf("the instance still has %v", got)
	}
}

func TestAServerThatHangsCostsOneTimeout(t *testing.T) {
	w := newAccessWorld(t)
	w.registered("hangs")
	defer w.leaveNothing("hangs")
	w.access.Timeout = 3 * time.Second // The first request has to be there before, over a new connection.
	for i := range 5 {
		w.give(fmt.Sprintf("hangs-%d", i), "hangs", v1alpha1.RoleViewer)
	}
	release := make(chan struct{})
	w.door.refuseWith(func(*http.Request) int { <-release; return http.StatusServiceUnavailable })
	reads := w.door.reads.Load()
	w.lookInside("hangs")
	if now := w.door.reads.Load() - reads; now != 1 {
		t.Errorf("%d requests went to an instance that does not answer, want 1 for all its bindings", now)
	}
	close(release)
	for i := range 5 {
		w.wantBinding(fmt.Sprintf("hangs-%d", i), instanceReady, "Unknown/Unreachable", "does not answer within 3s")
	}
	w.access.Timeout = 2 * time.Second
	w.secret("hangs", "kubeconfig", withToken(w.door, "rotated")) // A client has the timeout that it was made with.
}

func TestWhatKeepsABindingFromTheInstanceIsSaid(t *testing.T) {
	w := newAccessWorld(t)
	w.registered("said")
	defer w.leaveNothing("said")
	w.give("alice-said", "said", v1alpha1.RoleViewer)
	w.reconcileAccess("said")
	refuse := func(method, path string, code int) {
		w.door.refuseWith(func(r *http.Request) int {
			if (method == "" || r.Method == method) && strings.Contains(r.URL.Path, path) {
				return code
			}
			return 0
		})
	}
	for _, c := range []struct {
		reason string
		broken func()
		want   string
		says   []string
	}{
		{"there are no credentials", func() { w.secretData("said", nil) }, "Unknown/CredentialsMissing", []string{"kairship-system/said"}},
		{"the credentials are of no use", func() { w.secretData("said", map[string][]byte{"kubeconfig": []byte("x: [")}) }, "Unknown/CredentialsInvalid", nil},
		{"the instance does not accept the credentials", func() { refuse("", "", http.StatusUnauthorized) }, "Unknown/Unreachable", []string{"does not accept the credentials"}},
		{"the credentials may not read access rules", func() { refuse("GET", "", http.StatusForbidden) }, "False/NotAllowed", []string{"cluster-admin"}},
		{"the credentials may not write bindings", func() {
			w.must(w.inside.Delete(t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "kairship:binding:alice-said"}}))
			refuse("POST", "clusterrolebindings", http.StatusForbidden)
		}, "False/NotAllowed", []string{"write the rules", "cluster-admin"}},
		{"the credentials may not write roles", func() {
			w.must(w.inside.Delete(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "kairship:viewer"}}))
			refuse("POST", "clusterroles", http.StatusForbidden)
		}, "False/NotAllowed", []string{`write ClusterRole "kairship:viewer"`}},
		{"the instance forgets to put its roles together", func() {
			role := &rbacv1.ClusterRole{}
			w.must(w.inside.Get(t.Context(), client.ObjectKey{Name: "kairship:viewer"}, role))
			role.Rules = nil
			w.must(w.inside.Update(t.Context(), role))
		}, "False/RolesEmpty", []string{"clusterrole-aggregation"}},
	} {
		t.Run(c.reason, func(*testing.T) {
			c.broken()
			w.lookInside("said")
			w.bindOne("alice-said")
			w.wantBinding("alice-said", instanceReady, c.want, c.says...)
			_, reason, _ := strings.Cut(c.want, "/")
			w.wantBinding("alice-said", ready, "False/"+reason)

			w.door.open()
			w.secret("said", "kubeconfig", w.door.connection())
			w.reconcileAccess("said")
			w.wantBinding("alice-said", ready, "True/Bound")
		})
	}
}

func TestForeignRulesAreLeftAlone(t *testing.T) {
	w := newAccessWorld(t)
	w.registered("foreign")
	defer w.leaveNothing("foreign")
	w.namespace("foreign-shop")
	anything := []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}}
	edit := rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "edit"}
	const name = "kairship:binding:alice-foreign"
	for _, c := range []struct {
		reason  string
		kube    client.Client
		foreign client.Object
		want    string // condition and word
		says    string
	}{
		{"a role in the global cluster", w.kube, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: anything}, globalReady, `ClusterRole "` + name + `"`},
		{"a binding in the global cluster", w.kube, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: edit}, globalReady, `ClusterRoleBinding "` + name + `"`},
		{"a role in the instance", w.inside, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "kairship:viewer"}, Rules: anything}, instanceReady, `ClusterRole "kairship:viewer"`},
		{"a binding in the instance", w.inside, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: edit}, instanceReady, `ClusterRoleBinding "` + name + `"`},
		{"a binding in a namespace", w.inside, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "foreign-shop", Name: name}, RoleRef: edit}, instanceReady, `in namespace "foreign-shop"`},
	} {
		t.Run(c.reason, func(t *testing.T) {
			w.must(c.kube.Create(t.Context(), c.foreign))
			before := c.foreign.GetResourceVersion()
			var namespaces []string
			if c.foreign.GetNamespace() != "" {
				namespaces = []string{c.foreign.GetNamespace()}
			}
			w.give("alice-foreign", "foreign", v1alpha1.RoleViewer, namespaces...)
			w.give("carol-foreign", "foreign", v1alpha1.RoleViewer)
			w.reconcileAccess("foreign")
			w.wantBinding("alice-foreign", c.want, "False/NameTaken", c.says, "left alone")
			w.wantBinding("alice-foreign", ready, "False/NameTaken")
			if _, role := c.foreign.(*rbacv1.ClusterRole); !role {
				w.wantBinding("carol-foreign", ready, "True/Bound")
			}
			if c.kube == w.kube && w.may(w.kube, "delete", "kairship.io", "instances", "resources", "", "foreign") {
				t.Error("alice is bound to what the foreign role permits")
			}
			if c.foreign.GetName() == "kairship:viewer" && w.may(w.inside, "delete", "", "nodes", "", "", "x") {
				t.Error("alice is bound to what the foreign role permits")
			}

			w.drop("alice-foreign")
			w.drop("carol-foreign")
			w.reconcileAccess("foreign")
			w.gone("alice-foreign", &v1alpha1.InstanceRoleBinding{})
			w.must(c.kube.Get(t.Context(), client.ObjectKeyFromObject(c.foreign), c.foreign))
			if c.foreign.GetResourceVersion() != before {
				t.Errorf("the foreign object changed: %+v", c.foreign)
			}
			w.must(c.kube.Delete(t.Context(), c.foreign))
		})
	}
}

func TestAnInstanceThatIsMissingOrGoes(t *testing.T) {
	w := newAccessWorld(t)
	w.give("alice-goes", "goes", v1alpha1.RoleViewer)
	w.reconcileAccess("goes")
	w.wantBinding("alice-goes", globalReady, "True/Bound")
	w.wantBinding("alice-goes", instanceReady, "False/NoInstance", `no Instance "goes"`)
	w.wantBinding("alice-goes", ready, "False/NoInstance")

	instance := w.registered("goes")
	w.reconcileAccess("goes")
	w.wantBinding("alice-goes", ready, "True/Bound")

	// It goes in good order, and takes with it what it was given.
	w.must(w.kube.Delete(t.Context(), instance))
	get(w.world, "goes", instance)
	w.reconcileAccess("goes")
	w.gone("goes", instance)
	if got := w.grants("alice-goes"); len(got) > 0 {
		t.Errorf("the instance still has %v", got)
	}
	w.wantBinding("alice-goes", ready, "False/NoInstance")

	// It goes when it is not reachable any more: that is waited for, but not for ever.
	instance = w.registered("goes")
	w.reconcileAccess("goes")
	w.wantBinding("alice-goes", ready, "True/Bound")
	w.door.shut()
	w.access.Patience = time.Hour
	w.must(w.kube.Delete(t.Context(), instance))
	if retry := w.lookInside("goes").RequeueAfter; retry <= 0 {
		t.Error("the removal of the rules is not tried again")
	}
	get(w.world, "goes", instance)
	w.drop("alice-goes")
	w.reconcileAccess("goes")
	w.wantBinding("alice-goes", ready, "False/Deleting", "HTTP 503")
	w.access.Patience = 0
	w.reconcileAccess("goes")
	w.gone("goes", instance)
	w.gone("alice-goes", &v1alpha1.InstanceRoleBinding{})

	// What was left behind goes when the same control plane is registered again.
	if got := w.grants("alice-goes"); len(got) != 1 {
		t.Fatalf("the test needs rules that were left behind, got %v", got)
	}
	w.door.open()
	w.registered("goes")
	w.give("carol-goes", "goes", v1alpha1.RoleViewer)
	w.reconcileAccess("goes")
	if got := w.grants("alice-goes"); len(got) > 0 {
		t.Errorf("the instance still has %v", got)
	}
	w.leaveNothing("goes")
}

func TestAnInstanceWithoutBindingsIsNotDisturbed(t *testing.T) {
	w := newAccessWorld(t)
	instance := w.registered("quiet")
	defer w.leaveNothing("quiet")
	for range 3 {
		if result := w.lookInside("quiet"); result.RequeueAfter != 0 {
			t.Errorf("it is looked at again after %v", result.RequeueAfter)
		}
	}
	if reads := w.door.reads.Load(); reads != 0 {
		t.Errorf("%d requests went to an instance without a role for any user", reads)
	}
	get(w.world, "quiet", instance)
	if len(instance.Finalizers) > 0 {
		t.Errorf("it is held by %v", instance.Finalizers)
	}
}

// TestAnInterruptionAtEveryWriteOfABinding stops the reconcilers before their
// first write, in either cluster, their second one and so on, and lets them
// begin anew. The end must be the same each time. The short form takes every third.
func TestAnInterruptionAtEveryWriteOfABinding(t *testing.T) {
	killed := errors.New("killed")
	w := newAccessWorld(t)
	w.registered("killed")
	defer w.leaveNothing("killed")
	w.namespace("killed-shop")
	var interrupted int
	for stop := 1; ; stop += longtest.Step() {
		name := fmt.Sprintf("killed-%d", stop)
		w.restart()
		countdown := stop
		dies := func() bool { countdown--; return countdown == 0 }
		w.fail = func(string, runtime.Object) error {
			if dies() {
				return killed
			}
			return nil
		}
		w.door.refuseWith(func(r *http.Request) int {
			if r.Method != http.MethodGet && dies() {
				return http.StatusServiceUnavailable
			}
			return 0
		})
		w.give(name, "killed", v1alpha1.RoleEditor, "killed-shop")
		w.reconcileAccessThrough("killed", killed)
		w.wantBinding(name, ready, "True/Bound")
		w.change(name, func(spec *v1alpha1.InstanceRoleBindingSpec) { spec.Namespaces = nil })
		w.reconcileAccessThrough("killed", killed)
		w.wantBinding(name, ready, "True/Bound")
		w.drop(name)
		w.reconcileAccessThrough("killed", killed)
		w.gone(name, &v1alpha1.InstanceRoleBinding{})
		w.gone("kairship:binding:"+name, &rbacv1.ClusterRole{})
		w.gone("kairship:binding:"+name, &rbacv1.ClusterRoleBinding{})
		if got := w.grants(name); len(got) > 0 {
			t.Errorf("the instance still has %v", got)
		}
		if countdown > 0 {
			break // There are fewer writes than that.
		}
		interrupted++
	}
	if interrupted*longtest.Step() < 30 {
		t.Errorf("only %d writes were interrupted: there must be more", interrupted)
	}
}

// reconcileAccessThrough is reconcileAccess, going on after the given error.
func (w *accessWorld) reconcileAccessThrough(instance string, passing error) {
	w.Helper()
	const most = 20
	for range most {
		before, failed := w.writes.Load()+w.door.writes.Load(), false
		check := func(err error) {
			if errors.Is(err, passing) {
				failed = true
			} else {
				w.must(err)
			}
		}
		w.aggregateNew()
		_, err := w.access.Reconcile(w.Context(), named(instance))
		check(err)
		for _, name := range w.bindingsOf(instance) {
			_, err := w.bind.Reconcile(w.Context(), named(name))
			check(err)
		}
		if !failed && w.writes.Load()+w.door.writes.Load() == before {
			return
		}
	}
	w.Fatalf("after %d rounds the reconcilers of %s still write", most, instance)
}
