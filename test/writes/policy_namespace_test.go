package writes

import (
	"context"
	"fmt"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	kairshipv1alpha1 "github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// editorIn is a new person who edits one namespace of alpha and nothing else. The role is called as the namespace.
func editorIn(t *testing.T, namespace string) *gql.Client {
	t.Helper()
	f := fleet.Open(t)
	global := f.Client(t, "global")
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: namespace}}
	request := &authenticationv1.TokenRequest{}
	binding := &kairshipv1alpha1.InstanceRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Spec: kairshipv1alpha1.InstanceRoleBindingSpec{
			InstanceRef: kairshipv1alpha1.InstanceReference{Name: "alpha"},
			Subject:     kairshipv1alpha1.BindingSubject{Kind: "User", Name: "system:serviceaccount:default:" + namespace},
			Role:        kairshipv1alpha1.RoleEditor, Namespaces: []string{namespace},
		},
	}
	for _, o := range []client.Object{account, binding} {
		if err := global.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = global.Delete(context.Background(), o) })
	}
	if err := global.SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatal(err)
	}
	return recorded(t, gql.New(f.KairshipURL, request.Status.Token))
}

// editorOf is an editor of the namespace of a scene, whose role has taken effect.
func editorOf(t *testing.T, s *policyScene) *gql.Client {
	t.Helper()
	editor := editorIn(t, s.namespace)
	poll.Until(t, arrives, "the editor of a namespace may create a policy in it", func(context.Context) error {
		if _, r := write(t, editor, "create", pp, s.input(pp, map[string]any{"spec": s.to("m1"), "dryRun": true})); len(r.Errors) > 0 {
			return fmt.Errorf("%v", r.Errors)
		}
		return nil
	})
	return editor
}

// Who edits one namespace changes the policies in it, is told who uses them, and
// changes none elsewhere.
func TestPoliciesOfOneNamespace(t *testing.T) {
	t.Parallel()
	s := newPolicyScene(t)
	editor := editorOf(t, s)
	mustWrite(t, editor, "create", pp, s.input(pp, map[string]any{"spec": s.to("m1")}))
	mustWrite(t, editor, "create", op, s.input(op, map[string]any{"spec": s.painted("m1", "red")}))
	s.color(t, "m1", "red")
	for _, k := range []policyKind{pp, op} {
		e := refusedWrite(t, editor, "delete", k, s.input(k, nil), "CONFLICT", "input.allowInUse")
		if !strings.Contains(e.Message, "ConfigMap "+s.namespace+"/data") {
			t.Errorf("%s: got %q", k.name, e.Message)
		}
		elsewhere := map[string]any{"namespace": "shop", "name": "frontend", "allowInUse": true}
		refusedWrite(t, editor, "delete", k, with(s.input(k, elsewhere), "dryRun", true), "FORBIDDEN", "")
	}
	for _, k := range []policyKind{cpp, cop} {
		spec := s.to("m1")
		if k == cop {
			spec = s.painted("m1", "red")
		}
		refusedWrite(t, editor, "create", k, s.input(k, map[string]any{"spec": spec}), "FORBIDDEN", "")
		s.unchanged(t, k, nil)
		refusedWrite(t, editor, "delete", k, s.input(k, map[string]any{"name": "node-agents", "allowInUse": true}), "FORBIDDEN", "")
	}
	for _, k := range []policyKind{op, pp} {
		mustWrite(t, editor, "delete", k, s.input(k, map[string]any{"allowInUse": true}))
		s.gone(t, k)
	}
}
