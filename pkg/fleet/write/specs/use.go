package specs

import (
	"github.com/kairship-io/kairship/pkg/fleet/object"
)

// mostUsers is how many users of an object are named.
const mostUsers = 20

// Use holds the objects that use an object.
type Use struct {
	// Count is how many do. More reports whether there are others, which were not counted.
	Count int
	More  bool
	// Users are the first of them, at most mostUsers.
	Users []User
}

// User is an object that uses another: of a policy, a resource that it propagates or changes, or a policy that depends on it.
type User struct {
	APIVersion, Kind, Namespace, Name string
}

// NamespaceOrNil is its namespace; nil when it has none.
func (u User) NamespaceOrNil() *string { return object.Optional(u.Namespace) }

// String names it for a person.
func (u User) String() string {
	if u.Namespace == "" {
		return u.Kind + " " + u.Name
	}
	return u.Kind + " " + u.Namespace + "/" + u.Name
}

// Add counts a user, and keeps the first ones.
func (u *Use) Add(user User) {
	u.Count++
	if len(u.Users) < mostUsers {
		u.Users = append(u.Users, user)
	}
}
