package index

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// objectEndpoint is the path of the index's endpoint for one object, below its root.
func objectEndpoint(k Key) string {
	path := "/resources/clusters/" + url.PathEscape(k.Cluster)
	if k.Type.Group == "" {
		path += "/api/" + k.Type.Version
	} else {
		path += "/apis/" + k.Type.Group + "/" + k.Type.Version
	}
	if k.Namespace != "" {
		path += "/namespaces/" + url.PathEscape(k.Namespace)
	}
	return path + "/" + k.Type.Resource + "/" + url.PathEscape(k.Name)
}

// getOne reads one object from its own endpoint, which is cheaper than a list of
// one, where that shows as much. It is not found out when the index does not
// say: a cluster or a kind that it has no endpoint for is left to lists.
func (c *Client) getOne(ctx context.Context, k Key, detail Detail) (o *Object, foundOut bool, err error) {
	if !c.hasEndpoint(k.Type, detail) || k.Name == "" {
		return nil, false, nil
	}
	body, err := c.getFrom(ctx, objectEndpoint(k), nil)
	switch status := statusOf(err); {
	case err == nil:
	case status == 0:
		return nil, false, err
	default:
		return nil, status == http.StatusNotFound && missing(err, k), nil
	}
	if !k.Type.builtIn() {
		detail = Whole
	}
	if o, err = decodeOne(body, detail); err != nil {
		return nil, false, err
	}
	if o.Cluster != k.Cluster || o.Meta.Namespace != k.Namespace || o.Meta.Name != k.Name {
		return nil, false, nil
	}
	return o, true, nil
}

// missing tells that a 404 is about the object, and not about its kind.
func missing(err error, k Key) bool {
	e, ok := errors.AsType[*statusError](err)
	if !ok {
		return false
	}
	var status metav1.Status
	return json.Unmarshal(e.body, &status) == nil && status.Reason == metav1.StatusReasonNotFound &&
		status.Details != nil && status.Details.Name == k.Name && status.Details.Kind == k.Type.Resource
}
