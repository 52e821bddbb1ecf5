package fleet

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kairship-io/kairship/deploy/internal/kube"
	"github.com/kairship-io/kairship/deploy/local/internal/samples"
)

// applySamples applies an instance's applications and waits until they are as they will stay. Like
// every step it runs once: what a user does to the applications later is left alone.
func (f *Fleet) applySamples(ctx context.Context, instance string) error {
	ctx, cancel := stepContext(ctx)
	defer cancel()
	objects, err := samples.Objects(instance)
	if err != nil {
		return err
	}
	client := f.clients[instance]
	return f.once(instance+"/samples", inputHash(objects...), func() error {
		if err := client.Apply(ctx, objects...); err != nil {
			return err
		}
		for _, s := range samples.All() {
			// Without Kairship nothing joins members, and the applications stay where they are.
			if s.Instance != instance || f.settings.WithoutKairship {
				continue
			}
			if err := client.WaitFor(ctx, s.GVK, s.Namespace, s.Name, s.Missing); err != nil {
				return fmt.Errorf("%s does not become ready: %w", s, err)
			}
			if s.Scheduled == "" {
				continue
			}
			err := client.WaitFor(ctx, samples.BindingGVK, s.Namespace, s.Binding(), func(o *unstructured.Unstructured) string {
				return kube.ConditionIs(o, "Scheduled", s.Scheduled)
			})
			if err != nil {
				return fmt.Errorf("%s is not scheduled as expected: %w", s, err)
			}
		}
		return nil
	})
}
