package tracing

// Attributes of OpenTelemetry's semantic conventions, version 1.38.
const (
	ErrorType     = "error.type"
	Method        = "http.request.method"
	Route         = "http.route"
	Status        = "http.response.status_code"
	serverAddress = "server.address"
	OperationName = "graphql.operation.name"
	OperationType = "graphql.operation.type"
	Document      = "graphql.document"
)

// Attributes of Kairship's own.
const (
	// Upstream is what a request is sent to: index, index-database, global-cluster or instance.
	Upstream = "kairship.upstream"
	// Instance is the name of an instance that there is.
	Instance = "kairship.instance"
	// Code is that of an error (docs/graphql.md).
	Code = "kairship.error.code"
	// Loader and BatchSize are the kind and the number of rows that are read in one batch.
	Loader    = "kairship.loader"
	BatchSize = "kairship.batch.size"
	// Reason is why a stream ended or lost its continuity.
	Reason = "kairship.reason"
	// Events is how many events a stream had.
	Events = "kairship.events"
	// Controller and Object are the reconciler and the object that it reconciles.
	Controller = "kairship.controller"
	Object     = "kairship.object"
	// Result is that of an event of global management.
	Result = "kairship.result"
)

// The values of Upstream.
const (
	ToIndex    = "index"
	ToDatabase = "index-database"
	ToGlobal   = "global-cluster"
	ToInstance = "instance"
)
