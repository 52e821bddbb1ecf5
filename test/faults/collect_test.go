package faults

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// collects waits until an object that is created in an instance now is shown by
// the API: the whole way through the index works.
func (s *scene) collects(t *testing.T, instance string) {
	t.Helper()
	name, remove := s.newObject(t, instance)
	defer remove()
	created := time.Now()
	poll.Until(t, recoverWithin, "an object that was just created in "+instance+" is shown", func(ctx context.Context) error {
		shown, err := s.shows(ctx, instance, name)
		if err == nil && !shown {
			err = errors.New("it is not")
		}
		return err
	})
	t.Logf("a new object in %s was shown after %s", instance, time.Since(created).Round(10*time.Millisecond))
}

// newObject creates an object in an instance.
func (s *scene) newObject(t *testing.T, instance string) (name string, remove func()) {
	t.Helper()
	c := s.Client(t, instance)
	o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "faults-"}}
	if err := c.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	return o.Name, func() {
		if err := c.Delete(t.Context(), o); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	}
}

// shows reports whether the API shows such an object.
func (s *scene) shows(ctx context.Context, instance, name string) (bool, error) {
	data, _, err := gql.Query[struct {
		Instance struct {
			Resources struct{ Nodes []struct{ Name string } }
		}
	}](ctx, s.api, `query Created($instance: String!, $name: [String!]) {
		instance(name: $instance) {
			resources(version: "v1", resource: "configmaps", namespace: "default", filter: {name: $name}) { nodes { name } }
		}
	}`, map[string]any{"instance": instance, "name": []string{name}})
	return len(data.Instance.Resources.Nodes) == 1, err
}
