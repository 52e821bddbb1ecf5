// Package quota limits what one user asks of the process: operations under way and in
// a second, their cost, and the memory that they hold.
//
// Every operation of GraphQL and every request of the passthrough enters with
// Users.Enter, reserves its cost before it is executed, and pays what it turned out to
// cost. The memory that it holds is counted while it grows: bytes read from upstreams
// (Body), values and text of the answer (Operation.Hold). A refusal comes before the
// memory is allocated, so the sum over all operations has a limit, whatever is asked.
//
// Three limits hold for memory: that of one operation, the share of one user, and that
// of all operations. A user may hold as much as is left for all others: one user half
// of all, two users a third each. Some is always left for the next user.
package quota
