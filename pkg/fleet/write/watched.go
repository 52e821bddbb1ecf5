package write

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/index"
)

// caughtUp bounds the wait for a watch to show what was written.
const caughtUp = 2 * time.Second

// Await waits until a watch on the global cluster has what was written to it, so that
// the caller that wrote it reads it next. now is where the watched object is read into. The
// write is made even if that takes too long.
func Await(ctx context.Context, watched client.Reader, written, now client.Object) {
	_ = wait.PollUntilContextTimeout(ctx, 5*time.Millisecond, caughtUp, true, func(ctx context.Context) (bool, error) {
		err := watched.Get(ctx, client.ObjectKeyFromObject(written), now)
		if apierrors.IsNotFound(err) {
			return written.GetDeletionTimestamp() != nil, nil
		}
		return err == nil && (now.GetUID() != written.GetUID() || !index.OlderVersion(now.GetResourceVersion(), written.GetResourceVersion())), nil
	})
}
