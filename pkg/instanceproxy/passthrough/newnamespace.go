package passthrough

import (
	"bytes"
	"context"
	"io"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/instanceproxy"
)

// longestNamespace bounds how much of an answer is read for the name of a namespace, in
// bytes. An API server stores no object that is longer.
const longestNamespace = 2 << 20

// newNamespace keeps the answer to a request that has made a namespace until the caller's
// rights in it are there: what is sent next is to go into it.
func (c *call) newNamespace(ctx context.Context, response *http.Response, client instanceproxy.Client) error {
	makes := c.what.resource == "namespaces" && c.what.group == "" && c.what.subresource == ""
	if !makes || response.StatusCode != http.StatusCreated || response.Request.URL.Query().Has("dryRun") {
		return nil
	}
	start, err := io.ReadAll(io.LimitReader(response.Body, longestNamespace))
	if err != nil {
		return err
	}
	rest := response.Body
	response.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(start), rest), rest}
	// Some forms of the answer have no name, and some callers get no rights.
	object, _, _ := scheme.Codecs.UniversalDeserializer().Decode(start, nil, nil)
	if made, ok := object.(*corev1.Namespace); ok && c.grant.Can(authz.VerbCreate, made.Name) {
		instanceproxy.RightsCame(ctx, client, made.Name)
	}
	return nil
}
