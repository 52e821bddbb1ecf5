package clusters

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/connection"
	"github.com/kairship-io/kairship/pkg/fleet/collection"
)

const (
	// tryWithin bounds all requests of one try.
	tryWithin = 10 * time.Second
	// answerBytes bounds what is read of one answer.
	answerBytes = 1 << 20
	// reviewsAtOnce is how many rights are asked about at the same time.
	reviewsAtOnce = 8
)

// Found is what a try of credentials showed.
type Found struct {
	// KubeSystemID is the UID of the namespace kube-system, by which the cluster is known.
	KubeSystemID string
	// MayJoin reports whether the credentials may do everything, which joining the cluster takes.
	MayJoin bool
	// Missing are the rights that collecting takes and the credentials do not have, as a person writes them.
	Missing []string
}

// right is a right in the cluster.
type right struct{ verb, group, resource string }

func (r right) String() string {
	if r.group == "" {
		return r.verb + " " + r.resource
	}
	return r.verb + " " + r.resource + "." + r.group
}

// everything is the right to do everything.
var everything = right{"*", "*", "*"}

// collecting are the rights that collecting takes, in order.
func collecting() []right {
	var all []right
	for _, kinds := range collection.OfMembers() {
		for _, resource := range kinds.Resources {
			all = append(all, right{"list", kinds.Group, resource}, right{"watch", kinds.Group, resource})
		}
	}
	slices.SortFunc(all, func(a, b right) int { return strings.Compare(a.String(), b.String()) })
	return all
}

// statusError is an answer other than success.
type statusError struct{ status int }

func (e *statusError) Error() string { return fmt.Sprintf("HTTP %d", e.status) }

// errNotKubernetes means that an answer is none of an API server.
var errNotKubernetes = errors.New("the answer is not that of an API server")

// Try connects to a cluster, and finds which one it is and what the credentials may do there. It connects to permitted
// addresses only. Its errors are made by refusal for callers.
func Try(ctx context.Context, to connection.Connection, permitted *connection.Addresses) (*Found, error) {
	client, err := to.HTTPClient(permitted)
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, tryWithin)
	defer cancel()
	t := &trial{client: client, endpoint: to.Endpoint}
	system := &metav1.PartialObjectMetadata{}
	if err := t.send(ctx, http.MethodGet, "/api/v1/namespaces/"+metav1.NamespaceSystem, nil, system); err != nil {
		return nil, err
	}
	const longestID = 128
	if system.Kind != "Namespace" || system.UID == "" || len(system.UID) > longestID {
		return nil, errNotKubernetes
	}
	found := &Found{KubeSystemID: string(system.UID)}
	if found.MayJoin, err = t.allowed(ctx, everything); err != nil || found.MayJoin {
		return found, err
	}
	found.Missing, err = t.missing(ctx, collecting())
	return found, err
}

// trial sends the requests of one try.
type trial struct {
	client   *http.Client
	endpoint string
}

// missing are those of some rights that the credentials do not have.
func (t *trial) missing(ctx context.Context, rights []right) ([]string, error) {
	has := make([]bool, len(rights))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(reviewsAtOnce)
	for i := range rights {
		g.Go(func() (err error) {
			has[i], err = t.allowed(ctx, rights[i])
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	var missing []string
	for i, r := range rights {
		if !has[i] {
			missing = append(missing, r.String())
		}
	}
	return missing, nil
}

// allowed asks the cluster whether the credentials have a right.
func (t *trial) allowed(ctx context.Context, r right) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{
		TypeMeta: metav1.TypeMeta{APIVersion: authorizationv1.SchemeGroupVersion.String(), Kind: "SelfSubjectAccessReview"},
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: r.verb, Group: r.group, Resource: r.resource},
		},
	}
	body, err := json.Marshal(review)
	if err != nil {
		return false, err
	}
	answer := &authorizationv1.SelfSubjectAccessReview{}
	err = t.send(ctx, http.MethodPost, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body, answer)
	return err == nil && answer.Status.Allowed && !answer.Status.Denied, err
}

// send sends a request, and reads the JSON of its answer.
func (t *trial) send(ctx context.Context, method, path string, body []byte, into any) error {
	request, err := http.NewRequestWithContext(ctx, method, t.endpoint+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("Content-Type", "application/json")
	response, err := t.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusCreated {
		return &statusError{response.StatusCode}
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, answerBytes)).Decode(into); err != nil {
		return fmt.Errorf("%w: %w", errNotKubernetes, err)
	}
	return nil
}

// refusal is the error for a person of a try that failed, at the input with the credentials. It says no more about the
// network than that there is no answer: users who choose an endpoint could otherwise explore it.
func refusal(err error, endpoint, argument string) error {
	if answer, ok := errors.AsType[*statusError](err); ok {
		switch answer.status {
		case http.StatusUnauthorized:
			return apierror.Invalid(argument, "%s does not accept these credentials (HTTP 401): they are wrong, or have expired. Nothing was stored; send valid ones", endpoint)
		case http.StatusForbidden:
			return apierror.Invalid(argument, "%s accepts the credentials, and they may not get the namespace %s, by which Kairship knows the cluster (HTTP 403): give them that right", endpoint, metav1.NamespaceSystem)
		}
		return apierror.Invalid("input.apiEndpoint", "%s answers with HTTP %d, not as an API server: correct the endpoint", endpoint, answer.status)
	}
	var (
		alert    *net.OpError
		unknown  x509.UnknownAuthorityError
		wrong    x509.HostnameError
		unusable *tls.CertificateVerificationError
	)
	switch {
	case errors.Is(err, connection.ErrAddress):
		return apierror.Invalid("input.apiEndpoint", "Kairship does not connect to %s, because %s: an administrator of Kairship opens ranges with --open-address-ranges", endpoint, connection.ErrAddress)
	case errors.As(err, &alert) && alert.Op == "remote error":
		return apierror.Invalid(argument, "%s does not accept the client certificate: send a valid one", endpoint)
	case errors.As(err, &unknown):
		return apierror.Invalid(argument, "the serving certificate of %s is signed by an unknown authority: send its CA, as certificateAuthority or in the kubeconfig", endpoint)
	case errors.As(err, &wrong), errors.As(err, &unusable):
		return apierror.Invalid(argument, "the serving certificate of %s is not for this host, or not valid now: correct the endpoint, the CA or the certificate", endpoint)
	case errors.Is(err, errNotKubernetes):
		return apierror.Invalid("input.apiEndpoint", "%s does not answer as an API server: correct the endpoint", endpoint)
	}
	return apierror.Invalid("input.apiEndpoint", "%s does not answer within %s: see whether its name, address and port are right, whether it runs, and whether Kairship may connect to it", endpoint, tryWithin)
}

// lacking is the error for credentials that may not do what collecting takes.
func lacking(missing []string, argument string) error {
	const most = 5
	if len(missing) > most {
		missing = append(slices.Clone(missing[:most]), fmt.Sprintf("%d more", len(missing)-most))
	}
	return apierror.Invalid(argument, "the credentials may not %s in the cluster, which Kairship needs to show it: give them these rights, such as by the ClusterRole view and one for nodes, or send others",
		strings.Join(missing, ", "))
}
