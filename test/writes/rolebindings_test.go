package writes

import (
	"context"
	"fmt"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	kairshipv1alpha1 "github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// effective bounds how long a role may take to hold, and to stop holding.
const effective = 5 * time.Second

type rolePayload struct {
	Unchanged bool
	Binding   *struct {
		Name, InstanceName, SubjectKind, Subject, Role, Source, ResourceVersion string
		GrantedBy                                                               *string
		Namespaces                                                              []string
	}
}

const bindingFields = `binding { name instanceName subjectKind subject role source resourceVersion grantedBy namespaces }`

// readsNamespace reports whether a user reads a namespace of an instance.
func readsNamespace(ctx context.Context, as *gql.Client, instance, namespace string) (bool, error) {
	data, _, err := gql.Query[struct {
		Instance *struct{ Namespace *struct{ Name string } }
	}](ctx, as, `query($i: String!, $n: String!) { instance(name: $i) { namespace(name: $n) { name } } }`, map[string]any{"i": instance, "n": namespace})
	if err != nil {
		return false, err
	}
	return data.Instance != nil && data.Instance.Namespace != nil, nil
}

// TestGrantInstanceRole gives bob, who has a role on beta only, one in a namespace of alpha, and takes it away.
func TestGrantInstanceRole(t *testing.T) {
	admin, bob, global := person(t, "admin"), person(t, "bob"), fleet.Open(t).Client(t, "global")
	in := map[string]any{"instance": "alpha", "subjectKind": "USER", "subject": "bob", "role": "VIEWER", "namespaces": []string{"shop"}}
	bindings := func() (found []kairshipv1alpha1.InstanceRoleBinding) {
		t.Helper()
		var all kairshipv1alpha1.InstanceRoleBindingList
		if err := global.List(context.Background(), &all); err != nil { // Also after the test.
			t.Fatal(err)
		}
		for _, b := range all.Items {
			if b.Spec.InstanceRef.Name == "alpha" && b.Spec.Subject.Name == "bob" {
				found = append(found, b)
			}
		}
		return found
	}
	comesTo := func(what string, want bool) {
		t.Helper()
		begun := time.Now()
		follows(t, what, fmt.Sprintf("bob sees shop in alpha: %t", want), func(ctx context.Context) error {
			if got, err := readsNamespace(ctx, bob, "alpha", "shop"); err != nil || got != want {
				return fmt.Errorf("it is %t: %w", got, err)
			}
			return nil
		})
		if took := time.Since(begun); took > effective {
			t.Errorf("%s took effect after %s, want at most %s", what, took, effective)
		}
	}

	refused(t, admin, "grantInstanceRole", but(in, "subject", "system:anonymous"), "INVALID", "input.subject")
	refused(t, admin, "grantInstanceRole", but(in, "namespaces", []string{"Shop"}), "INVALID", "input.namespaces[0]")
	for _, who := range []string{"bob", "mallory"} {
		refused(t, person(t, who), "grantInstanceRole", but(in, "subject", who), "NOT_FOUND", "input.instance")
	}
	refused(t, person(t, "alice"), "grantInstanceRole", but(in, "subject", "alice", "role", "ADMIN"), "FORBIDDEN", "")
	tryOut := must[rolePayload](t, admin, "grantInstanceRole", but(in, "dryRun", true), bindingFields)
	if tryOut.Binding == nil || tryOut.Binding.Role != "VIEWER" {
		t.Errorf("the dry run answers %+v", tryOut.Binding)
	}
	for _, role := range []string{"EDITOR", "ADMIN"} {
		group := must[rolePayload](t, admin, "grantInstanceRole", but(in, "subjectKind", "GROUP", "role", role, "namespaces", nil, "dryRun", true), bindingFields)
		if group.Binding == nil || group.Binding.Role != role || group.Binding.SubjectKind != "GROUP" || len(group.Binding.Namespaces) > 0 {
			t.Errorf("a group tried as %s: %+v", role, group.Binding)
		}
	}
	if found := bindings(); len(found) > 0 {
		t.Fatalf("what was refused or tried wrote %+v", found)
	}

	made := must[rolePayload](t, admin, "grantInstanceRole", in, "unchanged "+bindingFields).Binding
	t.Cleanup(func() {
		for _, b := range bindings() {
			_ = global.Delete(context.Background(), &b)
		}
	})
	if made.Source != "DIRECT" || made.GrantedBy == nil || *made.GrantedBy == "" || fmt.Sprint(made.Namespaces) != "[shop]" || made.SubjectKind != "USER" {
		t.Errorf("given: %+v", made)
	}
	comesTo("grantInstanceRole", true)
	if got, err := readsNamespace(t.Context(), bob, "alpha", "ops"); err != nil || got {
		t.Errorf("bob sees ops too: %v", err)
	}
	if again := must[rolePayload](t, admin, "grantInstanceRole", in, "unchanged "+bindingFields); !again.Unchanged || again.Binding.Name != made.Name {
		t.Errorf("the same role given again: %+v", again.Binding)
	}
	own, _ := gql.MustQuery[struct {
		Viewer struct {
			Roles []struct{ InstanceName, Role string }
		}
		Instance struct {
			RoleBindings struct {
				Nodes []struct{ Name, Subject string }
			}
		}
	}](t, bob, `{ viewer { roles { instanceName role } } instance(name: "alpha") { roleBindings { nodes { name subject } } } }`, nil)
	if len(own.Viewer.Roles) != 2 || own.Viewer.Roles[0].InstanceName != "alpha" || len(own.Instance.RoleBindings.Nodes) != 1 || own.Instance.RoleBindings.Nodes[0].Subject != "bob" {
		t.Errorf("bob sees the roles %+v and the bindings %+v", own.Viewer.Roles, own.Instance.RoleBindings.Nodes)
	}

	// Another client makes it another role.
	var stored kairshipv1alpha1.InstanceRoleBinding
	if err := global.Get(t.Context(), client.ObjectKey{Name: made.Name}, &stored); err != nil {
		t.Fatal(err)
	}
	changed := stored.DeepCopy()
	changed.Spec.Namespaces = []string{"ops", "shop"}
	if err := global.Patch(t.Context(), changed, client.MergeFrom(&stored)); err != nil {
		t.Fatal(err)
	}
	refused(t, admin, "grantInstanceRole", in, "CONFLICT", "")

	revokes(t, admin, made.Name, made.ResourceVersion)
	comesTo("revokeInstanceRole", false)
}

// revokes takes away a role.
func revokes(t *testing.T, admin *gql.Client, name, old string) {
	t.Helper()
	in := map[string]any{"instance": "alpha", "binding": name}
	refused(t, admin, "revokeInstanceRole", but(in, "resourceVersion", old), "CONFLICT", "input.resourceVersion")
	refused(t, admin, "revokeInstanceRole", but(in, "instance", "beta"), "NOT_FOUND", "input.binding")
	refused(t, person(t, "alice"), "revokeInstanceRole", in, "FORBIDDEN", "")
	// Alice's role on alpha comes from the platform's access management.
	var all kairshipv1alpha1.InstanceRoleBindingList
	if err := fleet.Open(t).Client(t, "global").List(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	platform := 0
	for _, b := range all.Items {
		if b.Spec.InstanceRef.Name == "alpha" && b.Spec.Source != nil {
			platform++
			refused(t, admin, "revokeInstanceRole", but(in, "binding", b.Name), "INVALID", "input.binding")
		}
	}
	if platform == 0 {
		t.Error("no binding of the platform was tried")
	}
	must[rolePayload](t, admin, "revokeInstanceRole", but(in, "dryRun", true), bindingFields)
	if _, ok := storedIn(t, "global", "", name, &kairshipv1alpha1.InstanceRoleBinding{}); !ok {
		t.Fatal("a dry run deleted it")
	}
	must[rolePayload](t, admin, "revokeInstanceRole", in, bindingFields)
	poll.Until(t, within, "the binding no longer exists", func(context.Context) error {
		if _, ok := storedIn(t, "global", "", name, &kairshipv1alpha1.InstanceRoleBinding{}); ok {
			return fmt.Errorf("it is there")
		}
		return nil
	})
}
