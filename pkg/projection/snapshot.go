package projection

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// Snapshot reads the database as it is at one moment.
type Snapshot struct {
	db      *DB
	session session
	ctx     context.Context //nolint:containedctx // It lives as long as the Round that makes it.
}

// Pending returns the first changes that are to be dealt with.
func (s *Snapshot) Pending(limit int) ([]Change, error) {
	var changes []Change
	err := s.db.query(s.ctx, s.session, func(rows *sql.Rows) error {
		var c Change
		err := rows.Scan(&c.ID, &c.Cluster, &c.Group, &c.Resource, &c.Namespace, &c.Name)
		changes = append(changes, c)
		return err
	}, "SELECT id, "+names("", changeColumns)+" FROM kairship.outbox ORDER BY lane, at, id LIMIT $1", limit)
	return changes, err
}

// Rebuilt reports whether a rebuild is under way of which all changes have been dealt with.
func (s *Snapshot) Rebuilt() (rebuilt bool, err error) {
	err = s.session.QueryRowContext(s.ctx, s.db.text("SELECT (state = $1 OR refresh = $1) AND NOT EXISTS (SELECT 1 FROM kairship.outbox WHERE lane = $2) FROM kairship.meta"),
		Building, laneRebuild).Scan(&rebuilt)
	return rebuilt, err
}

// Objects returns those of some objects that the index has.
func (s *Snapshot) Objects(piece Piece, keys []ResourceKey) ([]Object, error) {
	return s.db.objects(s.ctx, s.session, s.db.objectsStatement(piece, "resources", "$1")+s.db.named(), keys)
}

// InNamespaces returns all objects of the namespaces of some keys, whose names are not
// looked at. The empty namespace has the objects without one.
func (s *Snapshot) InNamespaces(keys []ResourceKey) ([]Object, error) {
	return s.db.objects(s.ctx, s.session, s.db.objectsStatement(Whole, "resources", "$1"), keys)
}

// Workloads returns the rows of some workloads.
func (s *Snapshot) Workloads(keys []WorkloadKey) ([]Workload, error) {
	rows, err := json.Marshal(keys)
	if err != nil {
		return nil, err
	}
	return read[Workload](s, "SELECT "+s.db.object(of{"w", workloadKey}, of{"w", workloadColumns}, of{"d", docColumns}, of{"o", objectColumns}, of{"f", searchColumns})+
		" FROM "+s.db.rows(workloadKey)+s.db.lookup("workload", "w", same("w", workloadKey))+
		s.db.lookup("workload_doc", "d", "d.id = w.id")+s.db.lookup("workload_object", "o", "o.id = w.id")+s.db.lookup("workload_search", "f", "f.id = w.id"), string(rows))
}

// Members returns the members of an instance.
func (s *Snapshot) Members(instance string) ([]Member, error) {
	return read[Member](s, "SELECT "+s.db.object(of{"m", memberKey}, of{"m", memberColumns})+" FROM kairship.member m WHERE m.instance = $1", instance)
}

// Collections returns all clusters of the inventory that the index collects from.
func (s *Snapshot) Collections() ([]Collection, error) {
	return read[Collection](s, "SELECT "+s.db.object(of{"c", collectionKey}, of{"c", collectionColumns})+" FROM kairship.collection c")
}

// read reads rows that come as JSON objects.
func read[T any](s *Snapshot, statement string, args ...any) ([]T, error) {
	var all []T
	return all, s.db.query(s.ctx, s.session, func(rows *sql.Rows) error {
		var text []byte
		if err := rows.Scan(&text); err != nil {
			return err
		}
		var row T
		err := json.Unmarshal(text, &row)
		all = append(all, row)
		return err
	}, statement, args...)
}

// Keys returns the keys of rows after an ID, and the ID of the last of them.
func (s *Snapshot) Keys(after int64, limit int) (keys []WorkloadKey, last int64, err error) {
	last = after
	err = s.db.query(s.ctx, s.session, func(rows *sql.Rows) error {
		var k WorkloadKey
		err := rows.Scan(&last, &k.Instance, &k.Namespace, &k.Name, &k.Kind)
		keys = append(keys, k)
		return err
	}, "SELECT id, "+names("", workloadKey)+" FROM kairship.workload WHERE id > $1 ORDER BY id LIMIT $2", after, limit)
	return keys, last, err
}

// Missing returns workloads of a kind that the index has and that have no row.
func (s *Snapshot) Missing(kind, group, version, resource string, limit int) ([]WorkloadKey, error) {
	var keys []WorkloadKey
	return keys, s.db.query(s.ctx, s.session, func(rows *sql.Rows) error {
		k := WorkloadKey{Kind: kind}
		err := rows.Scan(&k.Instance, &k.Namespace, &k.Name)
		keys = append(keys, k)
		return err
	}, `SELECT substr(o.cluster, $1), o.namespace, o.name FROM resources o LEFT JOIN kairship.workload w
		ON w.instance = substr(o.cluster, $1) AND w.namespace = o.namespace AND w.name = o.name AND w.kind = $2
		WHERE o."group" = $3 AND o.version = $4 AND o.resource = $5 AND o.cluster LIKE $6 AND w.id IS NULL LIMIT $7`,
		len(v1alpha1.VirtualClusterPrefix)+1, kind, group, version, resource, v1alpha1.VirtualClusterPrefix+"%", limit)
}

// keys reads the keys of workloads.
func (s *Snapshot) keys(statement string, args ...any) ([]WorkloadKey, error) {
	var keys []WorkloadKey
	return keys, s.db.query(s.ctx, s.session, func(rows *sql.Rows) error {
		var k WorkloadKey
		err := rows.Scan(&k.Instance, &k.Namespace, &k.Name, &k.Kind)
		keys = append(keys, k)
		return err
	}, statement, args...)
}

// MemberKeys returns the names of all members that the index or the projection has.
func (s *Snapshot) MemberKeys() ([]MemberKey, error) {
	var keys []MemberKey
	return keys, s.db.query(s.ctx, s.session, func(rows *sql.Rows) error {
		var k MemberKey
		err := rows.Scan(&k.Instance, &k.Name)
		keys = append(keys, k)
		return err
	}, `SELECT substr(cluster, $1), name FROM resources WHERE "group" = 'cluster.karmada.io' AND resource = 'clusters' AND cluster LIKE $2
		UNION SELECT instance, name FROM kairship.member`, len(v1alpha1.VirtualClusterPrefix)+1, v1alpha1.VirtualClusterPrefix+"%")
}

// Affected says which workloads of an instance a change concerns: those with a policy, or
// those with a Work, or those in a member cluster and those that are not healthy, whose
// message may name any member, or those of a namespace, or all.
type Affected struct {
	Instance                    string
	PolicyNamespace, PolicyName string
	Work                        string
	Member                      string
	Namespace                   string
	All                         bool
}

func (a *Affected) where(db *DB) (condition string, args []any) {
	switch {
	case a.PolicyName != "":
		return "instance = $1 AND policy_namespace = $2 AND policy_name = $3", []any{a.Instance, a.PolicyNamespace, a.PolicyName}
	case a.Namespace != "":
		return "instance = $1 AND namespace = $2", []any{a.Instance, a.Namespace}
	case a.All:
		return "instance = $1", []any{a.Instance}
	case a.Work != "":
		return "instance = $1 AND work_name = $2", []any{a.Instance, a.Work}
	default:
		return "instance = $1 AND (" + db.contains("clusters", "$2") + " OR health <> 'HEALTHY')", []any{a.Instance, a.Member}
	}
}

// Affected returns the workloads that a change concerns.
func (s *Snapshot) Affected(a *Affected) ([]WorkloadKey, error) {
	condition, args := a.where(s.db)
	return read[WorkloadKey](s, "SELECT "+s.db.object(of{"w", workloadKey})+" FROM kairship.workload w WHERE "+condition, args...)
}

// enqueue has the workloads that a change concerns computed again, after what the
// collector wrote. The projection lacks the change until then, so its time goes with them;
// nil stands for now.
func (db *DB) enqueue(ctx context.Context, s session, a *Affected, since *float64) error {
	condition, args := a.where(db)
	columns, values := "lane", strconv.Itoa(laneConsequence)
	if since != nil {
		args = append(args, *since)
		columns, values = columns+", at", fmt.Sprintf("%s, CAST($%d AS double precision)", values, len(args))
	}
	return db.exec(ctx, s, fmt.Sprintf("INSERT INTO kairship.outbox (%s, %s) SELECT '%s' || instance, '%s', kind, namespace, name, %s FROM kairship.workload WHERE %s",
		names("", changeColumns), columns, v1alpha1.VirtualClusterPrefix, WorkloadGroup, values, condition), args...)
}
