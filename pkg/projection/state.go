package projection

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// The states of the projection, and of a refresh of it.
const (
	// Needed means that it has to be rebuilt.
	Needed = "needed"
	// Building means that all rows are in the outbox.
	Building = "building"
	// Complete means that every workload has its row, and every change since is in the outbox or in
	// the row.
	Complete = "complete"
)

// State returns the state of the projection, and that of a refresh: Needed or Building while rows
// are computed again and read meanwhile, else empty.
func (db *DB) State(ctx context.Context) (state, refresh string, err error) {
	err = db.sql.QueryRowContext(ctx, db.text("SELECT state, refresh FROM kairship.meta")).Scan(&state, &refresh)
	return state, refresh, err
}

// oldestChange is the expression of the time of the oldest change of workloads that is no part of a rebuild.
var oldestChange = oldest("outbox", laneCollected, laneConsequence)

// oldest is the expression of the time of the oldest change in some lanes of an outbox; NULL when there is
// none. Every request asks for it: each lane is read at the end of an index, however many changes wait.
func oldest(outbox string, lanes ...int) string {
	ends := make([]string, len(lanes))
	for i, lane := range lanes {
		ends[i] = "SELECT min(at) AS at FROM kairship." + outbox + " WHERE lane = " + strconv.Itoa(lane)
	}
	return "(SELECT min(ends.at) FROM (" + strings.Join(ends, " UNION ALL ") + ") ends)"
}

// Lag returns the age in seconds of the oldest change that is not dealt with; 0 when
// there is none. A row that is only computed again is no change, unless rows may be missing.
func (db *DB) Lag(ctx context.Context) (seconds float64, err error) {
	err = db.sql.QueryRowContext(ctx, db.text("SELECT coalesce("+db.now()+" - CASE WHEN state = $1 THEN "+oldestChange+" ELSE "+oldest("outbox", laneCollected, laneConsequence, laneRebuild)+" END, 0) FROM kairship.meta"), Complete).Scan(&seconds)
	return max(0, seconds), err
}

// now is the expression of the database's time.
func (db *DB) now() string {
	if db.postgres {
		return "extract(epoch FROM clock_timestamp())::float8"
	}
	return "unixepoch('subsec')"
}

// rebuildChunk is how many rows of the table resources one statement looks at.
const rebuildChunk = 5000

// Rebuild puts every workload and member into the outbox, of the index and of the
// projection. The rows that there are stay until they are computed again, and are read meanwhile if the
// projection is Complete.
func (db *DB) Rebuild(ctx context.Context) error {
	var collected, projected sql.NullInt64
	if err := db.sql.QueryRowContext(ctx, db.text("SELECT (SELECT max(id) FROM resources), (SELECT max(id) FROM kairship.workload)")).Scan(&collected, &projected); err != nil {
		return err
	}
	into := fmt.Sprintf("INSERT INTO kairship.outbox (%s, lane) SELECT ", names("", changeColumns))
	of := func(resources string) string {
		return fmt.Sprintf(`%scluster, "group", resource, namespace, name, %d FROM resources WHERE id > $1 AND id <= $2 AND cluster LIKE '%s%%' AND "group" || '/' || resource IN (%s)`,
			into, laneRebuild, v1alpha1.VirtualClusterPrefix, resources)
	}
	for _, each := range []struct {
		statement string
		last      int64
	}{
		{of("'cluster.karmada.io/clusters'"), collected.Int64},
		{of("'apps/deployments', 'apps/statefulsets', 'apps/daemonsets', 'batch/jobs', 'batch/cronjobs'"), collected.Int64},
		{into + `cluster, "group", resource, namespace, name, ` + strconv.Itoa(laneRebuild) + " FROM resources o WHERE id > $1 AND id <= $2 AND " + isCustomBinding, collected.Int64},
		{fmt.Sprintf("%s'%s' || instance, '%s', kind, namespace, name, %d FROM kairship.workload WHERE id > $1 AND id <= $2", into, v1alpha1.VirtualClusterPrefix, WorkloadGroup, laneRebuild), projected.Int64},
	} {
		for after := int64(0); after < each.last; after += rebuildChunk {
			if err := db.exec(ctx, db.sql, each.statement, after, after+rebuildChunk); err != nil {
				return err
			}
		}
	}
	return db.exec(ctx, db.sql, "UPDATE kairship.meta SET state = CASE WHEN state = $2 THEN $2 ELSE $1 END, refresh = CASE WHEN state = $2 THEN $1 ELSE '' END", Building, Complete)
}

// complete ends a rebuild. A projector of another version may have computed rows meanwhile: these
// are then computed again, and the version stays what all rows are at least of.
func (db *DB) complete(ctx context.Context, s session) error {
	const other = "EXISTS (SELECT 1 FROM kairship.workload WHERE projection <> $1)"
	return db.exec(ctx, s, `UPDATE kairship.meta SET version = CASE WHEN `+other+` THEN version ELSE $1 END,
		state = CASE WHEN state = $2 THEN $3 ELSE state END,
		refresh = CASE WHEN refresh = $4 OR `+other+` THEN $4 ELSE '' END
		WHERE state = $2 OR refresh = $2`, Version, Building, Complete, Needed)
}

// SetCollections stores what the inventory knows of the clusters that the index collects
// from. What runs on those that changed is computed again. One program calls it at a time.
func (db *DB) SetCollections(ctx context.Context, all []Collection) error {
	before, err := (&Snapshot{db: db, session: db.sql, ctx: ctx}).Collections()
	if err != nil {
		return err
	}
	changed, affected := compare(before, all)
	if len(changed) == 0 {
		return nil
	}
	rows, err := json.Marshal(changed)
	if err != nil {
		return err
	}
	return db.immediate(ctx, func(s session) error {
		if err := db.exec(ctx, s, db.upsert("collection", collectionKey, collectionColumns), string(rows)); err != nil {
			return err
		}
		for i := range affected {
			if err := db.enqueue(ctx, s, &affected[i], nil); err != nil {
				return err
			}
		}
		return nil
	})
}

// compare finds the collections that changed, and the workloads that this concerns: of
// the instance before, and of the one now. One that is not known any more is joined to
// no instance.
func compare(before, now []Collection) (changed []Collection, affected []Affected) {
	known := map[string]Collection{}
	for _, c := range before {
		known[c.Cluster] = c
	}
	wanted := map[string]Collection{}
	for name := range known {
		wanted[name] = Collection{Cluster: name}
	}
	for _, c := range now {
		wanted[c.Cluster] = c
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		was, is := known[name], wanted[name]
		if was == is {
			continue
		}
		changed = append(changed, is)
		if was.Instance != "" {
			affected = append(affected, Affected{Instance: was.Instance, Member: name})
		}
		if is.Instance != "" && is.Instance != was.Instance {
			affected = append(affected, Affected{Instance: is.Instance, Member: name})
		}
	}
	return changed, affected
}
