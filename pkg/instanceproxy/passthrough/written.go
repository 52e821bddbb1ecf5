package passthrough

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"sync"

	"github.com/kairship-io/kairship/pkg/apierror"
)

// Written is what a user changed in an instance, or tried to change.
type Written struct {
	// User is who sent the request, As whom it was sent for: the same, unless impersonated.
	User, As string
	Instance string
	// Verb is CREATE, UPDATE, PATCH, APPLY or DELETE, as the history names them.
	Verb string
	// Name is empty for what the path does not name: the name of what is created is in the body, and a collection
	// that is deleted has many.
	Group, Version, Resource, Namespace, Name string
	// Code says why it was not done; empty where it was.
	Code apierror.Code
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

// written is what a call changed or tried to change; nil for nothing. The status is no change that a user makes,
// and neither is a review or a Lease. Of an instance that the caller may not see, there is nothing.
func (c *call) written(r *http.Request, status int) *Written {
	q := &c.what
	if !c.visible || q.resource == "" || q.subresource != "" && q.subresource != "scale" || slices.Contains(unrecorded, q.group) || isDryRun(c.target) {
		return nil
	}
	w := &Written{
		User: c.caller.Name, As: c.as.Name, Instance: c.instance,
		Group: q.group, Version: q.version, Resource: q.resource, Namespace: q.namespace, Name: q.name,
	}
	w.Code = codeOf(status)
	switch r.Method {
	case http.MethodPost:
		w.Verb = "CREATE"
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

// unrecorded are the groups of kinds that hold no state of users: reviews and Leases.
var unrecorded = []string{"authentication.k8s.io", "authorization.k8s.io", "coordination.k8s.io"}

// codeOf is the code for the status of an answer; empty for success.
func codeOf(status int) apierror.Code {
	switch {
	case status >= http.StatusOK && status < http.StatusMultipleChoices:
		return ""
	case status == http.StatusForbidden:
		return apierror.CodeForbidden
	case status == http.StatusNotFound:
		return apierror.CodeNotFound
	case status == http.StatusConflict:
		return apierror.CodeConflict
	case status == http.StatusTooManyRequests:
		return apierror.CodeRateLimited
	case status == http.StatusGatewayTimeout:
		return apierror.CodeTimeout
	case status >= http.StatusInternalServerError:
		return apierror.CodeInstanceUnavailable
	}
	return apierror.CodeInvalid
}

// isDryRun reports whether nothing is to be stored. A DELETE may say so in its body alone, which is not read here.
func isDryRun(target *url.URL) bool { return target.Query().Has("dryRun") }
