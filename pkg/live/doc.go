// Package live lets any number of subscribers follow objects of instances and of
// the global cluster, at the cost of one watch for each resource.
//
// # Feeds
//
// A feed follows one resource of one cluster (a Source). The first subscriber
// starts it, and it stops a little after the last one left (Options.Linger). It
// keeps the objects as they are now, without what cannot be selected, and the last
// changes with what each object was before. What a subscriber is told is made of
// such changes: its filter is applied to the object before and after, so an object
// that stops to match is DELETED for it, and nothing has to be remembered for each
// subscriber.
//
// A watch that breaks goes on from the version it had reached. When the cluster no
// longer has that version, the resource is listed again and compared with what was
// known: only what really differs becomes a change.
//
// # Streams
//
// A stream is what one subscriber follows: several sources, each with a filter.
// It says what is there (ADDED), then SYNCED, then what changes. What a subscriber
// did not read yet is kept once for each object: what it knew, and what is now.
// So a reader that is slow gets the latest state, hears of every object that went,
// and costs no more than a bounded number of entries. Beyond the bound the source
// starts again: a GAP, what is there now, and SYNCED. Who reads nothing for long
// is left behind with ErrSlow.
//
// A source that does not answer costs only its own part: the others go on, SYNCED
// comes without it, and INTERRUPTED reports that what was told of it may have changed
// since. RESTORED reports that it has been caught up with, without loss unless a GAP
// came before. ENDED is the last word about a source whose instance no longer exists.
//
// # Joined sources
//
// What depends on several resources, such as the health of a workload, is a Join:
// objects of a primary source, each with a value made of it and of objects of other
// sources. It is computed once for all subscribers, and is a change only when the
// value or the primary object is another than before.
//
// # Cursors
//
// Every event has a cursor. A subscription that begins with one is told what
// changed since, at any replica: the feed's own history tells, or else the cluster
// is asked for the resource as it was at the cursor's version, which is compared
// with what is now. A cluster remembers some minutes. Beyond that the source
// begins with a GAP.
//
// A cursor is exact, though changes are merged and one number can't tell which of
// them were read: what waits is read in batches, each leading from one version to
// another, in the order of keys. In the middle of a batch the objects up to a key
// are known as of the later version, and the rest as of the earlier one (position).
// A snapshot is a batch that leads from nothing. So it is told from the middle on,
// too, when a line breaks.
//
// Versions are compared as numbers, within one cluster: a cursor also knows the
// cluster by the UID of its namespace kube-system, in case another one comes in the
// instance's place.
//
// Cursors are signed with the key that replicas share, and are bound to
// Subscription.Identity: that of another subscription is refused as INVALID.
//
// # Locks
//
// Nothing is waited for while a lock is held. They are taken in the order hub,
// feeds (by source), view, stream. Changes reach the streams synchronously, from the
// feed's own goroutine.
package live
