// Package operation reads the named operations that api/v1 is made of: one GraphQL document in a file, with the HTTP
// method and path under which the REST API has it.
//
// A file begins with a comment: a summary of one sentence, more text where it is needed, and two lines that programs read.
//
//	# Lists the workloads of an instance.
//	#
//	# http: GET /api/v1/instances/{instance}/workloads
//	# stability: beta
//	query ListWorkloads($instance: String!, $first: Int) {
//	  instance(name: $instance) { workloads(first: $first) { nodes { name } totalCount } }
//	}
//
// The variables of an operation are the segments of its path, and the parameters of the query string (GET and DELETE) or
// the members of the body (all other methods). Its answer is the first object below the root that has more than one field:
// above, the connection.
package operation
