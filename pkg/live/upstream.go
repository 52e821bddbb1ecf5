package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/instanceproxy"
)

var (
	// errExpired: the cluster no longer has the version that was asked for.
	errExpired = errors.New("the cluster no longer has this version")
	// errNoWatchList: the cluster can't begin a watch with what is there.
	errNoWatchList = errors.New("the cluster does not begin a watch with a list")
	// errNotServed: the cluster does not have the resource, or can't watch it.
	errNotServed = errors.New("the cluster does not serve this resource")
	// errOtherHistory: the cluster is not yet at a version that it was at before.
	errOtherHistory = errors.New("the cluster has another history")
)

// upstream is a source as its cluster serves it.
type upstream interface {
	// list reads everything as it was at a version; 0 is now.
	list(ctx context.Context, version uint64) (*listing, error)
	// watch says what changes after a version; with 0 it begins with what is there.
	watch(ctx context.Context, version uint64) (watcher, error)
	// latest is the version that the resource is at.
	latest(ctx context.Context) (uint64, error)
	// epoch distinguishes a cluster from another one that replaced it.
	epoch(ctx context.Context) (uint32, error)
}

// watcher is one watch.
type watcher interface {
	// next waits for a frame. io.EOF is the regular end.
	next() (frame, error)
	close()
}

const (
	// pageSize is how many objects are listed in one request.
	pageSize = 1000
	// watchSeconds is how long a watch lasts at least until its cluster ends it; so
	// that not all end at once, it is up to twice as long.
	watchSeconds = 600
)

// remote is the upstream over HTTP.
type remote struct {
	decoder
	// reach finds what sends requests: it may be another one later.
	reach func(ctx context.Context) (http.RoundTripper, error)
}

var _ upstream = (*remote)(nil)

func (r *remote) path() string {
	g := r.source.Resource
	if g.Group == "" {
		return "/api/" + g.Version + "/" + g.Resource
	}
	return "/apis/" + g.Group + "/" + g.Version + "/" + g.Resource
}

// accept returns the form in which the cluster answers a request of a path.
func (r *remote) accept(path string, query url.Values) string {
	switch {
	case !r.source.MetadataOnly || path != r.path():
		return "application/json"
	case query.Has("watch"):
		return "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	}
	return "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
}

// get sends a request. Anything but 200 is an error.
func (r *remote) get(ctx context.Context, path string, query url.Values) (io.ReadCloser, error) {
	transport, err := r.reach(ctx)
	if err != nil {
		return nil, err
	}
	address := url.URL{Scheme: "https", Host: "cluster", Path: path, RawQuery: query.Encode()}
	request, err := http.NewRequestWithContext(instanceproxy.AsKairship(ctx), http.MethodGet, address.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", r.accept(path, query))
	response, err := transport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode == http.StatusOK {
		return response.Body, nil
	}
	defer response.Body.Close()
	const enough = 64 << 10
	body, err := io.ReadAll(io.LimitReader(response.Body, enough))
	if err != nil {
		return nil, err
	}
	var status metav1.Status
	if json.Unmarshal(body, &status) != nil {
		status = metav1.Status{}
	}
	return nil, answered(response.StatusCode, &status)
}

// answered is the error of an answer that is none.
func answered(code int, status *metav1.Status) error {
	err := error(&apierrors.StatusError{ErrStatus: *status})
	if status.Message == "" {
		err = fmt.Errorf("the cluster answered %d", code)
	}
	switch code {
	case http.StatusGone:
		return fmt.Errorf("%w: %w", errExpired, err)
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return fmt.Errorf("%w: %w", errNotServed, err)
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return fmt.Errorf("%w: %w", errNoWatchList, err)
	}
	if apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
		return fmt.Errorf("%w: %w", errOtherHistory, err)
	}
	return err
}

func (r *remote) list(ctx context.Context, version uint64) (*listing, error) {
	l := &listing{objects: map[Key]*Object{}}
	query := url.Values{"limit": {strconv.Itoa(pageSize)}}
	if version > 0 {
		query.Set("resourceVersion", strconv.FormatUint(version, 10))
		query.Set("resourceVersionMatch", string(metav1.ResourceVersionMatchExact))
	}
	for {
		body, err := r.get(ctx, r.path(), query)
		if err != nil {
			return nil, err
		}
		raw, err := io.ReadAll(body)
		body.Close()
		if err != nil {
			return nil, err
		}
		next, err := r.page(raw, l)
		if err != nil {
			return nil, err
		}
		if next == "" {
			return l, nil
		}
		query = url.Values{"limit": {strconv.Itoa(pageSize)}, "continue": {next}}
	}
}

func (r *remote) latest(ctx context.Context) (uint64, error) {
	body, err := r.get(ctx, r.path(), url.Values{"limit": {"1"}})
	if err != nil {
		return 0, err
	}
	defer body.Close()
	raw, err := io.ReadAll(body)
	if err != nil {
		return 0, err
	}
	l := &listing{objects: map[Key]*Object{}}
	_, err = r.page(raw, l)
	return l.version, err
}

// epoch is derived from the UID of a namespace that every cluster has and keeps. Clusters that hide
// it can't be distinguished.
func (r *remote) epoch(ctx context.Context) (uint32, error) {
	body, err := r.get(ctx, "/api/v1/namespaces/"+metav1.NamespaceSystem, nil)
	switch {
	case errors.Is(err, errNotServed) || apierrors.IsForbidden(err):
		return 0, nil
	case err != nil:
		return 0, err
	}
	defer body.Close()
	var namespace metav1.PartialObjectMetadata
	if err := json.NewDecoder(body).Decode(&namespace); err != nil {
		return 0, err
	}
	h := fnv.New32a()
	io.WriteString(h, string(namespace.UID)) //nolint:errcheck // A hash does not fail.
	return h.Sum32(), nil
}

func (r *remote) watch(ctx context.Context, version uint64) (watcher, error) {
	query := url.Values{
		"watch":               {"true"},
		"allowWatchBookmarks": {"true"},
		"timeoutSeconds":      {strconv.Itoa(watchSeconds + rand.IntN(watchSeconds))}, //nolint:gosec // It spreads load.
	}
	if version > 0 {
		query.Set("resourceVersion", strconv.FormatUint(version, 10))
	} else {
		query.Set("sendInitialEvents", "true")
		query.Set("resourceVersionMatch", string(metav1.ResourceVersionMatchNotOlderThan))
	}
	ctx, cancel := context.WithCancel(ctx)
	body, err := r.get(ctx, r.path(), query)
	if err != nil {
		cancel()
		return nil, err
	}
	return &remoteWatch{decoder: &r.decoder, cancel: cancel, body: body, frames: jsontext.NewDecoder(body, lenient)}, nil
}

type remoteWatch struct {
	decoder *decoder
	cancel  context.CancelFunc
	body    io.Closer
	frames  *jsontext.Decoder
}

func (w *remoteWatch) next() (frame, error) {
	raw, err := w.frames.ReadValue()
	if err != nil {
		return frame{}, err
	}
	return w.decoder.frameOf(raw)
}

func (w *remoteWatch) close() {
	w.cancel()
	w.body.Close()
}

// explain makes an error of a source presentable: it names no endpoint.
func explain(s Source, err error) error {
	var shown *apierror.Error
	switch {
	case errors.As(err, &shown):
		return err
	case errors.Is(err, errNotServed):
		err = apierror.Wrap(err, apierror.CodeNotFound, "%s cannot be watched: they are not served", s)
	case errors.Is(err, errVersion):
		err = apierror.Wrap(err, apierror.CodeInvalid, "%s cannot be watched: their versions cannot be compared", s)
	case s.Instance == "":
		err = apierror.Wrap(err, apierror.CodeTimeout, "the global cluster does not answer about %s", s.Resource.Resource)
	default:
		err = apierror.Wrap(err, apierror.CodeInstanceUnavailable, "instance %q does not answer about %s", s.Instance, s.Resource.Resource)
	}
	return apierror.In(err, s.Instance)
}
