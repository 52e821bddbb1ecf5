package projection

import (
	"context"
	"database/sql"
)

// Sent is a member cluster that a workload in a namespace of an instance was sent to.
type Sent struct{ Instance, Namespace, Cluster string }

// SentTo reads to which member clusters workloads in some scopes were sent, each once.
func (db *DB) SentTo(ctx context.Context, scopes []Scope) (map[Sent]bool, Moment, error) {
	found := map[Sent]bool{}
	var at Moment
	pairs := scopePairs(nil, scopes)
	if len(pairs) == 0 {
		return found, at, nil
	}
	s := &statement{db: db}
	text := "SELECT " + db.moment(earliest) + ", k.a, k.b, k.c FROM kairship.meta m LEFT JOIN (" + s.sent(pairs) + ") k ON true" + oneMeta
	err := s.read(ctx, &at, text, func(rows *sql.Rows, moment []any) error {
		var instance, namespace, cluster sql.NullString
		if err := rows.Scan(append(moment, &instance, &namespace, &cluster)...); err != nil || !cluster.Valid {
			return err
		}
		found[Sent{instance.String, namespace.String, cluster.String}] = true
		return nil
	})
	if err != nil {
		return nil, at, err
	}
	return found, at, nil
}

// sent selects the member clusters c that a workload was sent to, of pairs of an instance a and a
// namespace b.
func (s *statement) sent(pairs [][2]string) string {
	from := "SELECT DISTINCT p.a, p.b, e.value AS c FROM " + s.pairs(pairs) + " CROSS JOIN "
	if s.db.postgres {
		// It would read the whole table of workloads for several pairs.
		return from + "LATERAL (SELECT x.clusters FROM kairship.workload x WHERE x.instance = p.a AND x.namespace = p.b OFFSET 0) x CROSS JOIN " + s.elements("x.clusters")
	}
	return from + "kairship.workload x CROSS JOIN " + s.elements("x.clusters") + " WHERE x.instance = p.a AND x.namespace = p.b"
}
