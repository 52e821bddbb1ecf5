package faults

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"
)

// answerWithin is how long a client waits for an answer while a part is stopped.
const answerWithin = 2 * time.Second

// attempts are how often an answer may be late without a fault. The machine
// that the tests run on has other work too, which delays an answer now and then;
// what waits for a part that is stopped delays every one.
const attempts = 3

// impatient sends requests, and gives up on an answer after answerWithin.
type impatient struct{ t *testing.T }

func (i impatient) RoundTrip(req *http.Request) (*http.Response, error) {
	var late error
	for range attempts {
		ctx, cancel := context.WithTimeout(req.Context(), answerWithin)
		resp, err := once(req.Clone(ctx))
		cancel()
		if err == nil || req.Context().Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return resp, err
		}
		late = err
		i.t.Logf("no answer within %s", answerWithin)
	}
	return nil, late
}

// once sends a request and waits for all of its answer.
func once(req *http.Request) (*http.Response, error) {
	if req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			return nil, err
		}
		req.Body = body
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, err
}
