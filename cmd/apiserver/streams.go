package main

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/kairship-io/kairship/cmd/internal/flags"
	"github.com/kairship-io/kairship/graph/server/subscription"
	"github.com/kairship-io/kairship/pkg/authz"
)

// maxPermissionsCheck is short enough for a slow review to end within the five seconds in which a
// revocation takes effect.
const maxPermissionsCheck = 2 * time.Second

// streamOptions are the flags about subscriptions.
type streamOptions struct {
	limits           subscription.Limits
	permissionsCheck time.Duration
}

func (o *streamOptions) define(f *pflag.FlagSet) {
	l := &o.limits
	f.IntVar(&l.MaxConnections, "max-stream-connections", subscription.DefaultMaxConnections, "WebSockets and streams of server-sent events that may be open")
	f.IntVar(&l.MaxConnectionsPerUser, "max-stream-connections-per-user", subscription.DefaultMaxConnectionsPerUser, "WebSockets and streams of server-sent events of one user that may be open")
	f.IntVar(&l.MaxSubscriptions, "max-subscriptions", subscription.DefaultMaxSubscriptions, "subscriptions that may be open")
	f.IntVar(&l.MaxSubscriptionsPerUser, "max-subscriptions-per-user", subscription.DefaultMaxSubscriptionsPerUser, "subscriptions of one user that may be open")
	f.IntVar(&l.MaxUnauthenticatedWebSockets, "max-unauthenticated-websockets", subscription.DefaultMaxUnauthenticatedWebSockets, "WebSockets that may be open whose callers are not known yet; one address has half of them at most")
	f.DurationVar(&l.InitTimeout, "websocket-init-timeout", subscription.DefaultInitTimeout, "how long a WebSocket may take to say whose it is")
	f.DurationVar(&l.MaxLife, "stream-max-life", subscription.DefaultMaxLife, "how long a WebSocket or a stream may last until its client has to connect again; each lasts up to a tenth shorter")
	f.DurationVar(&l.KeepAlive, "stream-keep-alive", subscription.DefaultKeepAlive, "longest silence on a WebSocket or a stream; less than the idle timeout of every proxy on the way")
	f.DurationVar(&o.permissionsCheck, "stream-permissions-check", authz.DefaultRecheckInterval, "time between two checks that a subscriber's token is valid and their permissions are what they were; each costs two requests to the global cluster for a user, however many subscriptions they have")
}

func (o *streamOptions) validate(problems *flags.Problems) {
	for _, f := range []struct {
		flag  string
		value int
	}{
		{"--max-stream-connections", o.limits.MaxConnections},
		{"--max-stream-connections-per-user", o.limits.MaxConnectionsPerUser},
		{"--max-unauthenticated-websockets", o.limits.MaxUnauthenticatedWebSockets},
		{"--max-subscriptions", o.limits.MaxSubscriptions},
		{"--max-subscriptions-per-user", o.limits.MaxSubscriptionsPerUser},
	} {
		problems.Checkf(f.value >= 1, "%s: must be at least 1, not %d", f.flag, f.value)
	}
	problems.Checkf(o.limits.InitTimeout > 0, "--websocket-init-timeout: must be more than 0, not %s", o.limits.InitTimeout)
	problems.Checkf(o.limits.MaxLife > 0, "--stream-max-life: must be more than 0, not %s", o.limits.MaxLife)
	problems.Checkf(o.limits.KeepAlive > 0, "--stream-keep-alive: must be more than 0, not %s", o.limits.KeepAlive)
	problems.Checkf(o.permissionsCheck >= 100*time.Millisecond && o.permissionsCheck <= maxPermissionsCheck,
		"--stream-permissions-check: must be between 100ms and %s, so that a revocation takes effect within five seconds, not %s", maxPermissionsCheck, o.permissionsCheck)
}
