package index

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Detail is how much of an object is read. Less is cheaper, for the index most
// of all: it decodes and encodes whatever it answers with.
type Detail int

const (
	// Whole is all that the cluster said.
	Whole Detail = iota
	// Known is what the index's own version of Kubernetes knows. Fields of built-in
	// kinds that are newer than the index are missing from it, so it is good for
	// computing and not for showing a manifest.
	Known
	// Metadata is nothing but the metadata.
	Metadata
)

// kindEndpoint is the path of the index's endpoint for one kind, below its root.
// It costs the index about a third less than the collection of all kinds.
func kindEndpoint(t Type) string {
	if t.Group == "" {
		return "/resources/api/" + t.Version + "/" + t.Resource
	}
	return "/resources/apis/" + t.Group + "/" + t.Version + "/" + t.Resource
}

// endpointGroups are the groups whose kinds are read from endpoints of their own. The
// index takes a group for a subresource, so that no role can allow all of them without
// a wildcard: Kairship's names these (cmd/apiserver/rbac.go), the groups of what it
// reads most. Kinds of any other are read from the collection of all kinds.
var endpointGroups = map[string]bool{
	"": true, "apps": true,
	MemberClusters.Group: true, PropagationPolicies.Group: true, Works.Group: true,
}

// builtIn reports whether the index decodes objects of the type into Go types of its
// own: those of Kubernetes' groups. Custom resources pass through it untouched.
func (t Type) builtIn() bool {
	return !strings.Contains(t.Group, ".") || strings.HasSuffix(t.Group, ".k8s.io")
}

// listOne lists objects of one type at the given detail, from the type's own
// endpoint where that shows as much.
func (c *Client) listOne(ctx context.Context, t Type, detail Detail, params url.Values) ([]*Object, *int64, error) {
	if detail == Metadata {
		params.Set("onlyMetadata", "true")
	}
	if !c.hasEndpoint(t, detail) {
		return c.list(ctx, params)
	}
	own := cloneValues(params)
	own.Del("resources")
	own.Del("groups")
	body, err := c.getFrom(ctx, kindEndpoint(t), own)
	if statusOf(err) == http.StatusNotFound {
		// No cluster has this kind, or the index collects it in no cluster. The
		// collection of all kinds answers with an empty list then.
		c.uncollected.add(t, c.now())
		return c.list(ctx, params)
	}
	if err != nil {
		return nil, nil, err
	}
	if !t.builtIn() {
		detail = Whole
	}
	return decodeAnswer(body, detail, t)
}

// hasEndpoint reports whether the index has endpoints for the type which show it in
// this detail, and cost less than the collection of all kinds.
func (c *Client) hasEndpoint(t Type, detail Detail) bool {
	return endpointGroups[t.Group] && (t.Group != "" || t.Version == "v1") &&
		detail != Metadata && (detail != Whole || !t.builtIn()) && !c.uncollected.has(t, c.now())
}

// uncollected remembers for a while which kinds have no endpoint of their own.
type uncollected struct {
	mu    sync.Mutex
	until map[Type]time.Time
}

func (u *uncollected) has(t Type, now time.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return now.Before(u.until[t])
}

func (u *uncollected) add(t Type, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	// Callers may name any kind, so there must be an end to what is remembered.
	const most = 1000
	if u.until == nil || len(u.until) >= most {
		u.until = map[Type]time.Time{}
	}
	u.until[t] = now.Add(capabilityTTL)
}
