package write

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/instanceproxy"
)

// newFor is how long a namespace counts as new after it was made.
const newFor = time.Minute

// rightsCame waits for the caller's rights in a namespace in which the instance has
// refused a write, and reports whether they came. Nothing is waited for where Kairship
// does not permit the caller to write either, and where the namespace is not new. The
// error is that there is no such namespace, which is why they do not come.
func (s *Site) rightsCame(ctx context.Context, namespace string) (came bool, missing error) {
	if !s.grant.Can(authz.VerbCreate, namespace) {
		return false, nil
	}
	found, err := s.client.Kubernetes().CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, err
	}
	isNew := err == nil && s.writer.Now().Sub(found.CreationTimestamp.Time) <= newFor
	return isNew && instanceproxy.RightsCame(ctx, s.client, namespace), nil
}
