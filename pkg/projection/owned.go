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
// Clusterpedia has no index of owners. What is in a namespace is found by the index of the
// keys, so that it is read in the namespaces of the owners alone.
func (db *DB) Pods(ctx context.Context, of Owned) ([]Pod, error) {
	if len(of.Owners) == 0 {
		return nil, nil
	}
	parameter, err := json.Marshal(of)
	if err != nil {
		return nil, err
	}
	statement := podsStatement(db, "resources", "$1")
	if db.postgres {
		statement = "SELECT owner, cluster, namespace, name, object FROM kairship.read_pods($1)"
	}
	var pods []Pod
	err = db.query(ctx, db.sql, func(rows *sql.Rows) error {
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

// podsStatement selects the pods of the owners in a parameter from a table.
func podsStatement(db *DB, table, of string) string {
	places, owners := "SELECT value->>'cluster' AS cluster, value->>'namespace' AS namespace FROM json_each("+of+", '$.places')", "SELECT value AS uid FROM json_each("+of+", '$.owners')"
	bytes := ""
	if db.postgres {
		places = "SELECT r.cluster, r.namespace FROM jsonb_to_recordset(" + of + "->'places') AS r(cluster text, namespace text)"
		owners = "SELECT r.uid FROM jsonb_array_elements_text(" + of + "->'owners') AS r(uid)"
		bytes = ` COLLATE "C"`
	}
	in := func(alias, group, version, resource string) string {
		return fmt.Sprintf(`places s CROSS JOIN %[1]s %[2]s WHERE %[2]s."group" = '%[3]s' AND %[2]s.version = '%[4]s' AND %[2]s.resource = '%[5]s' AND %[2]s.cluster = s.cluster AND %[2]s.namespace = s.namespace`,
			table, alias, group, version, resource)
	}
	// Those that stand between a workload and its pods.
	var between []string
	for _, kind := range [][3]string{{"apps", "v1", "replicasets"}, {"batch", "v1", "jobs"}} {
		between = append(between, "SELECT m.cluster, m.uid, m.owner_uid AS owner FROM "+in("m", kind[0], kind[1], kind[2])+" AND m.owner_uid IN (SELECT uid FROM owners)")
	}
	return "WITH places AS (" + places + "), owners AS (" + owners + "), middle AS (" + strings.Join(between, " UNION ALL ") + ") " +
		"SELECT coalesce(b.owner, o.owner_uid), o.cluster, o.namespace, o.name, CAST(o.object AS text) FROM (SELECT p.cluster, p.namespace, p.name, p.owner_uid, p.object FROM " + in("p", "", "v1", "pods") +
		" AND p.owner_uid <> '') o LEFT JOIN middle b ON b.cluster = o.cluster AND b.uid = o.owner_uid WHERE b.owner IS NOT NULL OR o.owner_uid IN (SELECT uid FROM owners) ORDER BY o.name" + bytes + ", o.cluster, o.namespace"
}
