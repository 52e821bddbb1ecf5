// Package client sends role bindings on instances to Kairship, for a platform written in Go. It
// signs, sends and retries. Programs outside of this repository may import it. The protocol itself
// is package globalmanagement, and docs/global-management.md describes it.
//
// Make one Client and keep it; it may be used from many goroutines:
//
//	c, err := client.New(client.Options{
//		URLs:   []string{"https://kairship.example.org:9443"},
//		Secret: func(context.Context) ([]byte, error) { return os.ReadFile(path) },
//		HTTP:   &http.Client{Transport: transport, Timeout: 10 * time.Second},
//	})
//
// Then send the events of each binding. A nil error means that Kairship has stored the event:
//
//	_, err = c.Bind(ctx, globalmanagement.Binding{
//		BindingID: "b-4711", Sequence: 1,
//		Subject:   globalmanagement.Subject{Kind: globalmanagement.User, Name: "alice"},
//		Role:      globalmanagement.Editor, Instance: "alpha",
//	})
//
// # What the platform has to do
//
// Number the events of each binding, in the transaction that changes the binding:
// Kairship goes by Sequence alone, so calls may be made late, twice, and in any
// order. Keep an event until its call has succeeded or was refused for good (see
// below), which is what an outbox table is for. Never use a BindingID again for
// another subject or instance.
//
// # Retries
//
// Every call tries again until it succeeds, is refused for good, has used up
// Options.Attempts, or its context ends: after network errors, the statuses 429
// and 5xx, and the two refusals that a new signature may cure, REPLAY and
// STALE_TIMESTAMP. Pauses grow from Options.Backoff to Options.MaxBackoff, each
// with a random part, and are never shorter than the answer's Retry-After. Each
// attempt has a signature of its own and goes to the next of Options.URLs.
//
// # Errors
//
// A refusal is an [*Error], and errors.Is matches it with [ErrMalformed], [ErrUnknownInstance],
// [ErrSequenceConflict], [ErrWrongSignature] and the others. Temporary reports whether a later call
// may succeed with the same event:
//
//	switch {
//	case err == nil, errors.Is(err, client.ErrUnknownInstance):
//		outbox.Done(event) // An instance that no longer exists has no roles.
//	case client.Temporary(err):
//		outbox.Later(event)
//	default:
//		outbox.Alarm(event, err) // A person has to look at it.
//	}
//
// # Resync
//
// Call [Client.Resync] now and then, and whenever events may have been lost: it
// makes Kairship's bindings equal to the platform's. It never undoes what was
// sent after Resync.AsOf.
package client
