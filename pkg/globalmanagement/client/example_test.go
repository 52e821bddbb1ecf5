package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	gm "github.com/kairship-io/kairship/pkg/globalmanagement"
	"github.com/kairship-io/kairship/pkg/globalmanagement/client"
)

// A platform that keeps its unsent events in an outbox, and sends them.
func Example() {
	kairship := newKairship() // stands in for the real one
	defer kairship.Close()

	c, err := client.New(client.Options{
		URLs: []string{kairship.URL},
		// In production os.ReadFile of a mounted secret, so that it can be rotated.
		Secret: func(context.Context) ([]byte, error) { return []byte("0123456789abcdef0123456789abcdef"), nil },
		// In production one with a timeout that trusts Kairship's authority.
		HTTP: kairship.Client(),
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	alice := gm.Binding{
		BindingID: "b-4711", Sequence: 1,
		Subject: gm.Subject{Kind: gm.User, Name: "alice"}, Role: gm.Editor, Instance: "alpha",
	}
	narrower := alice
	narrower.Sequence, narrower.Namespaces = 2, []string{"shop"}
	nowhere := alice
	nowhere.BindingID, nowhere.Instance = "b-4712", "gone"
	outbox := []gm.Event{
		{EventID: "e-1", Type: gm.Bound, Binding: alice},
		{EventID: "e-2", Type: gm.Changed, Binding: narrower},
		{EventID: "e-3", Type: gm.Bound, Binding: nowhere},
	}
	for _, event := range outbox {
		receipt, err := c.Send(context.Background(), event)
		switch {
		case err == nil:
			fmt.Printf("%s: %s, now at %d\n", event.EventID, receipt.Result, receipt.Sequence)
		case errors.Is(err, client.ErrUnknownInstance):
			fmt.Printf("%s: dropped, because there is no instance %s\n", event.EventID, event.Instance)
		case client.Temporary(err):
			fmt.Printf("%s: kept for later\n", event.EventID)
		default:
			fmt.Printf("%s: an engineer has to look at this: %v\n", event.EventID, err)
		}
	}
	// Output:
	// e-1: stored, now at 1
	// e-2: stored, now at 2
	// e-3: dropped, because there is no instance gone
}

func newKairship() *httptest.Server {
	sequence := 0
	return httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		sequence++
		if sequence > 2 {
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"code":"UNKNOWN_INSTANCE","field":"instance","message":"there is no instance gone"}`)
			return
		}
		_, _ = fmt.Fprintf(w, `{"result":"stored","bindingID":"b-4711","sequence":%d,"object":"gm-0"}`, sequence)
	}))
}
