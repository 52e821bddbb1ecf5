// Package topology describes the parts of the fleet: its clusters, its folders and its ports.
package topology

import "fmt"

// Role is what a cluster is in the fleet.
type Role string

// The roles; see DESIGN's words: the global cluster runs the products, an instance is a Karmada
// control plane, members run the applications.
const (
	Global   Role = "global"
	Instance Role = "instance"
	Member   Role = "member"
)

// Cluster is one apiserver with what belongs to it.
type Cluster struct {
	Name string
	Role Role
	// Instance is the control plane that a member is joined to.
	Instance string
	// Region, Zone and Provider describe a member in the inventory and on its nodes.
	Region, Zone, Provider string
	// Metrics reports whether a member has a metrics-server.
	Metrics bool
}

// Clusters lists all clusters of the fleet.
func Clusters() []Cluster {
	return []Cluster{
		{Name: "global", Role: Global},
		{Name: "alpha", Role: Instance},
		{Name: "beta", Role: Instance},
		{Name: "m1", Role: Member, Instance: "alpha", Provider: "kwok", Region: "north", Zone: "north-1", Metrics: true},
		{Name: "m2", Role: Member, Instance: "alpha", Provider: "kwok", Region: "south", Zone: "south-1", Metrics: true},
		{Name: "m3", Role: Member, Instance: "beta", Provider: "kwok", Region: "north", Zone: "north-2"},
	}
}

// WithRole lists the clusters of one role.
func WithRole(role Role) []Cluster {
	var found []Cluster
	for _, c := range Clusters() {
		if c.Role == role {
			found = append(found, c)
		}
	}
	return found
}

// MembersOf lists the members of an instance.
func MembersOf(instance string) []Cluster {
	var found []Cluster
	for _, c := range WithRole(Member) {
		if c.Instance == instance {
			found = append(found, c)
		}
	}
	return found
}

// NodesPerMember is the number of simulated nodes of each member.
const NodesPerMember = 3

// DefaultPortBase is the port base of a fleet that names none. Kairship itself then listens on
// ports that people remember; in any other fleet they follow the base like all others.
const DefaultPortBase = 16400

// memorable are those ports.
var memorable = map[string]int{"kairship/api": 8080, "kairship/tls": 8443}

// PortSpan is how many ports from the base on belong to a fleet.
const PortSpan = 100

// ports are the offsets from the base, by process and purpose.
var ports = map[string]int{
	"etcd/client":  1,
	"etcd/peer":    2,
	"postgres":     3,
	"operator":     4,
	"identity/api": 5,
	// No process of the fleet has it: kubectl's plugin waits there for the browser.
	"identity/plugin": 6,
	"global/api":      43,
	"global/kcm":      42,
	"alpha/api":       44,
	"alpha/agg":       45,
	"alpha/webhook":   46,
	"alpha/kcm":       47,
	"beta/api":        54,
	"beta/agg":        55,
	"beta/webhook":    56,
	"beta/kcm":        57,
	"m1/api":          51,
	"m2/api":          52,
	"m3/api":          53,

	"alpha/webhook-metrics":   60,
	"alpha/webhook-health":    61,
	"alpha/karmada-metrics":   62,
	"alpha/karmada-health":    63,
	"alpha/scheduler-metrics": 64,
	"alpha/scheduler-health":  65,
	"beta/webhook-metrics":    84,
	"beta/webhook-health":     85,
	"beta/karmada-metrics":    86,
	"beta/karmada-health":     87,
	"beta/scheduler-metrics":  88,
	"beta/scheduler-health":   89,

	"m1/kcm":       71,
	"m1/scheduler": 72,
	"m1/kwok":      73,
	"m2/kcm":       81,
	"m2/scheduler": 82,
	"m2/kwok":      83,
	"m3/kcm":       76,
	"m3/scheduler": 77,
	"m3/kwok":      78,
	"m1/metrics":   74,
	"m2/metrics":   75,

	"clusterpedia/api":     91,
	"clusterpedia/metrics": 92,
	"kairship/api":         80,
	"kairship/tls":         90,
	"kairship-0/metrics":   93,
	"kairship-0/health":    94,
	"kairship-1/metrics":   95,
	"kairship-1/health":    96,
	"kairship/pprof":       97,
	"kairship-0/webhook":   98,
	"kairship-1/webhook":   99,
}

// Ports gives a fleet's ports.
type Ports struct{ Base int }

// Of returns the port of a purpose such as "alpha/api". An unknown purpose is a bug in the fleet.
func (p Ports) Of(purpose string) int {
	offset, ok := ports[purpose]
	if !ok {
		panic("topology: no port is set aside for " + purpose)
	}
	if fixed, ok := memorable[purpose]; ok && p.Base == DefaultPortBase {
		return fixed
	}
	return p.Base + offset
}

// Addr is the loopback address of a purpose.
func (p Ports) Addr(purpose string) string {
	return fmt.Sprintf("127.0.0.1:%d", p.Of(purpose))
}

// URL is the https URL of a purpose.
func (p Ports) URL(purpose string) string {
	return "https://" + p.Addr(purpose)
}

// Validate reports whether a fleet can have this base: its ports must exist, need no privilege and
// stay clear of the range from which the kernel picks ports for outgoing connections.
func (p Ports) Validate() error {
	const lowest, ephemeral = 1024, 32768
	if p.Base < lowest || p.Base+PortSpan > ephemeral {
		return fmt.Errorf("--port-base %d: want %d to %d, because the fleet uses %d ports from there on and the kernel takes ports for outgoing connections from %d on",
			p.Base, lowest, ephemeral-PortSpan, PortSpan, ephemeral)
	}
	return nil
}

// SystemNamespace is where Kairship's own objects live in the global cluster.
const SystemNamespace = "kairship-system"

// People have a token of the global cluster each.
func People() []string { return []string{"admin", "alice", "bob", "mallory"} }

// Binding is a role that a subject has on an instance.
type Binding struct{ ID, Person, Role, Instance string }

// Bindings are the roles that the fleet, as the platform, gives its people. The administrator may do
// everything in the global cluster without one, and nothing inside an instance, which knows nothing
// of the global cluster's administrators. Mallory is to have none.
func Bindings() []Binding {
	return []Binding{
		{ID: "local-fleet/admin-on-alpha", Person: "admin", Role: "admin", Instance: "alpha"},
		{ID: "local-fleet/admin-on-beta", Person: "admin", Role: "admin", Instance: "beta"},
		{ID: "local-fleet/alice-on-alpha", Person: "alice", Role: "editor", Instance: "alpha"},
		{ID: "local-fleet/bob-on-beta", Person: "bob", Role: "viewer", Instance: "beta"},
	}
}
