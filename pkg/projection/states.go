package projection

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
)

// State is the state of a workload, and the version of its template that it was computed for.
type State struct {
	WorkloadKey

	UID             string      `json:"uid"`
	ResourceVersion string      `json:"resource_version"`
	Health          string      `json:"health"`
	Message         string      `json:"message"`
	Suspended       bool        `json:"suspended"`
	Desired         int32       `json:"desired"`
	Updated         int32       `json:"updated"`
	Ready           int32       `json:"ready"`
	Available       int32       `json:"available"`
	Placements      []Placement `json:"placements"`
	BindingID       string      `json:"binding_id"`
}

// stateColumns and stateDocColumns are the columns of a State, by table.
var (
	stateColumns    = []column{{"uid", text}, {"resource_version", text}, {"health", text}}
	stateDocColumns = []column{
		{"message", text}, {"suspended", boolean}, {"desired", integer}, {"updated", integer}, {"ready", integer}, {"available", integer}, {"placements", document},
		{"binding_id", text},
	}
)

// States are the states of some workloads at one moment.
type States struct {
	Moment

	// States are those that the projection has, in no order.
	States []State
}

// States reads the states of some workloads with one statement.
func (db *DB) States(ctx context.Context, keys []WorkloadKey) (*States, error) {
	s := &statement{db: db}
	s.json(keys) // The parameter that rows reads.
	text := "SELECT " + db.moment() + ", s.state FROM kairship.meta m LEFT JOIN (SELECT " +
		db.object(of{"w", workloadKey}, of{"w", stateColumns}, of{"d", stateDocColumns}) + " AS state FROM " + db.rows(workloadKey) +
		" CROSS JOIN kairship.workload w JOIN kairship.workload_doc d ON d.id = w.id WHERE " + same("w", workloadKey) + ") s ON true"
	found := &States{States: make([]State, 0, len(keys))}
	return found, s.read(ctx, &found.Moment, text, func(rows *sql.Rows, moment []any) error {
		var row []byte
		if err := rows.Scan(append(moment, &row)...); err != nil || row == nil {
			return err
		}
		var one State
		if err := json.Unmarshal(row, &one); err != nil {
			return fmt.Errorf("reading the state of a workload: %w", err)
		}
		found.States = append(found.States, one)
		return nil
	})
}
