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

// Find returns what is known without a look, or looks. An error means that Kairship could not look,
// not that the API server failed: the next attempt may succeed.
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

// isMember reports whether an instance has the cluster. The removal may take long while the Cluster
// is being deleted, and until then it is kept up to date there, and probed.
func isMember(object client.Object) bool {
	cluster, is := object.(*v1alpha1.Cluster)
	return is && cluster.Status.Membership != nil
}

// Judge returns the conditions Reachable and Ready for a finding.
func (f Finding) Judge() (reachable, ready metav1.Condition) {
	switch {
	case f.Deleting:
		return v1alpha1.ReachableUnknown(v1alpha1.ReasonDeleting, "It is being deleted, and not looked at any more."),
			v1alpha1.NotReady(v1alpha1.ReasonDeleting, "It is being deleted.")
	case f.Credentials != nil:
		return v1alpha1.ReachableUnknown(f.credentialsReason(), f.Credentials.Error()),
			v1alpha1.ReadyUnknown(f.credentialsReason(), f.Credentials.Error())
	}
	return Judge(*f.Seen)
}

// credentialsReason returns the reason of a condition that is unknown for lack of credentials.
func (f Finding) credentialsReason() string {
	if errors.Is(f.Credentials, connection.ErrMissing) {
		return v1alpha1.ReasonCredentialsMissing
	}
	return v1alpha1.ReasonCredentialsInvalid
}

// Next returns the time until the next look: the interval, give or take 10 %, so that objects that
// were created at the same time are not always looked at together.
func Next(interval time.Duration) time.Duration {
	return wait.Jitter(interval*9/10, 2.0/9)
}
