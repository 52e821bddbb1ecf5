package webhook

import (
	"strings"
	"testing"
	"time"

	gm "github.com/kairship-io/kairship/pkg/globalmanagement"
)

// TestRefusals sends to both replicas what has to be refused, each with its own
// status, and looks whether anything changed.
func TestRefusals(t *testing.T) {
	s := begin(t)
	first := s.sign(gm.EventsPath, gm.Event{EventID: "e-5", Type: gm.Bound, Binding: s.binding("one", 5)})
	if status, refusal := s.send(0, first); status != 200 {
		t.Fatalf("got %d %+v", status, refusal)
	}
	next := func(change ...func(*gm.Event)) post {
		e := gm.Event{EventID: "e-6", Type: gm.Changed, Binding: s.binding("one", 6)}
		e.Role = gm.Admin
		for _, f := range change {
			f(&e)
		}
		return s.sign(gm.EventsPath, e)
	}
	at := func(when time.Time) post {
		p := next()
		p.timestamp, p.signature = gm.Sign(s.secret, when, []byte(p.body))
		return p
	}
	before := s.picture()
	for _, c := range []struct {
		reason string
		post   func() post
		status int
		code   gm.Code
		field  string
	}{
		{"no signature", func() post { return post{path: gm.EventsPath, body: next().body} }, 401, gm.WrongSignature, ""},
		{"a wrong signature", func() post {
			p := next()
			_, p.signature = gm.Sign([]byte(strings.Repeat("x", 32)), s.signed, []byte(p.body))
			return p
		}, 401, gm.WrongSignature, ""},
		{"a changed body", func() post { p := next(); p.body += " "; return p }, 401, gm.WrongSignature, ""},
		{"an old timestamp", func() post { return at(time.Now().Add(-gm.DefaultTolerance - time.Second)) }, 410, gm.StaleTimestamp, ""},
		{"a timestamp of the future", func() post { return at(time.Now().Add(gm.DefaultTolerance + 10*time.Second)) }, 410, gm.StaleTimestamp, ""},
		{"the very same request, wherever it was received first", func() post { return first }, 409, gm.Replay, ""},
		{"no JSON", func() post { return s.sign(gm.EventsPath, "{") }, 400, gm.Malformed, ""},
		{"a role that does not exist", func() post { return next(func(e *gm.Event) { e.Role = "owner" }) }, 400, gm.Malformed, "role"},
		{"an unknown name", func() post { return s.sign(gm.EventsPath, strings.Replace(next().body, `"role"`, `"rolle"`, 1)) }, 400, gm.Malformed, "rolle"},
		{"an instance that does not exist", func() post { return next(func(e *gm.Event) { e.BindingID += "-b"; e.Instance = "no-such" }) }, 404, gm.UnknownInstance, "instance"},
		{"another event with that sequence", func() post { return next(func(e *gm.Event) { e.Sequence = 5 }) }, 409, gm.SequenceConflict, "sequence"},
		{"a binding for another subject", func() post { return next(func(e *gm.Event) { e.Subject.Name = "mallory" }) }, 409, gm.BindingConflict, "subject"},
		{"too large", func() post { return s.sign(gm.EventsPath, strings.Repeat(" ", gm.MaxEventBytes+1)) }, 413, gm.TooLarge, ""},
	} {
		t.Run(c.reason, func(t *testing.T) {
			for replica := range s.fleet.GlobalManagement.URLs {
				if status, refusal := s.send(replica, c.post()); status != c.status || refusal.Code != c.code || refusal.Field != c.field {
					t.Errorf("replica %d answers %d %+v, want %d %s", replica, status, refusal, c.status, c.code)
				}
			}
			if after := s.picture(); after != before {
				t.Errorf("something changed:\n%s\nwas:\n%s", after, before)
			}
		})
	}
	if status, refusal := s.send(1, next()); status != 200 {
		t.Errorf("what is right is refused after all: %d %+v", status, refusal)
	}
}
