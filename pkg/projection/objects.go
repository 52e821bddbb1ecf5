package projection

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Object is an object of the index, in parts: little is needed of some kinds.
type Object struct {
	ResourceKey

	// Text is the object, or the part of it that was asked for.
	Text []byte
}

// ResourceKey names an object of the index.
type ResourceKey struct {
	Cluster   string `json:"cluster"`
	Group     string `json:"grp"`
	Version   string `json:"version"`
	Resource  string `json:"resource"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// Piece is a part of an object.
type Piece string

// The pieces that are read.
const (
	Whole Piece = "object"
	// Metadata is the metadata alone: a Work holds whole manifests.
	Metadata Piece = "object->'metadata'"
)

// Readable reports whether Objects reads a resource: those that workloads consist of.
func Readable(group, resource string) bool { return slices.Contains(tracked, group+"/"+resource) }

// Objects reads some objects with one statement. Those that the index does not have are
// missing, and so are those that are not Readable.
//
// A reader may not read what Clusterpedia collects. It calls a function with the rights of
// its owner, which has these resources alone.
func (db *DB) Objects(ctx context.Context, piece Piece, keys []ResourceKey) ([]Object, error) {
	if !db.postgres {
		return db.objects(ctx, db.sql, db.objectsStatement(piece, "resources", "$1")+db.named()+" AND "+isTracked("o."), keys)
	}
	found, err := db.objects(ctx, db.sql, "SELECT cluster, grp, version, resource, namespace, name, object FROM kairship."+readers[piece]+"($1)", keys)
	if noTable(err) {
		return nil, ErrIncomplete
	}
	return found, err
}

// objects executes a statement whose parameter are the keys of the objects that it selects.
func (db *DB) objects(ctx context.Context, s session, statement string, keys []ResourceKey) ([]Object, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	rows, err := json.Marshal(keys)
	if err != nil {
		return nil, err
	}
	var objects []Object
	return objects, db.query(ctx, s, func(rows *sql.Rows) error {
		var o Object
		err := rows.Scan(&o.Cluster, &o.Group, &o.Version, &o.Resource, &o.Namespace, &o.Name, &o.Text)
		objects = append(objects, o)
		return err
	}, statement, string(rows))
}

// named is the condition that an object has the name of the key, beside its cluster and namespace.
//
// PostgreSQL believes that a name is rare, and would read the objects of a kind that have it in all
// clusters and namespaces, by Clusterpedia's index of names: the same application in a thousand of them
// is a thousand rows for each that is asked for. It believes that a range is wide, and reads one that
// begins and ends with the name by the unique index.
func (db *DB) named() string {
	if db.postgres {
		return " AND o.name >= r.name AND o.name <= r.name"
	}
	return " AND o.name = r.name"
}

// objectsStatement selects a piece of the objects of a table that are in the namespaces of
// keys, which are in a parameter. A CROSS JOIN keeps SQLite from beginning with the large table.
func (db *DB) objectsStatement(piece Piece, table, keys string) string {
	return `SELECT r.cluster, r.grp, r.version, r.resource, r.namespace, o.name, CAST(o.` + string(piece) + ` AS text) FROM ` +
		strings.Replace(db.rows(resourceColumns), "$1", keys, 1) + ` CROSS JOIN ` + table +
		` o WHERE o."group" = r.grp AND o.version = r.version AND o.resource = r.resource AND o.cluster = r.cluster AND o.namespace = r.namespace`
}

// readers are the functions that read a piece of objects.
var readers = map[Piece]string{Whole: "read_objects", Metadata: "read_metadata"}

// installReaders makes the functions. Their bodies are text, so that Clusterpedia can
// change the types of its columns, and name the schema of its table, so that no other table
// can take its place.
func (db *DB) installReaders(ctx context.Context, s session) error {
	if !db.postgres {
		return nil
	}
	var table string
	err := s.QueryRowContext(ctx, "SELECT format('%I.%I', n.nspname, c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = 'resources'::regclass").Scan(&table)
	if err != nil {
		return err
	}
	const object = "cluster text, grp text, version text, resource text, namespace text, name text, object text"
	for _, f := range []struct{ name, columns, statement string }{
		{readers[Whole], object, db.objectsStatement(Whole, table, "asked") + db.named() + " AND " + isTracked("o.")},
		{readers[Metadata], object, db.objectsStatement(Metadata, table, "asked") + db.named() + " AND " + isTracked("o.")},
		{"read_pods", "owner text, cluster text, namespace text, name text, object text", podsStatement(db, table, "asked", ownedText)},
		{"owned_pods", "owner text, cluster text, namespace text, name text", podsStatement(db, table, "asked", "")},
	} {
		_, err := s.ExecContext(ctx, "CREATE OR REPLACE FUNCTION kairship."+f.name+"(asked jsonb) RETURNS TABLE("+f.columns+") "+
			"LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$"+f.statement+"$$")
		if err != nil {
			return fmt.Errorf("making the function %s: %w", f.name, err)
		}
	}
	return nil
}
