package instancestatus

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kairship-io/kairship/pkg/connection"
	"github.com/kairship-io/kairship/pkg/controllers/internal/connections"
	"github.com/kairship-io/kairship/pkg/controllers/internal/probe"
)

// slow is an apiserver that takes its time.
type slow struct {
	// reads and admission are how long it takes to answer.
	reads, admission time.Duration
	// status and body are what it says about a policy in the end.
	status int
	body   string
	// asked is how often it was asked about one.
	asked int
}

func (s *slow) RoundTrip(r *http.Request) (*http.Response, error) {
	takes, answer := s.reads, &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("{}"))}
	if r.Method == http.MethodPost {
		s.asked++
		takes, answer.StatusCode, answer.Body = s.admission, s.status, io.NopCloser(strings.NewReader(s.body))
	}
	select {
	case <-r.Context().Done():
		return nil, r.Context().Err()
	case <-time.After(takes):
		return answer, nil
	}
}

// TestWhatHangs has looks end while a caller is still waiting for an answer. The
// apiserver waits for Karmada's webhook as long as a whole look may last.
func TestWhatHangs(t *testing.T) {
	const timeout, moment = 3 * time.Second, 10 * time.Millisecond
	const cannotCall = `{"message":"Internal error occurred: failed calling webhook \"x\": context deadline exceeded"}`
	for _, c := range []struct {
		reason string
		server slow
		// want is the condition's word; empty when nothing was learnt.
		want, says string
		rejected   bool
	}{
		{
			reason: "a webhook that hangs is one that does not answer", server: slow{moment, timeout, 500, cannotCall, 0},
			want: "False/WebhookFailed", says: "cannot call Karmada's webhook", rejected: true,
		},
		{
			reason: "an apiserver that never says what came of it", server: slow{moment, time.Hour, 500, "", 0},
			want: "False/WebhookFailed", says: "does not say within 8s", rejected: true,
		},
		{reason: "a webhook that is slow and answers", server: slow{moment, timeout, 201, "{}", 0}, want: "True/Serving"},
		{reason: "what could not be read in time proves nothing, and nothing more is asked", server: slow{timeout / 2, moment, 201, "{}", 0}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), timeout)
				defer cancel()
				r, began := &Reconciler{}, time.Now()
				to := probe.NewAsker(&connections.Conn{HTTP: &http.Client{Transport: &c.server}, To: connection.Connection{Endpoint: "https://alpha"}})
				seen := r.karmada(ctx, "alpha", history{}, to, found{Began: began})
				kept := r.histories.of("alpha")
				if c.want == "" {
					if seen != nil || kept != (history{}) || c.server.asked != 0 {
						t.Errorf("saw %+v, keeps %+v, and asked %d times about a policy", seen, kept, c.server.asked)
					}
					return
				}
				if seen == nil {
					t.Fatal("nothing was seen")
				}
				condition := seen.judge()
				if word := string(condition.Status) + "/" + condition.Reason; word != c.want || !strings.Contains(condition.Message, c.says) {
					t.Errorf("got %s, want %s that says %q: %s", word, c.want, c.says, condition.Message)
				}
				if kept.rejected != c.rejected || !kept.whole.After(began) || !kept.admission.After(began) {
					t.Errorf("the next look starts from %+v", kept)
				}
			})
		})
	}
}
