// Package index reads the index: Clusterpedia, which collects the resources of
// every instance and every member cluster into one database.
//
// It is the only package that knows Clusterpedia's labels, paging and quirks.
// Everything above it makes three kinds of requests:
//
//   - List: a page of objects of some kinds in some clusters, filtered and ordered.
//   - GetMany: these exact objects, of whatever kinds and clusters, in one request.
//   - Owned: what these objects own, directly or through one step in between.
//
// # One endpoint
//
// All of them use Clusterpedia's collection resource "any", which lists several
// kinds in one request and reads the database directly. It answers for a kind
// that was never collected with an empty list where the per-kind endpoints
// answer 404, and so one code path serves every kind.
//
// # SQL
//
// Clusterpedia's own parameters filter by clusters, namespaces and names as a
// cross product and page by offset. That is not enough: a hundred exact objects
// would be asked for as ten thousand combinations, and an offset shifts under
// the reader whenever an object comes or goes. With its feature gate
// AllowParameterizedSQLQuery on, a WHERE clause with placeholders may be sent,
// and then exact objects, keyset pages and one page per cluster each cost one
// request. The clause is SQL from the caller, so it is assembled from the
// constants in statements.go and nothing else; every value is a parameter.
//
// The client checks whether the gate is on, and which database is behind the index (capability.go).
// Where the gate is off, or the database is neither SQLite nor PostgreSQL, it refuses every request
// with INDEX_UNAVAILABLE. Answers are checked, because an index whose gate has been switched off
// ignores conditions.
//
// # Freshness
//
// The index returns what it collected last, even when the cluster was deleted long ago. The
// PediaCluster objects, not the answer, show how old that may be; pkg/fleet/freshness joins the
// two.
package index
