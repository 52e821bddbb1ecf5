package controllers_test

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kairship-io/kairship/pkg/apis/apitest"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/connection"
	"github.com/kairship-io/kairship/pkg/controllers"
	"github.com/kairship-io/kairship/pkg/controllers/instanceaccess"
	"github.com/kairship-io/kairship/pkg/controllers/instancerolebinding"
	"github.com/kairship-io/kairship/pkg/controllers/internal/activity"
	"github.com/kairship-io/kairship/pkg/controllers/internal/connections"
	"github.com/kairship-io/kairship/pkg/controllers/internal/credentials"
)

// accessWorld is a world with a second apiserver, the inside of an instance, and
// the reconcilers of bindings, which are run step by step.
type accessWorld struct {
	*world
	bind   *instancerolebinding.Reconciler
	access *instanceaccess.Reconciler
	// inside is the instance, past the door.
	inside client.Client
	door   *door
	// recorded is what the reconcilers recorded of their changes: the controller, the verb and the role.
	recorded []string
	// restart forgets what a process keeps in its memory.
	restart func()
}

// door is what the reconcilers reach the instance through. It counts what is
// asked and what is changed, and it can be shut.
type door struct {
	*httptest.Server
	reads, writes atomic.Int32
	// refuse answers instead of the instance, unless it returns 0.
	refuse atomic.Pointer[func(r *http.Request) int]
}

func newDoor(t *testing.T) *door {
	t.Helper()
	other := apitest.OtherConfig(t)
	target, err := url.Parse(other.Host)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(other)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Transport: transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Header.Del("Authorization")
		},
	}
	d := &door{}
	proxy.ModifyResponse = func(r *http.Response) error {
		if r.Request.Method != http.MethodGet && r.StatusCode < http.StatusMultipleChoices {
			d.writes.Add(1)
		}
		return nil
	}
	d.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			d.reads.Add(1)
		}
		if refuse := d.refuse.Load(); refuse != nil {
			if code := (*refuse)(r); code != 0 {
				http.Error(w, "refused by the test", code)
				return
			}
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(d.Close)
	return d
}

func (d *door) refuseWith(refuse func(r *http.Request) int) { d.refuse.Store(&refuse) }
func (d *door) open()                                       { d.refuse.Store(nil) }
func (d *door) shut() {
	d.refuseWith(func(*http.Request) int { return http.StatusServiceUnavailable })
}

func (d *door) connection() connection.Connection {
	return connection.Connection{
		Endpoint: d.URL, Token: "t",
		CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: d.Certificate().Raw}),
	}
}

// withToken is the door's connection with other credentials.
func withToken(d *door, token string) connection.Connection {
	to := d.connection()
	to.Token = token
	return to
}

func newAccessWorld(t *testing.T) *accessWorld {
	t.Helper()
	w := &accessWorld{world: newWorld(t), door: newDoor(t)}
	inside, err := client.New(apitest.OtherConfig(t), client.Options{Scheme: controllers.Scheme()})
	w.must(err)
	w.inside = inside
	direct, err := client.NewWithWatch(apitest.Config(t), client.Options{Scheme: controllers.Scheme()})
	w.must(err)
	counted := interceptor.NewClient(direct, w.count())
	w.bind = &instancerolebinding.Reconciler{Client: counted, Live: direct, Recorder: w.events, Retention: time.Hour, Activity: w.record(instancerolebinding.Name)}
	w.restart = func() {
		w.access = &instanceaccess.Reconciler{
			Connections: &connections.Pool{},
			Client:      counted, Live: direct, Credentials: credentials.Reader{Secrets: direct}, Recorder: w.events,
			Interval: time.Hour, Timeout: 2 * time.Second, Activity: w.record(instanceaccess.Name),
		}
	}
	w.restart()
	return w
}

// record keeps what a controller records.
func (w *accessWorld) record(controller string) activity.Recorder {
	return func(c activity.Change) {
		w.recorded = append(w.recorded, controller+" "+string(c.Verb)+" "+c.Kind+" "+c.Name+" of "+c.Instance)
	}
}

// wantRecorded compares what was recorded since the last call, in any order.
func (w *accessWorld) wantRecorded(after string, want ...string) {
	w.Helper()
	slices.Sort(w.recorded)
	if !slices.Equal(w.recorded, want) {
		w.Errorf("%s: recorded %q, want %q", after, w.recorded, want)
	}
	w.recorded = nil
}

// registered creates an Instance that is reached through the door.
func (w *accessWorld) registered(name string) *v1alpha1.Instance {
	w.Helper()
	w.secret(name, "kubeconfig", w.door.connection())
	return w.instance(name, "kubeconfig")
}

// leaveNothing deletes an Instance and its bindings, and fails the test when
// something of them stays anywhere.
func (w *accessWorld) leaveNothing(name string) {
	w.Helper()
	w.door.open()
	w.fail = nil
	for _, binding := range w.bindingsOf(name) {
		w.must(client.IgnoreNotFound(w.kube.Delete(w.Context(), &v1alpha1.InstanceRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: binding}})))
	}
	w.must(client.IgnoreNotFound(w.kube.Delete(w.Context(), &v1alpha1.Instance{ObjectMeta: metav1.ObjectMeta{Name: name}})))
	w.reconcileAccess(name)
	if left := w.bindingsOf(name); len(left) > 0 {
		w.Errorf("these bindings are left: %v", left)
	}
	w.gone(name, &v1alpha1.Instance{})
	for where, kube := range map[string]client.Client{"the global cluster": w.kube, "the instance": w.inside} {
		for _, list := range []client.ObjectList{
			&rbacv1.ClusterRoleList{}, &rbacv1.ClusterRoleBindingList{}, &rbacv1.RoleBindingList{},
			&admissionv1.ValidatingAdmissionPolicyList{}, &admissionv1.ValidatingAdmissionPolicyBindingList{},
		} {
			w.must(kube.List(w.Context(), list, client.MatchingLabels{v1alpha1.ManagedByLabel: v1alpha1.ManagedByValue}))
			w.must(meta.EachListItem(list, func(item runtime.Object) error {
				w.Errorf("%s still has %s", where, item.(client.Object).GetName()) //nolint:forcetypeassert // it would fail the test too
				return nil
			}))
		}
	}
}

// give creates a binding of alice on an instance.
func (w *accessWorld) give(name, instance string, role v1alpha1.Role, namespaces ...string) *v1alpha1.InstanceRoleBinding {
	w.Helper()
	binding := &v1alpha1.InstanceRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.InstanceRoleBindingSpec{
			InstanceRef: v1alpha1.InstanceReference{Name: instance},
			Subject:     v1alpha1.BindingSubject{Kind: v1alpha1.SubjectUser, Name: "alice"},
			Role:        role, Namespaces: namespaces,
		},
	}
	w.must(w.kube.Create(w.Context(), binding))
	return binding
}

// change changes the spec of a binding.
func (w *accessWorld) change(name string, change func(*v1alpha1.InstanceRoleBindingSpec)) {
	w.Helper()
	binding := get(w.world, name, &v1alpha1.InstanceRoleBinding{})
	change(&binding.Spec)
	w.must(w.kube.Update(w.Context(), binding))
}

func (w *accessWorld) drop(name string) {
	w.Helper()
	w.must(w.kube.Delete(w.Context(), get(w.world, name, &v1alpha1.InstanceRoleBinding{})))
}

func (w *accessWorld) bindOne(name string) reconcile.Result {
	w.Helper()
	result, err := w.bind.Reconcile(w.Context(), named(name))
	w.must(err)
	return result
}

func (w *accessWorld) lookInside(instance string) reconcile.Result {
	w.Helper()
	result, err := w.access.Reconcile(w.Context(), named(instance))
	w.must(err)
	return result
}

// reconcileAccess runs the reconcilers of an instance and of all its bindings until
// they have nothing left to do. In between the instance does its own part.
func (w *accessWorld) reconcileAccess(instance string) {
	w.Helper()
	const most = 10
	for range most {
		before := w.writes.Load() + w.door.writes.Load()
		w.aggregate()
		w.lookInside(instance)
		for _, name := range w.bindingsOf(instance) {
			w.bindOne(name)
		}
		if w.writes.Load()+w.door.writes.Load() == before {
			return
		}
	}
	w.Fatalf("after %d rounds the reconcilers of %s still write", most, instance)
}

func (w *accessWorld) bindingsOf(instance string) []string {
	w.Helper()
	list := &v1alpha1.InstanceRoleBindingList{}
	w.must(w.kube.List(w.Context(), list))
	var names []string
	for i := range list.Items {
		if list.Items[i].Spec.InstanceRef.Name == instance {
			names = append(names, list.Items[i].Name)
		}
	}
	return names
}

// aggregate plays the part of the instance's kube-controller-manager.
func (w *accessWorld) aggregate() {
	w.Helper()
	all := &rbacv1.ClusterRoleList{}
	w.must(w.inside.List(w.Context(), all))
	changed := map[int]bool{}
	const deepest = 4 // ours, admin, edit, view
	for range deepest {
		for i := range all.Items {
			role := &all.Items[i]
			if role.AggregationRule == nil {
				continue
			}
			var rules []rbacv1.PolicyRule
			for j := range all.Items {
				if i != j && selected(w.T, role.AggregationRule.ClusterRoleSelectors, all.Items[j].Labels) {
					rules = append(rules, all.Items[j].Rules...)
				}
			}
			changed[i] = changed[i] || !equality.Semantic.DeepEqual(rules, role.Rules)
			role.Rules = rules
		}
	}
	for i := range all.Items {
		if changed[i] {
			err := w.inside.Update(w.Context(), &all.Items[i])
			if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
				continue // It was changed or deleted meanwhile, which is for the next time.
			}
			w.must(err)
		}
	}
}

// aggregateNew is aggregate where that has something to do with what is new.
func (w *accessWorld) aggregateNew() {
	w.Helper()
	ours := &rbacv1.ClusterRoleList{}
	w.must(w.inside.List(w.Context(), ours, client.HasLabels{v1alpha1.InstanceRoleLabel}))
	for i := range ours.Items {
		if len(ours.Items[i].Rules) == 0 {
			w.aggregate()
			return
		}
	}
}

func selected(t *testing.T, selectors []metav1.LabelSelector, found map[string]string) bool {
	t.Helper()
	for i := range selectors {
		selector, err := metav1.LabelSelectorAsSelector(&selectors[i])
		if err != nil {
			t.Fatal(err)
		}
		if selector.Matches(labels.Set(found)) {
			return true
		}
	}
	return false
}

// namespace makes a namespace in the instance.
func (w *accessWorld) namespace(name string) {
	w.Helper()
	err := w.inside.Create(w.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	if !apierrors.IsAlreadyExists(err) {
		w.must(err)
	}
}

// may asks a cluster's RBAC whether alice may do something.
func (w *accessWorld) may(cluster client.Client, verb, group, resource, subresource, namespace, name string) bool {
	w.Helper()
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: "alice", Groups: []string{"system:authenticated"},
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: verb, Group: group, Resource: resource, Subresource: subresource, Namespace: namespace, Name: name,
		},
	}}
	w.must(cluster.Create(w.Context(), review))
	return review.Status.Allowed
}

// grants are the places where the instance has a binding of this name.
func (w *accessWorld) grants(name string) []string {
	w.Helper()
	var found []string
	wide := &rbacv1.ClusterRoleBindingList{}
	w.must(w.inside.List(w.Context(), wide))
	for i := range wide.Items {
		if wide.Items[i].Name == "kairship:binding:"+name {
			found = append(found, "* "+wide.Items[i].RoleRef.Name)
		}
	}
	narrow := &rbacv1.RoleBindingList{}
	w.must(w.inside.List(w.Context(), narrow))
	for i := range narrow.Items {
		if narrow.Items[i].Name == "kairship:binding:"+name {
			found = append(found, narrow.Items[i].Namespace+" "+narrow.Items[i].RoleRef.Name)
		}
	}
	slices.Sort(found)
	return found
}

// wantBinding checks a condition of a binding.
func (w *accessWorld) wantBinding(name, condition, want string, says ...string) {
	w.Helper()
	binding := get(w.world, name, &v1alpha1.InstanceRoleBinding{})
	found := meta.FindStatusCondition(binding.Status.Conditions, condition)
	if found == nil {
		w.Errorf("binding %s has no condition %s", name, condition)
		return
	}
	w.wantWord("condition "+condition+" of binding "+name, string(found.Status)+"/"+found.Reason, found.Message, want, says)
}
