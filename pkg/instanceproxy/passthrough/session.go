package passthrough

import (
	"net/http"
	"slices"
	"strings"

	"github.com/kairship-io/kairship/pkg/audit"
	"github.com/kairship-io/kairship/pkg/instanceproxy"
)

// Sessions run commands in containers, attach to them or forward ports. They can change anything there,
// and a WebSocket is opened by GET, so they take the verb create whatever their method.

// sessions are the subresources of pods that begin one.
var sessions = []string{"exec", "attach", "portforward"}

// isSession reports whether a request begins a session, or may: through a proxy anything can follow an
// upgrade. A watch and a followed log over a WebSocket are none.
func (c *call) isSession(r *http.Request) bool {
	if !c.what.upgrade(r) {
		return false
	}
	segments := segmentsOf(c.target.Path)
	if slices.ContainsFunc(segments, func(s string) bool { return slices.Contains(sessions, s) }) {
		return true
	}
	query := r.URL.Query()
	return !instanceproxy.IsSet(query, "watch") && (len(segments) == 0 || segments[len(segments)-1] != "log")
}

func segmentsOf(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}

// verbOf is the verb that a request takes on instances/proxy.
func (c *call) verbOf(r *http.Request) string {
	if c.isSession(r) {
		return "create"
	}
	return verbOf(r.Method)
}

const (
	// mostWords and mostBytes limit what the audit has of a command.
	mostWords, mostBytes = 100, 4 << 10
)

// execOf returns what an exec runs, and where; nil for other requests.
func (c *call) execOf(r *http.Request) *audit.Exec {
	path, member := segmentsOf(c.target.Path), ""
	// What Karmada's proxy forwards is below it. The last one counts: proxies may be below proxies.
	for i, s := range path {
		if s == "proxy" && i+1 < len(path) && (path[i+1] == "api" || path[i+1] == "apis") {
			if i > 1 && path[i-2] == "clusters" {
				member = path[i-1]
			}
			path = path[i+1:]
			break
		}
	}
	q := what(r.Method, strings.Join(path, "/"))
	if q.group != "" || q.resource != "pods" || q.subresource != "exec" {
		return nil
	}
	query := r.URL.Query()
	run := &audit.Exec{Cluster: member, Namespace: q.namespace, Pod: q.name, Container: query.Get("container"), Command: []string{}}
	left := mostBytes
	for i, word := range query["command"] {
		if i >= mostWords || len(word) > left {
			run.Truncated = true
			break
		}
		left -= len(word)
		run.Command = append(run.Command, word)
	}
	return run
}

// begun writes the line about the beginning of a session, once it was accepted.
func (c *call) begun(r *http.Request, record *audit.Record) {
	if c.exec == nil {
		return
	}
	c.handler.auditQueue.add(entry{r.Context(), record, audit.Operation{
		User: c.caller.Name, Via: "passthrough", Name: c.operation(http.StatusSwitchingProtocols), Type: r.Method,
		Status: http.StatusSwitchingProtocols, Exec: c.exec, Stream: &audit.Stream{Phase: audit.Begin},
	}})
}

// end is how a session ended, for the audit; nil where there was none.
func (c *call) end() *audit.Stream {
	if c.exec == nil {
		return nil
	}
	reason := "COMPLETED"
	if ended := c.ended.Load(); ended != nil {
		reason = string(ended.Code)
	} else if c.handler.Stopping.Err() != nil {
		reason = "SERVER_STOPPING"
	}
	return &audit.Stream{Phase: audit.End, Reason: reason}
}
