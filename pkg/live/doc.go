// Package live delivers the changes of objects of instances and of the global cluster to
// any number of subscribers, with one watch for each resource.
//
// # Feeds
//
// A feed follows one resource of one cluster (a Source). The first subscriber starts it, and it
// stops Options.IdleTimeout after the last one has ended. It keeps the current objects, without the
// fields that cannot be selected, and a history of the last changes with the previous state of each
// object. A subscriber's events are made from such changes: its filter is applied to the object
// before and after, so an object that no longer matches is DELETED for it, and no state has to be
// kept for each subscriber.
//
// A watch that breaks resumes from the version it had reached. When the cluster no longer has that
// version, the resource is listed again and compared with the known objects: only real differences
// become changes.
//
// # Streams
//
// A stream is what one subscriber follows: several sources, each with a filter. It sends the
// current objects (ADDED), then SYNCED, then changes. Unread changes are coalesced for each object
// into the state that the subscriber knew and the current one. So a slow reader gets the latest
// state, receives the deletion of every object, and costs no more than a bounded number of entries.
// Beyond the bound the source starts again: a GAP, the current objects, and SYNCED. A stream whose
// reader reads nothing for long ends with errSlow.
//
// A source that does not answer affects only its own part: the others go on, SYNCED comes without
// it, and INTERRUPTED reports that the objects sent before may have changed since. RESTORED reports
// that the stream has caught up with the source, without loss unless a GAP came before. ENDED is
// the last event of a source whose instance no longer exists.
//
// # Joined sources
//
// State that depends on several resources, such as the health of a workload, is a Join: objects of
// a primary source, each with a value computed from it and from objects of other sources. It is
// computed once for all subscribers, and changes only when the value or the primary object differs
// from before.
//
// # Cursors
//
// Every event has a cursor. A subscription that begins with one receives the changes since, from
// any replica: from the feed's own history, or else by asking the cluster for the resource as it
// was at the cursor's version and comparing that with the current objects. A cluster keeps old
// versions for some minutes. Beyond that the source begins with a GAP.
//
// A cursor is exact, though changes are coalesced and one number can't describe which of them were
// read: unread changes are read in batches, each leading from one version to another, in the order
// of keys. In the middle of a batch the objects up to a key are known at the later version, and the
// rest at the earlier one (position). A snapshot is a batch that leads from an empty state, so it
// too resumes in the middle when a connection breaks.
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
