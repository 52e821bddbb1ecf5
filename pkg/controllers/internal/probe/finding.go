package probe

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/connection"
)

// Finding is what is known of an object's apiserver.
type Finding struct {
	// Deleting means that the object is on its way out, and was not looked at.
	Deleting bool
	// Credentials is why it could not be checked: connection.ErrMissing or
	// connection.ErrInvalid. It is nil otherwise.
	Credentials error
	// Seen is what the look showed; nil when there was none.
	Seen *Observation
	// Expires is when the credentials end; zero when they do not say.
	Expires time.Time
}

// Find says what is known without looking, or looks. Its error is not about the
// apiserver but about us, who could not look: the next attempt may do better.
func Find(ctx context.Context, object client.Object, to connection.Connection, err error, look func() Observation) (Finding, error) {
	switch {
	case !object.GetDeletionTimestamp().IsZero() && !isMember(object):
		return Finding{Deleting: true}, nil
	case errors.Is(err, connection.ErrMissing), errors.Is(err, connection.ErrInvalid):
		return Finding{Credentials: err}, nil
	case err != nil:
		return Finding{}, err
	}
	seen := look()
	if ctx.Err() != nil {
		return Finding{}, ctx.Err() // We are being stopped, which says nothing about the apiserver.
	}
	return Finding{Seen: &seen, Expires: to.ExpireTime()}, nil
}

// isMember reports of a cluster that an instance has it, which may go on for long while
// it is being deleted: until then it is kept true there, and whether it answers counts.
func isMember(object client.Object) bool {
	cluster, is := object.(*v1alpha1.Cluster)
	return is && cluster.Status.Membership != nil
}

// Judge says a finding in conditions: Reachable and Ready.
func (f Finding) Judge() (reachable, ready metav1.Condition) {
	switch {
	case f.Deleting:
		return v1alpha1.ReachableUnknown(v1alpha1.ReasonDeleting, "It is being deleted, and not looked at any more."),
			v1alpha1.NotReady(v1alpha1.ReasonDeleting, "It is being deleted.")
	case f.Credentials != nil:
		return v1alpha1.ReachableUnknown(f.CredentialsReason(), f.Credentials.Error()),
			v1alpha1.ReadyUnknown(f.CredentialsReason(), f.Credentials.Error())
	}
	return Judge(*f.Seen)
}

// CredentialsReason is the reason of a condition that cannot be judged for want
// of credentials.
func (f Finding) CredentialsReason() string {
	if errors.Is(f.Credentials, connection.ErrMissing) {
		return v1alpha1.ReasonCredentialsMissing
	}
	return v1alpha1.ReasonCredentialsInvalid
}

// Next is when to look again: after the interval, give or take 10 %, so that
// objects that were created together are not looked at together for ever.
func Next(interval time.Duration) time.Duration {
	return wait.Jitter(interval*9/10, 2.0/9)
}
