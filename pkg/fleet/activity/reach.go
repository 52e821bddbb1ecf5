package activity

import (
	"slices"

	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/projection"
)

// others stands for instances that do not exist: no instance can have this name. What a user may do there is what they
// may do on every instance, and what holds for those that were deleted.
const others = "-"

// place is an instance that exists.
type place struct{ name, uid string }

// reachOf is what a user may see of the activity, by a verb of reading.
func reachOf(v *authz.Visibility, verb authz.Verb, instances []place) projection.ActivityReach {
	grant, visible := v.Instance(others)
	everywhere := v.All() && visible
	r := projection.ActivityReach{
		Everything: everywhere && grant.Can(verb, ""),
		AllAccess:  everywhere && grant.Can(authz.VerbManageAccess, ""),
	}
	for _, i := range instances {
		grant, visible := v.Instance(i.name)
		if !visible || i.uid == "" {
			continue
		}
		if !r.AllAccess && grant.Can(authz.VerbManageAccess, "") {
			r.Access = append(r.Access, i.uid)
		}
		if r.Everything {
			continue
		}
		switch in := grant.Reach(verb); {
		case in.Everything:
			r.Wholes = append(r.Wholes, i.uid)
		case in.EveryNamespace:
			r.EveryNamespace = append(r.EveryNamespace, i.uid)
		default:
			for _, namespace := range in.Namespaces {
				r.Namespaces = append(r.Namespaces, [2]string{i.uid, namespace})
			}
		}
	}
	return r
}

// sees reports whether a reach has an entry. It decides as the statement of the projection does.
func sees(r *projection.ActivityReach, e *projection.ActivityEntry) bool {
	is := func(uids []string) bool { return e.InstanceUID != "" && slices.Contains(uids, e.InstanceUID) }
	seen := r.Everything || is(r.Wholes) || e.Namespace != "" && is(r.EveryNamespace)
	for _, pair := range r.Namespaces {
		seen = seen || pair == [2]string{e.InstanceUID, e.Namespace}
	}
	return seen && (e.Kind != projection.KindRoleBinding || r.AllAccess || is(r.Access))
}
