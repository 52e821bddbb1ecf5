package policies

import (
	"context"
	"slices"
	"strings"
	"testing"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/write/specs"
)

// Trying a change refuses what the change refuses, and the instance is asked in dry runs alone.
func TestTry(t *testing.T) {
	spec := &policyv1alpha1.PropagationSpec{}
	for _, tt := range []struct {
		reason, person, namespace string
		verb                      authz.Verb
		spec                      *policyv1alpha1.PropagationSpec
		code                      apierror.Code
		before, after             bool
	}{
		{"a new one", "editor", "shop", authz.VerbCreate, spec, "", false, true},
		{"a changed one", "editor", "shop", authz.VerbUpdate, spec, "", true, true},
		{"one that stays", "editor", "shop", authz.VerbUpdate, nil, "", true, true},
		{"a deleted one", "editor", "shop", authz.VerbDelete, nil, "", true, false},
		{"an editor of the namespace", "inAShop", "shop", authz.VerbUpdate, spec, "", true, true},
		{"in another namespace", "inAShop", "ops", authz.VerbCreate, spec, apierror.CodeForbidden, false, false},
		{"a reader", "reader", "shop", authz.VerbCreate, spec, apierror.CodeForbidden, false, false},
		{"a user without a role", "nobody", "shop", authz.VerbCreate, spec, apierror.CodeNotFound, false, false},
		{"a new one that says nothing", "editor", "shop", authz.VerbCreate, nil, apierror.CodeInvalid, false, false},
	} {
		u, writes := newUpstream(t, 0)
		tried, err := writes.Propagation.Try(as(t, tt.person), specs.Attempt[policyv1alpha1.PropagationSpec]{Verb: tt.verb, Instance: "alpha", Namespace: tt.namespace, Name: "web", Spec: tt.spec})
		if apierror.Is(err, tt.code) != (tt.code != "") || (err == nil) != (tt.code == "") {
			t.Errorf("%s: %v, want %q", tt.reason, err, tt.code)
			continue
		}
		if err == nil && ((tried.Before != nil) != tt.before || (tried.After != nil) != tt.after) {
			t.Errorf("%s: %+v", tt.reason, tried)
		}
		for _, asked := range u.asked {
			if !strings.HasPrefix(asked, "GET ") && !slices.Contains(u.dry, asked) {
				t.Errorf("%s: the instance was sent %s, and not in a dry run", tt.reason, asked)
			}
		}
	}
}

// What is expected is checked before anything is written, and only when it is given.
func TestExpect(t *testing.T) {
	fingerprint, spec := "right", policyv1alpha1.PropagationSpec{}
	for _, tt := range []struct {
		reason  string
		expect  *string
		refuse  bool
		checked int
	}{
		{"nothing is expected", nil, true, 0},
		{"it does what is expected", &fingerprint, false, 1},
		{"it does something else", &fingerprint, true, 1},
	} {
		for _, verb := range []authz.Verb{authz.VerbCreate, authz.VerbUpdate, authz.VerbDelete} {
			u, writes := newUpstream(t, 0)
			checked := 0
			writes.ExpectPropagation(func(_ context.Context, of authz.Verb, instance, namespace, name string, _ *policyv1alpha1.PropagationSpec, got string) error {
				checked++
				if of != verb || instance != "alpha" || namespace != "shop" || name != "web" || got != fingerprint {
					t.Errorf("%s: asked about %s %s/%s of %s with %s", tt.reason, of, namespace, name, instance, got)
				}
				if tt.refuse {
					return apierror.New(apierror.CodeConflict, "no")
				}
				return nil
			})
			var err error
			switch verb {
			case authz.VerbCreate:
				_, err = writes.Propagation.Create(as(t, "editor"), CreatePropagationPolicyInput{Instance: "alpha", Namespace: "shop", Name: "web", Spec: spec, Expect: tt.expect})
			case authz.VerbUpdate:
				_, err = writes.Propagation.Update(as(t, "editor"), UpdatePropagationPolicyInput{Instance: "alpha", Namespace: "shop", Name: "web", ResourceVersion: "7", Spec: &spec, Expect: tt.expect})
			default:
				_, err = writes.Propagation.Delete(as(t, "editor"), specs.DeleteInput{Instance: "alpha", Namespace: "shop", Name: "web", Expect: tt.expect})
			}
			refused := tt.refuse && tt.expect != nil
			if apierror.Is(err, apierror.CodeConflict) != refused || checked != tt.checked {
				t.Errorf("%s: %s: %v, checked %d times", tt.reason, verb, err, checked)
			}
			wrote := slices.ContainsFunc(u.asked, func(asked string) bool { return !strings.HasPrefix(asked, "GET ") })
			if wrote == refused {
				t.Errorf("%s: %s: the instance was sent %v", tt.reason, verb, u.asked)
			}
		}
	}
}
