package server_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/kairship-io/kairship/graph/server/internal/testschema"
	"github.com/kairship-io/kairship/graph/stream"
	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
)

// feed is where the events of the tests come from, by their topic:
//
//	three    sends what is missing of three events, and is over
//	forever  sends the first event, and no other
//	flood    sends events of 64 KiB for as long as the client takes them
//	pushed   sends what the test pushes
//	fails    sends an event, and then finds that it cannot go on
//	panics   fails badly when it is subscribed to
//	refused  refuses to be subscribed to
//	driven   has what the test says made by the transport, see turns_test.go
type feed struct {
	running  atomic.Int64
	begun    atomic.Int64
	taken    atomic.Int64
	pushed   chan int
	granted  *authz.Resolver
	instance string
	consumed consumedFeeds
}

func (r resolvers) Events(ctx context.Context, topic string, after *string) (<-chan *testschema.Event, error) {
	return r.feed.subscribe(ctx, topic, after)
}

func (r resolvers) Event() testschema.EventResolver { return eventResolvers{r} }

type eventResolvers struct{ resolvers }

func (r eventResolvers) Fail(ctx context.Context, _ *testschema.Event, name string) (*string, error) {
	if name == "user" {
		u, ok := authz.UserFrom(ctx)
		if !ok {
			return nil, errors.New("there is no caller")
		}
		return &u.Name, nil
	}
	if name == "permission" {
		// What an event reads must not become what the stream depends on.
		_, err := r.feed.granted.For(ctx, "other")
		return nil, err
	}
	return nil, r.errs[name]
}

func (f *feed) subscribe(ctx context.Context, topic string, after *string) (<-chan *testschema.Event, error) {
	switch topic {
	case "refused":
		return nil, apierror.NotFound("Instance", "hidden")
	case "panics":
		panic("secret-of-the-panic")
	}
	if f.granted != nil {
		v, err := f.granted.For(ctx, f.instance)
		if err != nil {
			return nil, err
		}
		if !v.Sees(f.instance) {
			return nil, apierror.NotFound("Instance", f.instance)
		}
	}
	if topic == "driven" {
		return f.consume(ctx), nil
	}
	from := 0
	if after != nil {
		if _, err := fmt.Sscanf(*after, "c%d", &from); err != nil {
			return nil, apierror.Invalid("after", "no cursor")
		}
	}
	out := make(chan *testschema.Event)
	f.running.Add(1)
	f.begun.Add(1)
	go func() {
		defer f.running.Add(-1)
		defer close(out)
		f.send(ctx, topic, from, out)
	}()
	return out, nil
}

func (f *feed) send(ctx context.Context, topic string, from int, out chan<- *testschema.Event) {
	send := func(n int, text string) bool {
		select {
		case out <- &testschema.Event{N: n, Cursor: "c" + strconv.Itoa(n), Text: text}:
			f.taken.Add(1)
			return true
		case <-ctx.Done():
			return false
		}
	}
	switch topic {
	case "three":
		for n := from + 1; n <= 3; n++ {
			if !send(n, topic) {
				return
			}
		}
	case "forever":
		if send(from+1, topic) {
			<-ctx.Done()
		}
	case "flood":
		text := strings.Repeat("x", 64<<10)
		n := from + 1
		for send(n, text) {
			n++
		}
	case "fails":
		if send(from+1, topic) {
			stream.End(ctx, apierror.Wrap(errors.New("dial tcp: refused"), apierror.CodeInstanceUnavailable, "The instance went away"))
		}
	case "pushed":
		for {
			select {
			case n := <-f.pushed:
				send(n, topic)
			case <-ctx.Done():
				return
			}
		}
	}
}
