package passthrough

import (
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/instanceproxy"
)

var errPath = errors.New("not a path of an API")

// parseTarget is the address below an instance's endpoint. Both forms of the path
// are kept, because an escaped slash is part of a name for some proxies beyond.
func parseTarget(escaped, query string) (*url.URL, error) {
	path, err := url.PathUnescape(escaped)
	if err != nil {
		return nil, errPath
	}
	// A proxy that cleans such a path on the way would ask for something else.
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "." || segment == ".." {
			return nil, errPath
		}
	}
	return &url.URL{Path: path, RawPath: escaped, RawQuery: query}, nil
}

// request is the part of a request that its path determines.
type request struct {
	verb string
	// These are words of the caller; see operation.
	group, version, resource, namespace, name, subresource string
}

// verbOf is the verb of a method on instances/proxy.
func verbOf(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return "get"
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		return "delete"
	}
	return "" // No user may.
}

// what reads a path as Kubernetes lays paths out:
//
//	/api/v1/[namespaces/NAMESPACE/]RESOURCE[/NAME[/SUBRESOURCE…]]
//	/apis/GROUP/VERSION/[namespaces/NAMESPACE/]RESOURCE[/NAME[/SUBRESOURCE…]]
func what(method, path string) request {
	is := request{verb: verbOf(method)}
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case parts[0] == "api" && len(parts) > 2:
		is.version, parts = parts[1], parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		is.group, is.version, parts = parts[1], parts[2], parts[3:]
	default:
		return is
	}
	// A Namespace itself has only these subresources; anything else is in it.
	if parts[0] == "namespaces" && len(parts) > 2 && parts[2] != "status" && parts[2] != "finalize" {
		is.namespace, parts = parts[1], parts[2:]
	}
	is.resource = parts[0]
	if len(parts) > 1 {
		is.name = parts[1]
	}
	if len(parts) > 2 {
		is.subresource = parts[2]
	}
	return is
}

// operation names the request for the log. What the instance did not accept may
// be anything, and is not repeated.
func (q request) operation(status int) string {
	if q.resource == "" || status >= http.StatusBadRequest {
		return q.verb
	}
	name := q.verb + " " + q.resource
	if q.group != "" {
		name += "." + q.group
	}
	if q.subresource != "" {
		name += "/" + q.subresource
	}
	return name
}

// lasts reports whether a request is long-running.
func (q request) lasts(r *http.Request) bool {
	query := r.URL.Query()
	return q.upgrade(r) || instanceproxy.IsSet(query, "watch") || instanceproxy.IsSet(query, "follow") || q.subresource == "proxy"
}

// upgrade reports whether a request asks to upgrade its connection.
func (request) upgrade(r *http.Request) bool { return r.Header.Get("Upgrade") != "" }

// protocolToken begins the WebSocket subprotocol that carries a browser's token.
const protocolToken = "base64url.bearer.authorization.k8s.io." //nolint:gosec // It begins a token.

// Credentials finds what a request brought, as an apiserver does: browsers
// can't set headers on a WebSocket, and bring a token as a subprotocol.
func Credentials(r *http.Request) authz.Credentials {
	found := authz.RequestCredentials(r)
	if !found.Empty() {
		return found
	}
	for _, value := range r.Header.Values("Sec-WebSocket-Protocol") {
		for protocol := range strings.SplitSeq(value, ",") {
			encoded, ok := strings.CutPrefix(strings.TrimSpace(protocol), protocolToken)
			if !ok {
				continue
			}
			if token, err := base64.RawURLEncoding.DecodeString(encoded); err == nil {
				return authz.TokenCredentials(string(token))
			}
		}
	}
	return found
}
