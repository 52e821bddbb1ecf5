package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	gm "github.com/kairship-io/kairship/pkg/globalmanagement"
)

// maxAnswerBytes bounds what is read of an answer; a report of the largest resync
// fits.
const maxAnswerBytes = 2 * gm.MaxResyncBytes

// notKairship is the error for a success whose body is not that of the protocol: another server
// answers there.
const notKairship = "the answer is not Kairship's"

// call makes requests until one succeeds, is refused for good, or the attempts or
// the context's time are used up.
func (c *Client) call(ctx context.Context, by *http.Client, path string, most int, value, into any) error {
	body, err := encode(value, most)
	if err != nil {
		return err
	}
	offset := c.calls.Add(1)
	for attempt := 1; ; attempt++ {
		address := c.urls[(offset+uint64(attempt))%uint64(len(c.urls))]
		failure := c.attempt(ctx, by, address+path, body, into)
		if failure == nil {
			return nil
		}
		failure.Attempts = attempt
		if !failure.retry() || attempt == c.options.Attempts {
			return failure
		}
		pause := max(c.pause(attempt), failure.RetryAfter)
		if end, ok := ctx.Deadline(); ok && time.Until(end) < pause {
			return failure // The pause would be all that is left; what happened says more than "deadline exceeded".
		}
		if err := c.options.Sleep(ctx, pause); err != nil {
			failure.ended = err
			return failure
		}
	}
}

// pause is how long to wait after an attempt: half of it is random, so that many
// clients do not come back at the same moment.
func (c *Client) pause(attempt int) time.Duration {
	longest := c.options.Backoff
	for range attempt - 1 {
		longest = min(2*longest, c.options.MaxBackoff)
	}
	longest = min(longest, c.options.MaxBackoff)
	return longest/2 + rand.N(longest/2+1) //nolint:gosec // Not a secret.
}

// attempt makes one request, with a signature of its own.
func (c *Client) attempt(ctx context.Context, by *http.Client, address string, body []byte, into any) *Error {
	secret, err := c.options.Secret(ctx)
	if err != nil {
		return &Error{Message: "the secret to sign with cannot be had", cause: err}
	}
	secret = bytes.TrimSpace(secret)
	if len(secret) < gm.MinSecretBytes {
		return &Error{Code: gm.WrongSignature, Message: fmt.Sprintf("the secret has %d bytes, and must have at least %d", len(secret), gm.MinSecretBytes)}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return &Error{Message: "the request cannot be made", cause: err}
	}
	// No transport may send the request again on its own: it would be a replay.
	request.GetBody = nil
	timestamp, signature := gm.Sign(secret, c.timestamp(), body)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "kairship-globalmanagement-client")
	request.Header.Set(gm.TimestampHeader, timestamp)
	request.Header.Set(gm.SignatureHeader, signature)
	response, err := by.Do(request)
	if err != nil {
		return &Error{Message: "no answer", cause: err}
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes))
	if err != nil {
		return &Error{Status: response.StatusCode, Message: "the answer was cut off", cause: err}
	}
	if response.StatusCode == http.StatusOK {
		if err := json.Unmarshal(answer, into); err != nil {
			return &Error{Status: response.StatusCode, Message: notKairship, cause: err}
		}
		return nil
	}
	return c.refused(response, answer, into)
}

// refused reads an answer that is not 200.
func (c *Client) refused(response *http.Response, answer []byte, into any) *Error {
	failure := &Error{Status: response.StatusCode, RetryAfter: c.retryAfter(response.Header.Get("Retry-After"))}
	var refusal gm.Refusal
	if json.Unmarshal(answer, &refusal) == nil && refusal.Code != "" {
		failure.Code, failure.Field, failure.Message = refusal.Code, refusal.Field, refusal.Message
		return failure
	}
	if report, ok := into.(*gm.ResyncReport); ok && json.Unmarshal(answer, report) == nil && report.Counts[gm.Failed] > 0 {
		failure.Code = gm.Unavailable
		failure.Message = fmt.Sprintf("%d of %d bindings could not be stored", report.Counts[gm.Failed], len(report.Bindings))
		return failure
	}
	const most = 200
	text := strings.ToValidUTF8(string(answer[:min(len(answer), most)]), "")
	failure.Message = fmt.Sprintf("not an answer of Kairship: %q", text)
	return failure
}

// retryAfter reads the header, which holds seconds or a date.
func (c *Client) retryAfter(value string) time.Duration {
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(c.options.Now()))
	}
	return 0
}
