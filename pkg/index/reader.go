package index

import (
	"context"

	"github.com/kairship-io/kairship/pkg/apierror"
)

// Reader reads the index on behalf of one operation: concurrent reads share requests, and nothing
// is read twice.
//
// The Prefetch methods start reads whose need is known before the fields that need them are
// resolved. They return at once. Their callback runs when the objects have been read and before
// those that wait for them go on, so that its own prefetches have started before they are needed;
// that makes the number of requests of an operation depend on its shape alone.
type Reader interface {
	// List reads a page over several clusters.
	List(ctx context.Context, q ListQuery) (*Page, error)
	// PageOf reads the page of one part. The query's own Clusters are ignored.
	PageOf(ctx context.Context, part Part, q ListQuery) (*Page, error)
	// Get reads at least so much of one object. A missing one is a NOT_FOUND.
	Get(ctx context.Context, key Key, detail Detail) (*Object, error)
	// PodsOf reads the pods that an object owns, directly or through a ReplicaSet
	// or a Job, by name.
	PodsOf(ctx context.Context, owner PodOwner) ([]*Object, error)

	// Prefetch starts reading so much of some objects.
	Prefetch(ctx context.Context, keys []Key, detail Detail, then func(map[Key]*Object))
	// PrefetchPages starts reading one page of each part.
	PrefetchPages(ctx context.Context, parts []Part, q ListQuery, then func(map[Part]*Page))
	// PrefetchPods starts reading pods.
	PrefetchPods(ctx context.Context, owners []PodOwner)
}

// Find reads so much of an object that may be missing; nil when it is.
func Find(ctx context.Context, reader Reader, key Key, detail Detail) (*Object, error) {
	o, err := reader.Get(ctx, key, detail)
	if apierror.Is(err, apierror.CodeNotFound) {
		return nil, nil //nolint:nilnil // A missing object is null in the API, not an error.
	}
	return o, err
}

// PodOwner is an object whose pods are wanted.
type PodOwner struct {
	Owner
	Namespace string
	// Detail is how much of the pods: Metadata for what lists of pods show of them, which has no manifest.
	Detail Detail
}
