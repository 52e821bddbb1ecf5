package gql

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Stream is a subscription that is read as server-sent events.
type Stream struct {
	events chan *StreamEvent
	cancel context.CancelFunc
}

// StreamEvent is what a subscription said.
type StreamEvent struct {
	// Complete: the server ended the subscription, and this is the last event.
	Complete bool
	// Lost: the connection ended without that.
	Lost   error
	Data   json.RawMessage
	Errors []Error
}

// Subscribe begins a subscription. It fails when the server answers with anything but
// a stream; a refusal is the result then.
func (c *Client) Subscribe(ctx context.Context, r Request) (*Stream, *Result, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL, bytes.NewReader(body))
	if err != nil {
		cancel()
		return nil, nil, err
	}
	req.Header.Set("Content-Type", JSON)
	req.Header.Set("Accept", "text/event-stream")
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	if c.Consistency != "" {
		req.Header.Set("Kairship-Consistency-Token", c.Consistency)
	}
	// Streams last; the client's own limit is for answers.
	resp, err := (&http.Client{Transport: c.HTTP.Transport}).Do(req)
	if err != nil {
		cancel()
		return nil, nil, err
	}
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		defer cancel()
		defer func() { _ = resp.Body.Close() }()
		raw, err := io.ReadAll(resp.Body)
		if err != nil {
			return nil, nil, err
		}
		refused := &Result{Status: resp.StatusCode, Body: raw}
		var parsed struct {
			Errors []Error `json:"errors"`
		}
		if err := json.Unmarshal(raw, &parsed); err != nil {
			return nil, nil, fmt.Errorf("HTTP %d is no GraphQL response: %w: %.300s", resp.StatusCode, err, raw)
		}
		refused.Errors = parsed.Errors
		return nil, refused, nil
	}
	s := &Stream{events: make(chan *StreamEvent, 1000), cancel: cancel}
	go s.read(resp.Body)
	return s, nil, nil
}

// read reads events until the end.
func (s *Stream) read(body io.ReadCloser) {
	defer close(s.events)
	defer func() { _ = body.Close() }()
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 64<<20)
	var name string
	var data []byte
	for lines.Scan() {
		line := lines.Text()
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "" && name == "complete":
			s.events <- &StreamEvent{Complete: true}
			return
		case line == "" && name == "next":
			var e struct {
				Data   json.RawMessage `json:"data"`
				Errors []Error         `json:"errors"`
			}
			if err := json.Unmarshal(data, &e); err != nil {
				s.events <- &StreamEvent{Lost: err}
				return
			}
			s.events <- &StreamEvent{Data: e.Data, Errors: e.Errors}
			name, data = "", nil
		case line == "":
			name, data = "", nil
		case field == "event":
			name = value
		case field == "data":
			data = append(data, value...)
		}
	}
	err := lines.Err()
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	s.events <- &StreamEvent{Lost: err}
}

// Next waits for the next event; nil when none comes in time.
func (s *Stream) Next(within time.Duration) *StreamEvent {
	select {
	case e := <-s.events:
		return e
	case <-time.After(within):
		return nil
	}
}

// Close ends the subscription.
func (s *Stream) Close() { s.cancel() }

// MustSubscribe begins a subscription, which ends with the test.
func (c *Client) MustSubscribe(t testing.TB, r Request) *Stream {
	t.Helper()
	s, refused, err := c.Subscribe(t.Context(), r)
	if err != nil {
		t.Fatalf("no stream: %v\n%s", err, r.Query)
	}
	if refused != nil {
		t.Fatalf("HTTP %d instead of a stream: %s\n%s\nvariables: %v", refused.Status, refused.Body, r.Query, r.Variables)
	}
	t.Cleanup(s.Close)
	return s
}
