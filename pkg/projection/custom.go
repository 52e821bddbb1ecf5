package projection

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// Custom workloads are custom resources that have a ResourceBinding. Their rows follow from their
// bindings, so that they need no kind to be collected. The kind of a row is the name of its
// Kubernetes kind and its group, as in `Rollout.argoproj.io`; all other kinds have no dot, and a
// release that does not know custom workloads asks for those alone.

// ReservedDomains have the groups of Kubernetes and of the components of a fleet, whose kinds are no
// custom workloads. Groups without a dot are Kubernetes' own too.
var ReservedDomains = []string{"k8s.io", "karmada.io", "kairship.io", "clusterpedia.io"}

// customKinds is the condition that a row w of a table with kinds is of a custom workload.
const customKinds = "w.kind LIKE '%.%'"

// customGroup is the condition that the kinds of a group may be custom workloads; end is the text that
// follows the group.
func customGroup(group, end string) string {
	var all strings.Builder
	all.WriteString(group + " LIKE '%.%" + end + "'")
	for _, domain := range ReservedDomains {
		all.WriteString(" AND " + group + " NOT LIKE '" + domain + end + "' AND " + group + " NOT LIKE '%." + domain + end + "'")
	}
	return all.String()
}

// isCustomTemplate is the condition that a row of the index may be the template of a custom workload.
func isCustomTemplate(row string) string {
	return row + "namespace <> '' AND " + row + "cluster LIKE '" + v1alpha1.VirtualClusterPrefix + "%' AND " + customGroup(row+`"group"`, "")
}

const (
	boundVersion = "o.object->'spec'->'resource'->>'apiVersion'"
	boundKind    = "o.object->'spec'->'resource'->>'kind'"
	boundName    = "o.object->'spec'->'resource'->>'name'"
)

// isCustomBinding is the condition that an object o of the index is the binding of a custom workload.
var isCustomBinding = `o."group" = 'work.karmada.io' AND o.resource = 'resourcebindings' AND o.cluster LIKE '` + v1alpha1.VirtualClusterPrefix + "%' AND " +
	"o.object->'spec'->'resource'->>'namespace' = o.namespace AND " + customGroup("("+boundVersion+")", "/%")

// boundGroup is the expression of the group of what a binding was made for.
func (db *DB) boundGroup() string {
	if db.postgres {
		return "split_part(" + boundVersion + ", '/', 1)"
	}
	return "substr(" + boundVersion + ", 1, instr(" + boundVersion + ", '/') - 1)"
}

// bindingOf is the expression of the name of the binding of a custom workload w.
func (db *DB) bindingOf() string {
	dot := "instr(w.kind, '.')"
	if db.postgres {
		dot = "strpos(w.kind, '.')"
	}
	return "replace(lower(w.name || '-' || substr(w.kind, 1, " + dot + " - 1)), ':', '.')"
}

// customColumns are the columns of the key of a custom workload that a binding o names.
func (db *DB) customColumns() string {
	prefix := len(v1alpha1.VirtualClusterPrefix) + 1
	return "substr(o.cluster, " + strconv.Itoa(prefix) + "), o.namespace, " + boundName + ", " + boundKind + " || '.' || " + db.boundGroup()
}

// CustomOf returns the custom workloads that some bindings and templates concern: those for which the
// bindings are made now, and those that have a row. A binding or a template that was deleted has a
// name alone.
func (s *Snapshot) CustomOf(bindings, templates []ResourceKey) ([]WorkloadKey, error) {
	var all []WorkloadKey
	read := func(keys []ResourceKey, statement string) error {
		if len(keys) == 0 {
			return nil
		}
		rows, err := json.Marshal(keys)
		if err != nil {
			return err
		}
		found, err := s.keys(statement, string(rows))
		all = append(all, found...)
		return err
	}
	prefix := strconv.Itoa(len(v1alpha1.VirtualClusterPrefix) + 1)
	row := "SELECT w.instance, w.namespace, w.name, w.kind FROM " + s.db.rows(resourceColumns) + " CROSS JOIN kairship.workload w WHERE " + customKinds +
		" AND w.instance = substr(r.cluster, " + prefix + ") AND w.namespace = r.namespace AND "
	bound := "SELECT " + s.db.customColumns() + " FROM " + s.db.rows(resourceColumns) + ` CROSS JOIN resources o WHERE o."group" = r.grp AND o.version = r.version AND o.resource = r.resource` +
		" AND o.cluster = r.cluster AND o.namespace = r.namespace" + s.db.named() + " AND " + isCustomBinding
	if err := read(bindings, bound); err != nil {
		return nil, err
	}
	if err := read(bindings, row+s.db.bindingOf()+" = r.name"); err != nil {
		return nil, err
	}
	return all, read(templates, row+"w.name = r.name")
}

// builtInBindings are the ends of the names of bindings of kinds that every instance has.
var builtInBindings = []string{"deployment", "statefulset", "daemonset", "job", "cronjob"}

// MissingCustom returns custom workloads that have a binding and no row. Bindings are not read whose
// name ends as that of a kind which every instance has: there are many, and a custom kind of the same
// name is rare.
func (s *Snapshot) MissingCustom(limit int) ([]WorkloadKey, error) {
	var names strings.Builder
	for _, end := range builtInBindings {
		names.WriteString(" AND o.name NOT LIKE '%-" + end + "'")
	}
	return s.keys("SELECT "+s.db.customColumns()+" FROM resources o LEFT JOIN kairship.workload w ON w.instance = substr(o.cluster, "+strconv.Itoa(len(v1alpha1.VirtualClusterPrefix)+1)+
		") AND w.namespace = o.namespace AND w.name = "+boundName+" AND w.kind = "+boundKind+" || '.' || "+s.db.boundGroup()+
		" WHERE "+isCustomBinding+names.String()+" AND w.id IS NULL LIMIT $1", limit)
}

// customTriggers are those that record changes of the templates of custom workloads.
func (db *DB) customTriggers() []trigger {
	return db.recording("kairship_custom", "record_custom", "record_deleted_custom", isCustomTemplate)
}

// installCustom makes the triggers that are missing. Where they were, changes of templates may have
// been missed, and all rows are computed again, while they are read.
func (db *DB) installCustom(ctx context.Context, s session) error {
	return db.installBeside(ctx, s, db.customTriggers())
}

// installBeside makes triggers that are missing, and has all rows computed again where they were, while they are
// read.
func (db *DB) installBeside(ctx context.Context, s session, all []trigger) error {
	installed, err := db.installTriggers(ctx, s, all)
	if err != nil || !installed {
		return err
	}
	return db.exec(ctx, s, "UPDATE kairship.meta SET refresh = $1 WHERE state = $2 AND refresh = ''", Needed, Complete)
}
