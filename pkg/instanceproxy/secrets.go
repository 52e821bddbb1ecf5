package instanceproxy

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

// Times of following a Secret.
const (
	secretTimeout = 5 * time.Second
	// secretRetry is the time until the next attempt when the global cluster does
	// not answer. It does not grow: credentials may be waiting there.
	secretRetry = time.Second
	// secretRereads is the time between two reads that were asked for.
	secretRereads = 500 * time.Millisecond
)

// secretFollower knows the content of one Secret at any time. It watches a
// single name, which a role with resourceNames permits.
type secretFollower struct {
	secrets corev1client.SecretInterface
	name    types.NamespacedName
	// learned gets the Secret's data, or nil when there is no such Secret, or the
	// reason why that is not known.
	learned func(data map[string][]byte, found bool, err error)
	// reread asks to look again now.
	reread chan struct{}
	// readAt is when it was last read.
	readAt time.Time
	// version is the one that was learned last.
	version string
}

func newSecretFollower(secrets corev1client.SecretsGetter, name types.NamespacedName, learned func(map[string][]byte, bool, error)) *secretFollower {
	return &secretFollower{secrets: secrets.Secrets(name.Namespace), name: name, learned: learned, reread: make(chan struct{}, 1)}
}

// lookAgain has the Secret read soon, for a caller that has reason to believe that
// it changed.
func (f *secretFollower) lookAgain() {
	select {
	case f.reread <- struct{}{}:
	default: // Another caller asked already.
	}
}

// run follows the Secret until the context ends.
func (f *secretFollower) run(ctx context.Context) {
	for ctx.Err() == nil {
		version, err := f.read(ctx)
		if err == nil {
			err = f.watch(ctx, version)
		}
		if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
			// The Secret was not changed for longer than the API server remembers changes.
			err = f.watch(ctx, "")
		}
		if err == nil {
			continue // The watch ended as watches do, or a caller wants it read.
		}
		f.learned(nil, false, fmt.Errorf("follow the Secret %s: %w", f.name, err))
		sleep(ctx, secretRetry+rand.N(secretRetry/4)) //nolint:gosec // Guessing it gains nothing.
	}
}

// read looks what the Secret says now, and returns the version to watch from.
func (f *secretFollower) read(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, secretTimeout)
	defer cancel()
	f.readAt = time.Now()
	secret, err := f.secrets.Get(ctx, f.name.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		f.learned(nil, false, nil)
		return "", nil
	case err != nil:
		return "", err
	}
	f.version = secret.ResourceVersion
	f.learned(secret.Data, true, nil)
	return secret.ResourceVersion, nil
}

// watch reports changes until the watch ends. Without a version it begins with
// what is there, and looks whether anything is.
func (f *secretFollower) watch(ctx context.Context, version string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events, err := f.secrets.Watch(ctx, metav1.ListOptions{
		FieldSelector:       fields.OneTermEqualSelector("metadata.name", f.name.Name).String(),
		ResourceVersion:     version,
		AllowWatchBookmarks: true,
	})
	if err != nil {
		return err
	}
	defer events.Stop()
	if version == "" {
		if _, err := f.read(ctx); err != nil { // No event reports that it went before the watch began.
			return err
		}
	}
	begun := time.Now()
	again := time.NewTimer(0)
	again.Stop()
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-f.reread:
			// The watch goes on meanwhile: most likely it brings the news anyway.
			again.Reset(max(secretRereads-time.Since(f.readAt), 0))
		case <-again.C:
			return nil
		case event, open := <-events.ResultChan():
			if !open {
				// One that ends at once would turn the loop into a storm.
				if time.Since(begun) < secretRetry {
					sleep(ctx, secretRetry)
				}
				return nil
			}
			if err := f.happened(event); err != nil {
				return err
			}
		}
	}
}

func (f *secretFollower) happened(event watch.Event) error {
	switch event.Type {
	case watch.Added, watch.Modified:
		secret, ok := event.Object.(*corev1.Secret)
		if !ok || secret.Name != f.name.Name || secret.Namespace != f.name.Namespace {
			return errors.New("the watch speaks of something else")
		}
		if order, err := resourceversion.CompareResourceVersion(secret.ResourceVersion, f.version); err == nil && order <= 0 {
			return nil // What is there, with which a watch begins, may have been read meanwhile.
		}
		f.version = secret.ResourceVersion
		f.learned(secret.Data, true, nil)
	case watch.Deleted:
		f.learned(nil, false, nil)
	case watch.Bookmark:
	case watch.Error:
		return apierrors.FromObject(event.Object)
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
