package writes

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// within is how long Karmada and the members may take to follow.
const within = 60 * time.Second

// person asks as one of the fleet's people: alice edits alpha, bob views beta,
// mallory may nothing.
func person(t testing.TB, name string) *gql.Client {
	t.Helper()
	f := fleet.Open(t)
	return recorded(t, gql.New(f.KairshipURL, f.Token(t, name)))
}

var numbers atomic.Int64

// namespaceIn makes a namespace of the test's own in the instance alpha.
func namespaceIn(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("writes-%d-%d", time.Now().UnixMilli()%1e9, numbers.Add(1))
	c := fleet.Open(t).Client(t, "alpha")
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := c.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.IgnoreNotFound(c.Delete(context.Background(), ns)); err != nil {
			t.Errorf("removing namespace %s: %v", name, err)
		}
	})
	return name
}

// mutate sends a mutation whose selection is given, and reads its payload.
func mutate[T any](t testing.TB, as *gql.Client, name string, input map[string]any, selection string) (T, []gql.Error) {
	t.Helper()
	title := strings.ToUpper(name[:1]) + name[1:]
	query := fmt.Sprintf("mutation($input: %sInput!) { %s(input: $input) { %s } }", title, name, selection)
	result := as.Must(t, gql.Request{Query: query, Variables: map[string]any{"input": input}})
	var data map[string]*T
	if len(result.Data) > 0 {
		if err := json.Unmarshal(result.Data, &data); err != nil {
			t.Fatalf("%s: %v: %s", name, err, result.Body)
		}
	}
	var payload T
	if p := data[name]; p != nil {
		payload = *p
	}
	return payload, result.Errors
}

// must sends a mutation that has to go well.
func must[T any](t testing.TB, as *gql.Client, name string, input map[string]any, selection string) T {
	t.Helper()
	payload, errs := mutate[T](t, as, name, input, selection)
	if len(errs) > 0 {
		t.Fatalf("%s(%v): %v", name, input, errs)
	}
	return payload
}

// refused sends a mutation that has to fail in one way, about one input.
func refused(t testing.TB, as *gql.Client, name string, input map[string]any, code, argument string) gql.Error {
	t.Helper()
	_, errs := mutate[map[string]any](t, as, name, input, "consistencyToken")
	return only(t, name, input, errs, code, argument)
}

// only is the single error of a mutation, which has to be of one kind, about one input.
func only(t testing.TB, name string, input map[string]any, errs []gql.Error, code, argument string) gql.Error {
	t.Helper()
	if len(errs) != 1 || errs[0].Extensions.Code != code || errs[0].Extensions.Argument != argument {
		t.Fatalf("%s(%v): got %v, want one %s at %q", name, input, errs, code, argument)
	}
	return errs[0]
}

// mutateLatest sends a mutation of an object that controllers write too: with its version, and again while that has moved.
func mutateLatest[T any](t testing.TB, as *gql.Client, name string, input func() map[string]any, selection string) (payload T, errs []gql.Error) {
	t.Helper()
	poll.True(t, within, name+" is sent with the latest version", func() bool {
		payload, errs = mutate[T](t, as, name, input(), selection)
		return !moved(errs)
	})
	return payload, errs
}

// moved reports whether a change was refused because its object was written since it was
// read, as a client that reads and sends again finds out.
func moved(errs []gql.Error) bool {
	return len(errs) == 1 && errs[0].Extensions.Code == "CONFLICT" && errs[0].Extensions.Argument == "input.resourceVersion"
}

// but is an input with some values changed.
func but(input map[string]any, more ...any) map[string]any {
	out := map[string]any{}
	maps.Copy(out, input)
	for i := 0; i < len(more); i += 2 {
		out[more[i].(string)] = more[i+1]
	}
	return out
}

// stored reads an object from the instance alpha; false when there is none.
func stored[T client.Object](t testing.TB, namespace, name string, into T) (T, bool) {
	t.Helper()
	return storedIn(t, "alpha", namespace, name, into)
}

func storedIn[T client.Object](t testing.TB, cluster, namespace, name string, into T) (T, bool) {
	t.Helper()
	err := fleet.Open(t).Client(t, cluster).Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, into)
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return into, err == nil
}

// unchanged fails when what is sent changes an object of alpha.
func unchanged(t testing.TB, object client.Object, send func()) {
	t.Helper()
	before, _ := stored(t, object.GetNamespace(), object.GetName(), object.DeepCopyObject().(client.Object))
	send()
	after, _ := stored(t, object.GetNamespace(), object.GetName(), object.DeepCopyObject().(client.Object))
	// Karmada's own writes are to status and annotations; the generation is the spec's.
	if before.GetGeneration() != after.GetGeneration() || before.GetUID() != after.GetUID() {
		t.Errorf("a dry run changed %s/%s: generation %d became %d", object.GetNamespace(), object.GetName(), before.GetGeneration(), after.GetGeneration())
	}
}

// unrelated checks that those who may not see alpha are told that there is none.
func unrelated(t *testing.T, name string, input map[string]any) {
	t.Helper()
	for _, who := range []string{"bob", "mallory"} {
		_, errs := mutate[map[string]any](t, person(t, who), name, input, "consistencyToken")
		if len(errs) != 1 || errs[0].Extensions.Code != "NOT_FOUND" || errs[0].Extensions.Argument != "input.instance" {
			t.Errorf("%s as %s: got %v, want NOT_FOUND at input.instance", name, who, errs)
		}
	}
	// Bob sees beta, and may not change it.
	_, errs := mutate[applied](t, person(t, "bob"), name, but(input, "instance", "beta"), "consistencyToken")
	if name != "applyManifests" && (len(errs) != 1 || errs[0].Extensions.Code != "FORBIDDEN") {
		t.Errorf("%s as bob in beta: got %v, want FORBIDDEN", name, errs)
	}
}

// administrator lets a person do everything inside alpha, until the test ends. No
// role of Kairship's includes kinds that did not exist when it was made.
func administrator(t *testing.T, name string) *gql.Client {
	t.Helper()
	c := fleet.Open(t).Client(t, "alpha")
	b := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "writes-"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
	}
	if err := c.Create(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.IgnoreNotFound(c.Delete(context.Background(), b)); err != nil {
			t.Errorf("taking the role back: %v", err)
		}
	})
	return person(t, name)
}
