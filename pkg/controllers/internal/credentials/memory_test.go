package credentials

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kairship-io/kairship/pkg/connection"
)

func TestAVersionOfASecretIsReadOnce(t *testing.T) {
	stored := secret("kairship-system", "m1", map[string][]byte{"token": []byte("one")})
	kube, ok := newClient(t, stored).(client.WithWatch)
	if !ok {
		t.Fatal("the fake client cannot be counted")
	}
	reads := 0
	counted := interceptor.NewClient(kube, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
			if _, whole := object.(*corev1.Secret); whole {
				reads++
			}
			return c.Get(ctx, key, object, opts...)
		},
	})
	reader := Reader{Secrets: counted, Memory: &Memory{Names: counted}}
	name := types.NamespacedName{Namespace: "kairship-system", Name: "m1"}
	read := func(endpoint string) (connection.Connection, error) {
		return reader.read(t.Context(), name, connection.Source{Endpoint: endpoint})
	}
	check := func(reason, endpoint, token string, want int) {
		t.Helper()
		got, err := read(endpoint)
		if err != nil || got.Token != token || got.Endpoint != endpoint {
			t.Errorf("%s: got %q at %q and %v", reason, got.Token, got.Endpoint, err)
		}
		if reads != want {
			t.Errorf("%s: %d reads, want %d", reason, reads, want)
		}
	}
	check("the first time it is read", "https://a", "one", 1)
	check("the second time it is not", "https://a", "one", 1)
	check("for another endpoint it says something else", "https://b", "one", 2)

	stored.Data["token"] = []byte("two")
	if err := kube.Update(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	check("when it changed it is read", "https://a", "two", 3)
	check("what the old version said is forgotten", "https://b", "two", 4)

	stored.Data = map[string][]byte{"nothing": nil}
	if err := kube.Update(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := read("https://a"); !errors.Is(err, connection.ErrMissing) {
			t.Errorf("got %v, want that the credentials are missing", err)
		}
	}
	if reads != 5 {
		t.Errorf("%d reads, want 5: an unusable version is read once too", reads)
	}

	if err := kube.Delete(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	if _, err := read("https://a"); !errors.Is(err, connection.ErrMissing) {
		t.Errorf("got %v for a Secret that is gone", err)
	}
	if left := len(reader.Memory.secrets); left != 0 {
		t.Errorf("%d Secrets are remembered, want none", left)
	}
}
