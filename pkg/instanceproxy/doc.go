// Package instanceproxy sends all requests to instances. It keeps, for each instance, one
// connection and the clients built on it, and makes sure that every request is sent as the user who
// asked.
//
// # One connection, many people
//
// A Client is made once for an instance and serves all users. Each request's context decides its
// identity: the user that package authz put there, impersonated with user name, UID, groups and
// extra. A context without a user is refused; requests on Kairship's own account use AsKairship.
// There is never a client for each user, so a thousand users cost an instance no more connections
// than one, and no cache can return one user's client to another.
//
// Before a connection carries a user's request, one request checks which identity the instance
// gives an invented user. A proxy in between that drops the headers would otherwise let all users
// act with Kairship's own permissions, which are wide.
//
// # Where credentials come from, and how they change
//
// An Instance names the Secret with its kubeconfig. Of the global cluster's
// Secrets, exactly these are read, each by a watch on its name alone, begun when
// the instance is first used: Kairship needs no permission to list Secrets, and
// holds none that does not concern it.
//
// A Secret that changes makes a new link: a set of TCP connections with its own
// TLS configuration. New requests take the new link from that moment on. Those in
// flight, watches included, end on the old one, which is closed behind the last
// of them, or after Options.DrainTimeout. Clients stay what they are: they find
// the link under way, so they need not be fetched again.
//
// Word of a change may come later than the change. When an instance refuses
// Kairship's credentials, the Secret is read again, and what was refused is sent
// once more with what it says: a request that was not authenticated was not
// executed, so that is safe for writes too.
//
// An Instance that is deleted, or made again under the same name, closes its
// client and everything in flight.
//
// # An instance that does not answer
//
// costs its own users one timeout, and other users nothing:
//
//   - Connecting, and the silence of a connection, are bounded (Options). HTTP/2
//     pings find a server that hangs while its host acknowledges what is sent.
//   - After Options.Failures failures in a row the link's circuit breaker opens,
//     and requests fail at once with INSTANCE_UNAVAILABLE. A probe in the
//     background asks for the version until there is an answer, so it is no caller's
//     request that tries whether the instance is back.
//   - Only what the connection does counts. An answer is an answer, whatever its
//     status: an aggregated API that is down is no outage of the instance. A request
//     that fails by what its caller sent, a body that breaks off for example, is that
//     caller's alone, and one that a server behind the instance does not answer is
//     a reason to probe and no more: any user could otherwise close an instance to
//     everybody.
//   - No lock is held while anything is sent or waited for. Locks here guard a map
//     or a counter.
//
// Errors are *apierror.Error below what client-go makes of them; use
// apierror.CodeOf. They name no endpoint and hold nothing of a Secret.
package instanceproxy
