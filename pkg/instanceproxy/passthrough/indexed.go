package passthrough

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/pkg/apierror"
)

// How a caller asks for an answer from the index.
const (
	sourceHeader    = "Kairship-Source"
	sourceParameter = "source"
	sourceIndex     = "index"
)

// Index answers reads without asking the instance. The answers are written as
// JSON, with the headers beside them. Errors are *apierror.Error.
type Index interface {
	// Has reports whether the index collects the objects of a kind.
	Has(ctx context.Context, instance string, of schema.GroupVersionResource) (bool, error)
	Get(ctx context.Context, instance string, of schema.GroupVersionResource, namespace, name string) (any, map[string]string, error)
	List(ctx context.Context, instance string, of schema.GroupVersionResource, namespace string, query url.Values) (any, map[string]string, error)
}

// wantsIndex reports whether the index is to answer a request, and removes the parameter from the
// query. A client may send the header with every request, so it applies to reads of objects only;
// the parameter applies to this very request.
func (c *call) wantsIndex(r *http.Request) (bool, error) {
	readable := c.what.readable(r)
	named := false
	if query := c.target.Query(); query.Has(sourceParameter) {
		named = query.Get(sourceParameter) == sourceIndex
		if named {
			query.Del(sourceParameter)
			c.target.RawQuery = query.Encode()
		}
	}
	switch {
	case named && !readable:
		return false, apierror.Invalid(sourceParameter, "the index answers get and list of objects; leave the parameter out")
	case named || (readable && strings.EqualFold(r.Header.Get(sourceHeader), sourceIndex)):
		if c.handler.Index == nil {
			return false, apierror.Invalid(sourceParameter, "there is no index here; leave the parameter and the header out")
		}
		has, err := c.handler.Index.Has(r.Context(), c.instance, c.what.kind())
		if err == nil && !has && named {
			err = apierror.Invalid(sourceParameter, "the index does not collect %q from instance %q; leave the parameter out to ask the instance", c.what.resource, c.instance)
		}
		return has, err
	}
	return false, nil
}

// kind is the kind of the objects that are asked for.
func (q request) kind() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: q.group, Version: q.version, Resource: q.resource}
}

// readable reports whether a request is a get or list of objects.
func (q request) readable(r *http.Request) bool {
	return r.Method == http.MethodGet && q.resource != "" && q.subresource == "" && !q.lasts(r)
}

// indexed answers from the index.
func (c *call) indexed(w http.ResponseWriter, r *http.Request) {
	of := c.what.kind()
	var answer any
	var headers map[string]string
	var err error
	if c.what.name != "" {
		answer, headers, err = c.handler.Index.Get(r.Context(), c.instance, of, c.what.namespace, c.what.name)
	} else {
		answer, headers, err = c.handler.Index.List(r.Context(), c.instance, of, c.what.namespace, c.target.Query())
	}
	if err != nil {
		c.fail(w, r, err)
		return
	}
	body, err := json.Marshal(answer)
	if err != nil {
		c.fail(w, r, apierror.Wrap(err, apierror.CodeInternal, "internal error"))
		return
	}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		w.Header().Set(name, headers[name])
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-cache, private")
	w.Write(append(body, '\n')) //nolint:errcheck // The caller went away.
}
