package passthrough

import (
	"context"
	"net/http"
	"net/url"
	"sync"
)

// Written is what a user changed in an instance.
type Written struct {
	// User is who sent the request, As whom it was sent for: the same, unless impersonated.
	User, As string
	Instance string
	// Verb is UPDATE, PATCH, APPLY or DELETE, as the history names them.
	Verb                                      string
	Group, Version, Resource, Namespace, Name string
}

// History keeps who wrote what. Its errors are its own: the write was made.
type History interface {
	RecordNative(ctx context.Context, w *Written)
}

// maxRecording is how many writes may wait for their entries. Beyond, requests wait themselves.
const maxRecording = 256

// recording adds writes to the history behind the requests that made them, as the audit's lines are written.
type recording struct {
	history History
	pending sync.WaitGroup
	free    chan struct{}
}

func newRecording(history History) *recording {
	return &recording{history: history, free: make(chan struct{}, maxRecording)}
}

func (r *recording) add(ctx context.Context, w *Written) {
	if r.history == nil || w == nil {
		return
	}
	ctx = context.WithoutCancel(ctx) // The write was made, also for a caller who has left.
	r.free <- struct{}{}
	r.pending.Go(func() {
		defer func() { <-r.free }()
		r.history.RecordNative(ctx, w)
	})
}

// written is what a call changed; nil for nothing, or for what its path does not name: the name of what was created
// is in the answer, and a collection that was deleted has many. The status is no change that a user makes.
func (c *call) written(r *http.Request, status int) *Written {
	q := &c.what
	if status < http.StatusOK || status >= http.StatusMultipleChoices || q.name == "" || q.subresource != "" && q.subresource != "scale" || isDryRun(c.target) {
		return nil
	}
	w := &Written{
		User: c.caller.Name, As: c.as.Name, Instance: c.instance,
		Group: q.group, Version: q.version, Resource: q.resource, Namespace: q.namespace, Name: q.name,
	}
	switch r.Method {
	case http.MethodPut:
		w.Verb = "UPDATE"
	case http.MethodPatch:
		w.Verb = "PATCH"
		if r.Header.Get("Content-Type") == "application/apply-patch+yaml" {
			w.Verb = "APPLY"
		}
	case http.MethodDelete:
		w.Verb = "DELETE"
	default:
		return nil
	}
	return w
}

// isDryRun reports whether nothing is to be stored. A DELETE may say so in its body alone, which is not read here.
func isDryRun(target *url.URL) bool { return target.Query().Has("dryRun") }
