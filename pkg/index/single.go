package index

import (
	"context"
	"net/url"
	"strings"
)

// getOne reads one object from the endpoint of its kind, which is cheaper than a list
// of one of all kinds, where that shows as much. It is not found out when the index does
// not say: a kind that it has no endpoint for is left to lists. (An object has an
// endpoint too, below its cluster, which no role can allow beforehand for any cluster.)
func (c *Client) getOne(ctx context.Context, k Key, detail Detail) (o *Object, foundOut bool, err error) {
	// A comma is between two names.
	if !c.hasEndpoint(k.Type, detail) || k.Name == "" || strings.Contains(k.Cluster+k.Namespace+k.Name, ",") {
		return nil, false, nil
	}
	params := url.Values{"clusters": {k.Cluster}, "names": {k.Name}, "limit": {"2"}}
	if k.Namespace != "" {
		params.Set("namespaces", k.Namespace)
	}
	body, err := c.getFrom(ctx, kindEndpoint(k.Type), params)
	switch status := statusOf(err); {
	case err == nil:
	case status == 0:
		return nil, false, err
	default:
		return nil, false, nil
	}
	if !k.Type.builtIn() {
		detail = Whole
	}
	objects, _, err := decodeAnswer(body, detail, k.Type)
	if err != nil {
		return nil, false, err
	}
	if len(objects) == 0 {
		return nil, true, nil
	}
	o = objects[0]
	if len(objects) > 1 || o.Cluster != k.Cluster || o.Meta.Namespace != k.Namespace || o.Meta.Name != k.Name {
		return nil, false, nil
	}
	return o, true, nil
}
