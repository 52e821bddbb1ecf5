package fleet

import (
	"context"
	"fmt"
	"testing"
	"time"

	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
)

// LetGo waits until Karmada has let go of what a binding put into a member of alpha; the
// annotations of its Work name the binding. What Karmada was told to leave in a member,
// and does not find there any more, it looks for again and again, and its Work stays. So
// this comes before the one who removes it from the member.
func (f *Fleet) LetGo(ctx context.Context, t testing.TB, member string, annotations map[string]string) {
	t.Helper()
	alpha := f.Client(t, "alpha")
	if err := poll.Try(ctx, time.Minute, func(ctx context.Context) error {
		var works workv1alpha1.WorkList
		if err := alpha.List(ctx, &works, client.InNamespace("karmada-es-"+member)); err != nil {
			return err
		}
		for i := range works.Items {
			if covers(works.Items[i].Annotations, annotations) {
				return fmt.Errorf("work %s is there", works.Items[i].Name)
			}
		}
		return nil
	}); err != nil {
		t.Errorf("Karmada does not let go of %v in %s: %v", annotations, member, err)
	}
}

func covers(all, wanted map[string]string) bool {
	for key, value := range wanted {
		if all[key] != value {
			return false
		}
	}
	return true
}
