package projection

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// The table pod has a row for each pod of a member cluster. A row follows from one object of the
// index alone, and from the instance that the cluster is joined to. So pods have triggers, an outbox
// and a state of their own: workloads never wait for them, and an earlier release, which does
// not know them, leaves the names of those that changed in place.

// PodVersion is that of what the projector computes of pods. The rows of another version are not
// read.
const PodVersion = 2

// podKey are the columns that name a pod. The index has a cluster once, whatever its instance.
var podKey = []column{{"cluster", text}, {"namespace", text}, {"name", text}}

// podColumns are those of the table pod besides its key.
var podColumns = []column{
	{"instance", text}, {"uid", text}, {"resource_version", text}, {"created_at", bigint}, {"phase", text}, {"ready", boolean}, {"restarts", integer},
	{"node", text}, {"pod_ip", text}, {"message", text}, {"label_kv", list}, {"images", list}, {"image_keys", list}, {"search", text}, {"projection", integer},
	{"cpu_requests", double}, {"memory_requests", double},
}

// IndexPodKey names a pod of the index.
type IndexPodKey struct {
	Cluster   string `json:"cluster"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// PodRow is the row of a pod.
type PodRow struct {
	IndexPodKey

	// Instance is the one that the cluster is joined to; empty for none.
	Instance        string `json:"instance"`
	UID             string `json:"uid"`
	ResourceVersion string `json:"resource_version"`
	// CreatedAt is in seconds since 1970.
	CreatedAt int64 `json:"created_at"`
	// Phase is a value of the GraphQL enum PodPhase.
	Phase    string `json:"phase"`
	Ready    bool   `json:"ready"`
	Restarts int32  `json:"restarts"`
	Node     string `json:"node"`
	PodIP    string `json:"pod_ip"`
	Message  string `json:"message"`
	// LabelKV are the labels as key=value.
	LabelKV   []string `json:"label_kv"`
	Images    []string `json:"images"`
	ImageKeys []string `json:"image_keys"`
	Search    string   `json:"search"`
	// CPURequests are in cores, MemoryRequests in bytes.
	CPURequests    float64 `json:"cpu_requests"`
	MemoryRequests float64 `json:"memory_requests"`
	// Projection is the PodVersion that the row was computed by.
	Projection int `json:"projection"`
}

// PodChange names a pod that has changed. Without a namespace and a name, the instance of the
// cluster has changed.
type PodChange struct {
	IndexPodKey

	ID int64 `json:"-"`
}

// PodWrites are what a Round stores of pods.
type PodWrites struct {
	// Done are the IDs of the changes that are dealt with.
	Done []int64
	// Rows are to be stored, Gone to be removed.
	Rows []PodRow
	Gone []IndexPodKey
	// Moved are clusters whose instance changed.
	Moved []string
	// Complete reports whether all pods have their rows.
	Complete bool
}

func (w *PodWrites) empty() bool {
	return len(w.Done)+len(w.Rows)+len(w.Gone)+len(w.Moved) == 0 && !w.Complete
}

// The lanes of the outbox of pods.
const (
	podLaneCollected = iota
	podLaneRebuild
)

const appendPod = `INSERT INTO kairship.pod_outbox (cluster, namespace, name)`

func isPod(row string) string {
	return fmt.Sprintf(`%[1]sresource = 'pods' AND %[1]s"group" = ''`, row)
}

// collectedPods is the condition that a row of the table resources is a pod of a member cluster.
const collectedPods = `o."group" = '' AND o.version = 'v1' AND o.resource = 'pods' AND o.cluster NOT LIKE '` + v1alpha1.VirtualClusterPrefix + `%'`

// instanceOf is the expression of the instance that the cluster of a row is joined to.
func instanceOf(row string) string {
	return "coalesce((SELECT c.instance FROM kairship.collection c WHERE c.cluster = " + row + ".cluster), '')"
}

// each are the values of the first parameter, a JSON list.
func (db *DB) each() string {
	if db.postgres {
		return "jsonb_array_elements_text($1::jsonb)"
	}
	return "json_each($1)"
}

// podTriggers are those that record the pods that changed, and the clusters whose instance did.
func (db *DB) podTriggers() []trigger {
	if db.postgres {
		return []trigger{
			{"resources", "kairship_pod_inserted", "record_pod", "CREATE TRIGGER kairship_pod_inserted AFTER INSERT ON resources FOR EACH ROW EXECUTE FUNCTION kairship.record_pod()"},
			{"resources", "kairship_pod_updated", "record_pod", "CREATE TRIGGER kairship_pod_updated AFTER UPDATE ON resources FOR EACH ROW EXECUTE FUNCTION kairship.record_pod()"},
			{"resources", "kairship_pod_deleted", "record_deleted_pods", "CREATE TRIGGER kairship_pod_deleted AFTER DELETE ON resources REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION kairship.record_deleted_pods()"},
			{"kairship.collection", "kairship_moved", "record_moved", "CREATE TRIGGER kairship_moved AFTER INSERT OR UPDATE ON kairship.collection FOR EACH ROW EXECUTE FUNCTION kairship.record_moved()"},
		}
	}
	body := func(row string) string {
		return fmt.Sprintf(` BEGIN `+db.text(appendPod)+` VALUES (%[1]scluster, %[1]snamespace, %[1]sname); END`, row)
	}
	moved := ` BEGIN ` + db.text(appendPod) + ` VALUES (NEW.cluster, '', ''); END`
	return []trigger{
		{"resources", "kairship_pod_inserted", "", `CREATE TRIGGER kairship_pod_inserted AFTER INSERT ON resources WHEN ` + isPod("NEW.") + body("NEW.")},
		{"resources", "kairship_pod_updated", "", `CREATE TRIGGER kairship_pod_updated AFTER UPDATE ON resources WHEN (NEW.uid <> OLD.uid OR NEW.resource_version <> OLD.resource_version) AND ` +
			isPod("NEW.") + body("NEW.")},
		{"resources", "kairship_pod_deleted", "", `CREATE TRIGGER kairship_pod_deleted AFTER DELETE ON resources WHEN ` + isPod("OLD.") + body("OLD.")},
		{"kairship.collection", "kairship_moved_inserted", "", `CREATE TRIGGER kairship_moved_inserted AFTER INSERT ON kairship.collection` + moved},
		{"kairship.collection", "kairship_moved_updated", "", `CREATE TRIGGER kairship_moved_updated AFTER UPDATE ON kairship.collection WHEN NEW.instance <> OLD.instance` + moved},
	}
}

// podIndexes are one for each order, and those that filters and namespaces need.
func (db *DB) podIndexes() []tableIndex {
	s := &statement{db: db}
	order := func(field PodOrderField) string {
		return "pod (" + strings.ReplaceAll(strings.Join(s.podOrder(field), ", "), "w.", "") + ")"
	}
	all := []tableIndex{
		{"pod_by_namespace", order(PodsByNamespace)},
		{"pod_by_name", order(PodsByName)},
		{"pod_by_creation", order(PodsByCreation)},
		{"pod_by_restarts", order(PodsByRestarts)},
		{"pod_phase", "pod (instance, phase, ready)"},
		{"pod_place", "pod (instance, namespace, cluster)"},
		{"pod_node", "pod (node)"},
		{"pod_outbox_oldest", "pod_outbox (lane, at, id)"},
	}
	if db.postgres {
		all = append(all, tableIndex{"pod_labels", "pod USING gin (label_kv)"}, tableIndex{"pod_images", "pod USING gin (image_keys)"})
	}
	return all
}

// installPods makes the triggers of pods. Where one was missing, or rows are of another version, pods
// are not read until all are computed again; workloads are.
func (db *DB) installPods(ctx context.Context, s session) error {
	installed, err := db.installTriggers(ctx, s, db.podTriggers())
	if err != nil {
		return err
	}
	return db.exec(ctx, s, "UPDATE kairship.meta SET pods = $1, pods_version = $2 WHERE $3 OR pods = '' OR pods_version <> $2", Needed, PodVersion, installed)
}

// PodState returns the state of the table pod: Needed, Building or Complete.
func (db *DB) PodState(ctx context.Context) (state string, err error) {
	err = db.sql.QueryRowContext(ctx, db.text("SELECT pods FROM kairship.meta")).Scan(&state)
	return state, err
}

// oldestPodChange is the expression of the time of the oldest change of pods that is no part of a rebuild.
var oldestPodChange = oldest("pod_outbox", podLaneCollected)

// PodLag returns the age in seconds of the oldest change that is not in the table pod; 0 when there
// is none.
func (db *DB) PodLag(ctx context.Context) (seconds float64, err error) {
	err = db.sql.QueryRowContext(ctx, db.text("SELECT coalesce("+db.now()+" - CASE WHEN pods = $1 THEN "+oldestPodChange+" ELSE "+oldest("pod_outbox", podLaneCollected, podLaneRebuild)+" END, 0) FROM kairship.meta"), Complete).Scan(&seconds)
	return max(0, seconds), err
}

// RebuildPods puts every pod into the outbox, of the index and of the projection. The rows are read
// meanwhile if they are Complete.
func (db *DB) RebuildPods(ctx context.Context) error {
	var last sql.NullInt64
	if err := db.sql.QueryRowContext(ctx, "SELECT max(id) FROM resources").Scan(&last); err != nil {
		return err
	}
	// The kind is compared so that no index has it: PostgreSQL would read that of all pods for each chunk.
	const inChunk = `resources o WHERE o.id > $1 AND o.id <= $2 AND o."group" || '/' || o.version || '/' || o.resource = '/v1/pods' AND o.cluster NOT LIKE '` + v1alpha1.VirtualClusterPrefix + `%'`
	into := fmt.Sprintf("INSERT INTO kairship.pod_outbox (%s, lane) SELECT %s, %d FROM ", names("", podKey), names("o.", podKey), podLaneRebuild)
	for after := int64(0); after < last.Int64; after += rebuildChunk {
		if err := db.exec(ctx, db.sql, into+inChunk, after, after+rebuildChunk); err != nil {
			return err
		}
	}
	if err := db.exec(ctx, db.sql, into+"kairship.pod o WHERE "+leftOver); err != nil {
		return err
	}
	return db.exec(ctx, db.sql, "UPDATE kairship.meta SET pods = $1 WHERE pods <> $2", Building, Complete)
}

// leftOver is the condition that a row o of the table pod is of no pod of the index.
const leftOver = `NOT EXISTS (SELECT 1 FROM resources r WHERE r."group" = '' AND r.version = 'v1' AND r.resource = 'pods' AND r.cluster = o.cluster AND r.namespace = o.namespace AND r.name = o.name)`

// PendingPods returns the first changes of pods that are to be dealt with.
func (s *Snapshot) PendingPods(limit int) ([]PodChange, error) {
	var changes []PodChange
	return changes, s.db.query(s.ctx, s.session, func(rows *sql.Rows) error {
		var c PodChange
		err := rows.Scan(&c.ID, &c.Cluster, &c.Namespace, &c.Name)
		changes = append(changes, c)
		return err
	}, "SELECT id, "+names("", podKey)+" FROM kairship.pod_outbox ORDER BY lane, at, id LIMIT $1", limit)
}

// PodsRebuilt reports whether pods are being built and all have been dealt with.
func (s *Snapshot) PodsRebuilt() (rebuilt bool, err error) {
	err = s.session.QueryRowContext(s.ctx, s.db.text("SELECT pods = $1 AND NOT EXISTS (SELECT 1 FROM kairship.pod_outbox WHERE lane = $2) FROM kairship.meta"), Building, podLaneRebuild).Scan(&rebuilt)
	return rebuilt, err
}

// CollectedPod is a pod of the index.
type CollectedPod struct {
	IndexPodKey

	UID, ResourceVersion string
	// Text is the pod without its spec and status but for what rows are made of.
	Text []byte
}

// Pods returns those of some pods that the index has.
func (s *Snapshot) Pods(keys []IndexPodKey) ([]CollectedPod, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	asked, err := json.Marshal(keys)
	if err != nil {
		return nil, err
	}
	all := make([]CollectedPod, 0, len(keys))
	return all, s.db.query(s.ctx, s.session, func(rows *sql.Rows) error {
		var p CollectedPod
		err := rows.Scan(&p.Cluster, &p.Namespace, &p.Name, &p.UID, &p.ResourceVersion, &p.Text)
		all = append(all, p)
		return err
	}, "SELECT "+names("o.", podKey)+", o.uid, o.resource_version, CAST(o.object AS text) FROM "+s.db.rows(podKey)+
		` CROSS JOIN resources o WHERE o."group" = '' AND o.version = 'v1' AND o.resource = 'pods' AND o.cluster = r.cluster AND o.namespace = r.namespace`+s.db.named(), string(asked))
}

// PodRows returns the rows of some pods.
func (s *Snapshot) PodRows(keys []IndexPodKey) ([]PodRow, error) {
	asked, err := json.Marshal(keys)
	if err != nil {
		return nil, err
	}
	return read[PodRow](s, "SELECT "+s.db.object(of{"w", podKey}, of{"w", podColumns})+" FROM "+s.db.rows(podKey)+" CROSS JOIN kairship.pod w WHERE "+same("w", podKey), string(asked))
}

// DifferentPods returns pods whose rows are missing, left over, or of another version of the pod or
// of another instance. A row follows from these alone, so that no pod has to be decoded.
func (s *Snapshot) DifferentPods(limit int) ([]IndexPodKey, error) {
	var keys []IndexPodKey
	return keys, s.db.query(s.ctx, s.session, func(rows *sql.Rows) error {
		var k IndexPodKey
		err := rows.Scan(&k.Cluster, &k.Namespace, &k.Name)
		keys = append(keys, k)
		return err
	}, "SELECT "+names("o.", podKey)+" FROM resources o LEFT JOIN kairship.pod w ON "+strings.ReplaceAll(same("w", podKey), "r.", "o.")+" WHERE "+collectedPods+
		" AND (w.cluster IS NULL OR w.uid <> o.uid OR w.resource_version <> o.resource_version OR w.projection <> $2 OR w.instance <> "+instanceOf("w")+")"+
		" UNION ALL SELECT "+names("o.", podKey)+" FROM kairship.pod o WHERE "+leftOver+" LIMIT $1", limit, PodVersion)
}
