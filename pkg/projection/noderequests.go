package projection

import (
	"context"
	"database/sql"
)

// NodeKey names a node of a member cluster.
type NodeKey struct {
	MemberKey

	Node string
}

// Requested is what the pods on a node request that have not ended.
type Requested struct {
	// CPU is in cores, Memory in bytes.
	CPU, Memory float64
	Pods        int64
}

// NodeRequests reads what the pods on the nodes of some member clusters request, with one statement. A node without pods
// is missing.
func (db *DB) NodeRequests(ctx context.Context, members []MemberKey) (map[NodeKey]Requested, Moment, error) {
	found := map[NodeKey]Requested{}
	var at Moment
	if len(members) == 0 {
		return found, at, nil
	}
	s := &statement{db: db}
	pairs := make([][2]string, len(members))
	for i, m := range members {
		pairs[i] = [2]string{m.Instance, m.Name}
	}
	sums := "SELECT w.instance, w.cluster, w.node, sum(w.cpu_requests) AS cpu, sum(w.memory_requests) AS memory, count(*) AS pods FROM " + s.pairs(pairs) +
		" JOIN kairship.pod w ON w.instance = p.a AND w.cluster = p.b WHERE w.node <> '' AND w.phase NOT IN ('SUCCEEDED', 'FAILED') GROUP BY w.instance, w.cluster, w.node"
	text := "SELECT " + s.podMoment(false) + ", k.instance, k.cluster, k.node, k.cpu, k.memory, k.pods FROM kairship.meta m LEFT JOIN (" + sums + ") k ON true" + oneMeta
	err := s.read(ctx, &at, text, func(rows *sql.Rows, moment []any) error {
		var instance, cluster, node sql.NullString
		var cpu, memory sql.NullFloat64
		var pods sql.NullInt64
		if err := rows.Scan(append(moment, &instance, &cluster, &node, &cpu, &memory, &pods)...); err != nil || !node.Valid {
			return err
		}
		found[NodeKey{MemberKey{instance.String, cluster.String}, node.String}] = Requested{CPU: cpu.Float64, Memory: memory.Float64, Pods: pods.Int64}
		return nil
	})
	if err != nil {
		return nil, at, err
	}
	return found, at, nil
}
