package controllers_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/authz/overrides"
)

// TestOverridesAreWrittenOnlyWhereTheyAreLimited disables the admission policy in every way, and
// checks that editors may write override policies only while it is in force.
func TestOverridesAreWrittenOnlyWhereTheyAreLimited(t *testing.T) {
	w := newAccessWorld(t)
	w.registered("limited")
	defer w.leaveNothing("limited")
	w.namespace("limited-shop")
	w.give("alice-limited", "limited", v1alpha1.RoleEditor, "limited-shop")
	may := func() bool {
		return w.may(w.inside, "create", "policy.karmada.io", "overridepolicies", "", "limited-shop", "")
	}
	writes := func(reason string, want bool) {
		t.Helper()
		w.eventuallyAnswers(reason+": may alice write override policies?", want, may)
		w.eventuallyAnswers(reason+": may alice write workloads?", true, func() bool { return w.may(w.inside, "create", "apps", "deployments", "", "limited-shop", "") })
	}
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: overrides.Name}}

	t.Run("the right comes a look after the policy", func(t *testing.T) {
		again := w.lookInside("limited").RequeueAfter
		w.must(w.inside.Get(t.Context(), client.ObjectKeyFromObject(policy), policy))
		if err := w.inside.Get(t.Context(), client.ObjectKey{Name: "kairship:override-editor"}, &rbacv1.ClusterRole{}); !apierrors.IsNotFound(err) {
			t.Errorf("editors write override policies, which may not be limited yet: %v", err)
		}
		if again <= 0 || again > 5*time.Second {
			t.Errorf("the next look is after %v", again)
		}
		w.aggregate()
		w.lookInside("limited")
		w.must(w.inside.Get(t.Context(), client.ObjectKey{Name: "kairship:override-editor"}, &rbacv1.ClusterRole{}))
		w.reconcileAccess("limited")
		w.wantBinding("alice-limited", ready, "True/Bound")
		writes("the policy is in force", true)
	})

	for _, c := range []struct {
		reason string
		breaks func(t *testing.T)
		mend   func(t *testing.T)
		says   string
	}{
		{"the instance does not serve such policies", func(*testing.T) {
			w.door.refuseWith(func(r *http.Request) int {
				if strings.Contains(r.URL.Path, "admissionregistration.k8s.io") {
					return http.StatusNotFound
				}
				return 0
			})
		}, func(*testing.T) { w.door.open() }, "does not serve ValidatingAdmissionPolicy"},
		{"the instance does not let us read them", func(*testing.T) {
			w.door.refuseWith(func(r *http.Request) int {
				if strings.Contains(r.URL.Path, "admissionregistration.k8s.io") {
					return http.StatusForbidden
				}
				return 0
			})
		}, func(*testing.T) { w.door.open() }, "does not let its credentials write ValidatingAdmissionPolicies"},
		{"the instance does not let us write them", func(t *testing.T) {
			w.must(w.inside.Delete(t.Context(), &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: overrides.Name}}))
			w.door.refuseWith(func(r *http.Request) int {
				if r.Method == http.MethodPost && strings.Contains(r.URL.Path, "admissionregistration.k8s.io") {
					return http.StatusForbidden
				}
				return 0
			})
		}, func(*testing.T) { w.door.open() }, "does not let its credentials write ValidatingAdmissionPolicies"},
		{"a policy of another owner has the name", func(t *testing.T) {
			w.must(w.inside.Get(t.Context(), client.ObjectKeyFromObject(policy), policy))
			policy.Labels = nil
			w.must(w.inside.Update(t.Context(), policy))
		}, func(t *testing.T) { w.must(w.inside.Delete(t.Context(), policy)) }, "was not made by Kairship"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			c.breaks(t)
			w.reconcileAccess("limited")
			w.wantBinding("alice-limited", instanceReady, "False/OverridesWithheld", "without the right to write override policies", c.says)
			w.wantBinding("alice-limited", ready, "False/OverridesWithheld")
			writes(c.reason, false)
			if retry := w.lookInside("limited").RequeueAfter; retry <= 0 || retry > time.Minute {
				t.Errorf("it is tried again after %v", retry)
			}

			c.mend(t)
			w.reconcileAccess("limited")
			w.wantBinding("alice-limited", ready, "True/Bound")
			writes("mended", true)
		})
	}

	// Viewers and admins of the instance need no limits.
	w.door.refuseWith(func(r *http.Request) int {
		if strings.Contains(r.URL.Path, "admissionregistration.k8s.io") {
			return http.StatusNotFound
		}
		return 0
	})
	w.give("carol-limited", "limited", v1alpha1.RoleViewer)
	w.give("dave-limited", "limited", v1alpha1.RoleAdmin)
	w.reconcileAccess("limited")
	w.wantBinding("carol-limited", ready, "True/Bound")
	w.wantBinding("dave-limited", ready, "True/Bound")
}

// TestOurRolesHaveTheRulesOfKubernetes compares the rules that are written down in
// package roles with those that an API server has for the same roles.
func TestOurRolesHaveTheRulesOfKubernetes(t *testing.T) {
	w := newAccessWorld(t)
	w.registered("same")
	defer w.leaveNothing("same")
	w.give("alice-same", "same", v1alpha1.RoleViewer)
	w.reconcileAccess("same")
	for ours, theirs := range map[string]string{
		"kairship:kubernetes-viewer": "system:aggregate-to-view",
		"kairship:kubernetes-editor": "system:aggregate-to-edit",
		"kairship:kubernetes-admin":  "system:aggregate-to-admin",
	} {
		if diff := cmp.Diff(w.permissions(theirs), w.permissions(ours)); diff != "" {
			t.Errorf("%s (-%s +ours):\n%s", ours, theirs, diff)
		}
	}
}

// permissions are the rules of a ClusterRole of the instance, one by one.
func (w *accessWorld) permissions(role string) map[string]bool {
	w.Helper()
	stored := &rbacv1.ClusterRole{}
	w.must(w.inside.Get(w.Context(), client.ObjectKey{Name: role}, stored))
	all := map[string]bool{}
	for _, rule := range stored.Rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					all[verb+" "+resource+" "+group] = true
				}
			}
		}
	}
	return all
}
