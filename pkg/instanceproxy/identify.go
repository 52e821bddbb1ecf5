package instanceproxy

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/connection"
)

const (
	// identifyWithin bounds the request for the identity of a control plane.
	identifyWithin = 3 * time.Second
	// identityBytes and identityLength bound the answer and the UID in it.
	identityBytes, identityLength = 64 << 10, 64
)

// Identify returns the UID of the namespace kube-system of the control plane that a
// connection leads to. It is the same whatever address and credentials are used.
func Identify(ctx context.Context, to connection.Connection, permitted *connection.Addresses) (string, error) {
	client, err := to.HTTPClient(permitted)
	if err != nil {
		return "", err
	}
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, identifyWithin)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, to.Endpoint+"/api/v1/namespaces/"+metav1.NamespaceSystem, http.NoBody)
	if err != nil {
		return "", err
	}
	request.Header.Set("Accept", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	namespace := &metav1.PartialObjectMetadata{}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("read namespace %s: HTTP %d", metav1.NamespaceSystem, response.StatusCode)
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, identityBytes)).Decode(namespace); err != nil {
		return "", err
	}
	if namespace.UID == "" || len(namespace.UID) > identityLength {
		return "", fmt.Errorf("read namespace %s: the answer has no usable UID", metav1.NamespaceSystem)
	}
	return string(namespace.UID), nil
}
