package projection

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
)

// Owned are the pods of some owners: which of them, and where they are.
type Owned struct {
	// Owners are the UIDs of the owners.
	Owners []string `json:"owners"`
	// Places are the namespaces that the owners are in, with their clusters.
	Places []Place `json:"places"`
}

// Place is a namespace in a cluster of the index.
type Place struct {
	Cluster   string `json:"cluster"`
	Namespace string `json:"namespace"`
}

// Pod is a pod in the index.
type Pod struct {
	ResourceKey

	// Owner is the UID of its owner, or of what owns that: a Deployment owns the ReplicaSet
	// that owns a pod.
	Owner string
	Text  []byte
}

// Pods reads the pods of some owners, by name, with one statement.
//
// It is read in the namespaces of the owners alone: the author of a pod can give it any owner.
func (db *DB) Pods(ctx context.Context, of Owned) ([]Pod, error) {
	if len(of.Owners) == 0 {
		return nil, nil
	}
	parameter, err := json.Marshal(of)
	if err != nil {
		return nil, err
	}
	statement := podsStatement(db, "resources", "$1", ownedText)
	if db.postgres {
		statement = "SELECT owner, cluster, namespace, name, object FROM kairship.read_pods($1)"
	}
	var pods []Pod
	err = db.look(ctx, func(rows *sql.Rows) error {
		p := Pod{ResourceKey: ResourceKey{Version: "v1", Resource: "pods"}}
		err := rows.Scan(&p.Owner, &p.Cluster, &p.Namespace, &p.Name, &p.Text)
		pods = append(pods, p)
		return err
	}, statement, string(parameter))
	if noTable(err) {
		return nil, ErrIncomplete
	}
	return pods, err
}

// OwnedPod is a pod as the projection has it, with its owner; see Pod.
type OwnedPod struct {
	PodItem

	Owner string
}

// OwnedPods reads what the projection has of the pods of some owners, by name, with one statement; see Pods.
func (db *DB) OwnedPods(ctx context.Context, of Owned) (pods []OwnedPod, at Moment, err error) {
	if len(of.Owners) == 0 {
		return nil, at, nil
	}
	s := &statement{db: db}
	s.json(of)
	owned := podsStatement(db, "resources", "$1", "")
	if db.postgres {
		owned = "SELECT owner, cluster, namespace, name FROM kairship.owned_pods($1)"
	}
	text := "SELECT " + s.podMoment(false) + ", w.owner, " + s.podItem() + " FROM kairship.meta m LEFT JOIN (SELECT r.owner, " + names("w.", podKey, shownPodColumns) + " FROM (" + owned + ") r" +
		db.lookup("pod", "w", same("w", podKey)) + ") w ON true" + oneMeta + " ORDER BY " + strings.Join(s.podOrder(PodsByName), ", ")
	return pods, at, s.read(ctx, &at, text, func(rows *sql.Rows, moment []any) error {
		var owner sql.NullString
		var row []byte
		if err := rows.Scan(append(moment, &owner, &row)...); err != nil || row == nil {
			return err
		}
		var found PodSelection
		err := found.add(row)
		for i := range found.Items {
			pods = append(pods, OwnedPod{found.Items[i], owner.String})
		}
		return err
	})
}

// ownedText is the column of the text of a pod.
const ownedText = ", CAST(p.object AS text) AS object"

// podsStatement selects the pods of the owners in a parameter from a table: their owners, their names, and more of them.
func podsStatement(db *DB, table, of, more string) string {
	places, owners := "SELECT value->>'cluster' AS cluster, value->>'namespace' AS namespace FROM json_each("+of+", '$.places')", "SELECT value AS uid FROM json_each("+of+", '$.owners') WHERE value <> ''"
	by, anyOf, bytes := " INDEXED BY "+ownersIndex, "(%s)", ""
	if db.postgres {
		places = "SELECT r.cluster, r.namespace FROM jsonb_to_recordset(" + of + "->'places') AS r(cluster text, namespace text)"
		owners = "SELECT r.uid FROM jsonb_array_elements_text(" + of + "->'owners') AS r(uid) WHERE r.uid <> ''"
		by, anyOf, bytes = "", "ANY(ARRAY(%s))", ` COLLATE "C"`
	}
	in := func(alias, selected string) string {
		operator := " IN "
		if db.postgres {
			operator = " = "
		}
		return alias + ".owner_uid" + operator + fmt.Sprintf(anyOf, selected) + " AND (" + alias + ".cluster, " + alias + ".namespace) IN (SELECT s.cluster, s.namespace FROM places s)"
	}
	return "WITH places AS (" + places + "), owners AS (" + owners + "), " +
		// Those that stand between a workload and its pods.
		`middle AS (SELECT m.cluster, m.uid, m.owner_uid AS owner FROM ` + table + ` m` + by +
		` WHERE (m."group" = 'apps' AND m.resource = 'replicasets' OR m."group" = 'batch' AND m.resource = 'jobs') AND m.version = 'v1' AND ` + in("m", "SELECT uid FROM owners") + ") " +
		`SELECT coalesce(b.owner, p.owner_uid) AS owner, p.cluster, p.namespace, p.name` + more + ` FROM ` + table + ` p` + by +
		` LEFT JOIN middle b ON b.cluster = p.cluster AND b.uid = p.owner_uid WHERE p."group" = '' AND p.version = 'v1' AND p.resource = 'pods' AND ` +
		in("p", "SELECT uid FROM owners UNION ALL SELECT uid FROM middle") + " AND (b.uid IS NOT NULL OR p.owner_uid IN (SELECT uid FROM owners)) ORDER BY p.name" + bytes + ", p.cluster, p.namespace"
}

// ownersIndex is the index of Clusterpedia's table by which the pods of an owner are found:
// Clusterpedia has none. Only the owner of the table can make it.
const ownersIndex = "kairship_owners"

// installOwners makes the index of owners where it is missing and may be made. Without it
// the pods of workloads are found by reading all pods.
func (db *DB) installOwners(ctx context.Context, s session) error {
	if db.postgres {
		// Where it is there, nothing waits for those who write to the table; see installIndexes.
		var makes bool
		err := s.QueryRowContext(ctx, "SELECT pg_has_role(relowner, 'USAGE') AND NOT "+hasOwners+" FROM pg_class WHERE oid = 'resources'::regclass").Scan(&makes)
		if err != nil || !makes {
			return err
		}
	}
	_, err := s.ExecContext(ctx, createOwners)
	return err
}

// It has the kind as well, else PostgreSQL may read all pods of Clusterpedia's index of kinds beside it.
const createOwners = "CREATE INDEX IF NOT EXISTS " + ownersIndex + ` ON resources (owner_uid, "group", version, resource)`

// hasOwners is the condition that PostgreSQL has it.
const hasOwners = "EXISTS (SELECT 1 FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = 'resources'::regclass AND c.relname = '" + ownersIndex + "')"

// Lacking returns the statement that the owner of Clusterpedia's table has to run so that pods
// are found fast; empty when it has been run.
func (db *DB) Lacking(ctx context.Context) (statement string, err error) {
	if !db.postgres {
		return "", nil
	}
	var found bool
	err = db.sql.QueryRowContext(ctx, "SELECT "+hasOwners).Scan(&found)
	if found || err != nil {
		return "", err
	}
	return createOwners, nil
}
