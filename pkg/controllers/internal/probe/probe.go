// Package probe probes an API server and reports its state as conditions.
package probe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kairship-io/kairship/pkg/connection"
	"github.com/kairship-io/kairship/pkg/controllers/internal/connections"
)

const (
	// maxBody bounds what is read of an answer: the other side is not ours.
	maxBody = 1 << 20
	// maxVersion bounds what an apiserver may call its version.
	maxVersion = 64
)

// Observation is what one look at an apiserver showed.
type Observation struct {
	// Version is what /version says; empty when it was not asked, or Err is set.
	Version string
	// Err is why it does not answer as an apiserver: a transport error, or an *HTTPError.
	Err error
	// Health is why /readyz is not content; nil as well when we may not ask.
	Health error
	// Endpoint and Timeout are for messages.
	Endpoint string
	Timeout  time.Duration
}

// HTTPError is an answer that is not 200.
type HTTPError struct {
	Path   string
	Status int
	Body   []byte
}

func (e *HTTPError) Error() string { return fmt.Sprintf("HTTP %d for %s", e.Status, e.Path) }

// Depth is how much a look asks.
type Depth bool

const (
	// Glance asks /readyz, and more only when that is not content.
	Glance Depth = false
	// Whole asks for everything.
	Whole Depth = true
)

// Prober looks at apiservers.
type Prober struct {
	// Timeout bounds all requests of one look.
	Timeout time.Duration
	// Connections are those to look through.
	Connections *connections.Pool
}

// Look looks at an apiserver. When it answers and is ready, more asks what is
// asked besides, within the same timeout.
func (p *Prober) Look(ctx context.Context, key connections.Key, to connection.Connection, depth Depth, more func(context.Context, Asker)) Observation {
	seen := Observation{Endpoint: to.Endpoint, Timeout: p.Timeout}
	conn, err := p.Connections.Of(key, to)
	if err != nil {
		seen.Err = err
		return seen
	}
	ctx, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	ask := NewAsker(conn)

	_, err = ask.Get(ctx, "/readyz")
	answer, answered := errors.AsType[*HTTPError](err)
	switch {
	case err != nil && (!answered || answer.Status == http.StatusUnauthorized):
		log.FromContext(ctx).V(1).Info("An API server does not answer", "endpoint", to.Endpoint, "cause", err.Error())
		seen.Err = err
		return seen
	case err != nil:
		depth = Whole // The version shows whether a gateway answered or the API server.
		if answer.Status >= http.StatusInternalServerError {
			seen.Health = err
		}
		// Without the permission, or without /readyz, the answer says nothing about the health.
	}
	if depth == Glance {
		return seen
	}
	if seen.Version, seen.Err = ask.version(ctx); seen.Err != nil {
		seen.Health = nil
		return seen
	}
	if seen.Health == nil && more != nil {
		more(ctx, ask)
	}
	return seen
}

// KubeSystemID asks for the UID of the namespace kube-system. It is empty when there
// was no answer that has one. Refused reports that it may not be read.
func KubeSystemID(ctx context.Context, ask Asker) (id string, refused bool) {
	answer, err := ask.Get(ctx, "/api/v1/namespaces/kube-system")
	if err != nil {
		status, answered := errors.AsType[*HTTPError](err)
		return "", answered && status.Status < http.StatusInternalServerError
	}
	namespace := &metav1.PartialObjectMetadata{}
	if json.Unmarshal(answer.Body, namespace) != nil || len(namespace.UID) > maxVersion {
		return "", false
	}
	return string(namespace.UID), false
}

// errNotKubernetes means that something else answers at the endpoint.
var errNotKubernetes = errors.New("what answers is not a Kubernetes apiserver")

// Asker sends single requests to an apiserver.
type Asker struct {
	client   *http.Client
	endpoint string
}

// NewAsker asks through a connection.
func NewAsker(conn *connections.Conn) Asker {
	return Asker{client: conn.HTTP, endpoint: conn.To.Endpoint}
}

// Endpoint is where it asks.
func (a Asker) Endpoint() string { return a.endpoint }

// Answer is an answer of status 2xx.
type Answer struct {
	Body []byte
	// Date is when the other side reports that it answered; zero when it does not say.
	Date time.Time
}

// Get reads a path. Any answer but 2xx is an *HTTPError.
func (a Asker) Get(ctx context.Context, path string) (Answer, error) {
	return a.send(ctx, http.MethodGet, path, http.NoBody)
}

// Post sends a JSON document, with the same errors as Get.
func (a Asker) Post(ctx context.Context, path string, body []byte) (Answer, error) {
	return a.send(ctx, http.MethodPost, path, bytes.NewReader(body))
}

func (a Asker) send(ctx context.Context, method, path string, body io.Reader) (Answer, error) {
	request, err := http.NewRequestWithContext(ctx, method, a.endpoint+path, body)
	if err != nil {
		return Answer{}, err
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", connections.UserAgent)
	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := a.client.Do(request)
	if err != nil {
		return Answer{}, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(io.LimitReader(response.Body, maxBody))
	if err != nil {
		return Answer{}, err
	}
	if response.StatusCode < http.StatusOK || response.StatusCode >= http.StatusMultipleChoices {
		path, _, _ = strings.Cut(path, "?")
		return Answer{}, &HTTPError{Path: path, Status: response.StatusCode, Body: content}
	}
	date, err := http.ParseTime(response.Header.Get("Date"))
	if err != nil {
		date = time.Time{}
	}
	return Answer{Body: content, Date: date}, nil
}

func (a Asker) version(ctx context.Context) (string, error) {
	answer, err := a.Get(ctx, "/version")
	if err != nil {
		return "", err
	}
	info := version.Info{}
	if json.Unmarshal(answer.Body, &info) != nil || info.GitVersion == "" || len(info.GitVersion) > maxVersion {
		return "", errNotKubernetes
	}
	return info.GitVersion, nil
}
