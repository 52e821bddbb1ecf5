package projection

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"k8s.io/apimachinery/pkg/labels"
)

// PodQuery selects pods of member clusters. An empty list of values does not narrow, except that a
// PodQuery without Instances and Scopes selects nothing.
type PodQuery struct {
	// Instances are those of whose member clusters all pods are selected. Of Scopes, the pods in their
	// namespaces are selected, in the member clusters that a workload of the same namespace of the
	// instance was sent to.
	Instances []string
	Scopes    []Scope

	// Clusters are member clusters by name, Nodes the names of nodes.
	Clusters, Namespaces, Names, Nodes []string
	// Phases are values of the GraphQL enum PodPhase.
	Phases []string
	// NameContains is a part of the name.
	NameContains string
	// Ready selects pods by whether all their containers are ready; nil for any.
	Ready *bool
	// Selector selects by labels; nil selects everything.
	Selector labels.Selector
	// Images are keys of images, beginnings of images with a * behind them, or digests; a pod has one of
	// them.
	Images []string
	// Words have to be in the text that is searched in, each somewhere.
	Words []string
	// UID is that of the pod; empty for any.
	UID string
	// Relevant is the text, in small letters, that PodsByRelevance orders by.
	Relevant string
	// Confined reports whether there are instances which the caller must not learn of, not even by
	// the time that an answer takes. Scopes say so too.
	Confined bool

	Order PodOrder
	// After is the place after which the page begins; nil for the first page.
	After *PodPosition
	// Limit is the size of the page.
	Limit int
	// WithCount asks for the number of pods on all pages.
	WithCount bool
}

// PodOrderField is a column that lists of pods are ordered by first.
type PodOrderField int

// The fields. The rest of the key follows each of them, so that an order is total.
const (
	// PodsByNamespace orders by namespace, name, instance, cluster.
	PodsByNamespace PodOrderField = iota
	PodsByName
	PodsByCreation
	// PodsByRestarts orders by the restarts of all containers.
	PodsByRestarts
	// PodsByRelevance orders by where a pod has the Relevant text, then by name. No page of it is followed.
	PodsByRelevance
)

// PodOrder is the order of a list of pods.
type PodOrder struct {
	Field PodOrderField
	Desc  bool
}

// PodKey names a pod: Cluster is the name of the member cluster in the instance.
type PodKey struct {
	Instance  string `json:"instance"`
	Cluster   string `json:"cluster"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// PodPosition is the place of a pod in an ordered list.
type PodPosition struct {
	PodKey

	// CreatedAt is in seconds since 1970.
	CreatedAt int64
	Restarts  int32
}

// PodItem is a pod as the projection has it.
type PodItem struct {
	PodPosition

	UID, ResourceVersion string
	// Phase is a value of the GraphQL enum PodPhase.
	Phase string
	Ready bool
	// NodeName and PodIP are empty while the pod has none.
	NodeName, PodIP string
	// Message is why the pod is not as it should be; empty when it is.
	Message string
	Labels  map[string]string
	// Images are those of the containers, init containers last, each once.
	Images []string
}

// PodSelection is a page of the pods that a PodQuery selects.
type PodSelection struct {
	Moment

	Items []PodItem
	// HasNext reports that more follow.
	HasNext bool
	// Count is the number of pods on all pages; nil if it was not asked for.
	Count *int64
}

// PodFacetField is what pods can be counted by. The values are those of the GraphQL enum
// PodFacetField.
type PodFacetField string

// The fields. A pod counts once for each of its labels and images.
const (
	PodFacetPhase     PodFacetField = "PHASE"
	PodFacetReady     PodFacetField = "READY"
	PodFacetInstance  PodFacetField = "INSTANCE"
	PodFacetCluster   PodFacetField = "CLUSTER"
	PodFacetNamespace PodFacetField = "NAMESPACE"
	PodFacetNode      PodFacetField = "NODE"
	PodFacetLabel     PodFacetField = "LABEL"
	PodFacetImage     PodFacetField = "IMAGE"
)

// PodFacet is how many pods have each value of a field.
type PodFacet struct {
	Field PodFacetField
	// Values are those with the most pods, then by value.
	Values []FacetValue
	// TotalValues is how many values there are.
	TotalValues int
}

// CountedPods are the facets of all pods that a PodQuery selects, at one moment.
type CountedPods struct {
	Moment

	Facets []PodFacet
}

// SelectPods reads a page of pods, with one statement and so of one moment.
func (db *DB) SelectPods(ctx context.Context, q *PodQuery) (*PodSelection, error) {
	s := &statement{db: db}
	text := s.podPage(q)
	found := &PodSelection{}
	err := s.read(ctx, &found.Moment, text, func(rows *sql.Rows, moment []any) error {
		var row []byte
		if err := rows.Scan(append(moment, &found.Count, &row)...); err != nil {
			return err
		}
		return found.add(row)
	})
	if err != nil {
		return nil, err
	}
	found.cut(q.Limit)
	return found, nil
}

// add adds the pod of a row as it comes from the database; there is none where that is nil.
func (found *PodSelection) add(row []byte) error {
	if row == nil {
		return nil
	}
	var pod PodRow
	if err := jsonv2.Unmarshal(row, &pod); err != nil {
		return fmt.Errorf("reading the row of a pod: %w", err)
	}
	found.Items = append(found.Items, itemOf(&pod))
	return nil
}

// cut takes the page out of what was read: one more than the page holds.
func (found *PodSelection) cut(limit int) {
	if len(found.Items) > limit {
		found.Items, found.HasNext = found.Items[:limit], true
	}
}

func itemOf(pod *PodRow) PodItem {
	return PodItem{
		PodPosition: PodPosition{
			PodKey:    PodKey{Instance: pod.Instance, Cluster: pod.Cluster, Namespace: pod.Namespace, Name: pod.Name},
			CreatedAt: pod.CreatedAt, Restarts: pod.Restarts,
		},
		UID: pod.UID, ResourceVersion: pod.ResourceVersion, Phase: pod.Phase, Ready: pod.Ready, NodeName: pod.Node, PodIP: pod.PodIP,
		Message: pod.Message, Labels: labelsOf(pod.LabelKV), Images: pod.Images,
	}
}

// labelsOf are the labels of a column label_kv.
func labelsOf(pairs []string) map[string]string {
	all := make(map[string]string, len(pairs))
	for _, pair := range pairs {
		key, value, _ := strings.Cut(pair, "=")
		all[key] = value
	}
	return all
}

// shownPodColumns are the columns of an item.
var shownPodColumns = slices.DeleteFunc(slices.Clone(podColumns), func(c column) bool {
	return slices.Contains([]string{"search", "image_keys", "projection", "cpu_requests", "memory_requests"}, c.name)
})

// podPage is the statement that reads a page.
func (s *statement) podPage(q *PodQuery) string {
	columns := s.podOrder(q.Order.Field)
	if q.Order.Field == PodsByRelevance {
		columns = append([]string{s.relevance(q.Relevant)}, columns...)
	}
	reach, where := s.podsFrom(q), s.podsWhere(q)
	from := reach + where
	count := "NULL"
	if q.WithCount {
		count = "(SELECT count(*) FROM " + from + ")"
	}
	if !s.db.postgres && where == "" && !q.confined() {
		from = "kairship.pod w WHERE +(" + s.in("w.instance", q.Instances) + ")" // See the page of workloads.
	}
	by := ordered(columns, q.Order.Desc)
	return "SELECT " + s.podMoment(len(q.Scopes) > 0) + ", " + count + ", " + s.podItem() + " FROM kairship.meta m LEFT JOIN (SELECT " + names("w.", podKey, shownPodColumns) + " FROM " + from + s.podsAfter(q, columns) + " ORDER BY " + by + s.limit(q.Limit+1) +
		") w ON true" + oneMeta + " ORDER BY " + by
}

// podItem is the column of a pod; NULL for none.
func (s *statement) podItem() string {
	return "CASE WHEN w.cluster IS NULL THEN NULL ELSE " + s.db.object(of{"w", podKey}, of{"w", shownPodColumns}) + " END"
}

// podMoment are the first columns of a statement that reads pods. Which of them are in a scope, rows
// of workloads say.
func (s *statement) podMoment(scoped bool) string {
	complete := "m.pods = '" + Complete + "' AND m.pods_version = " + strconv.Itoa(PodVersion)
	waiting := "SELECT " + oldestPodChange + " AS at"
	if scoped {
		complete += " AND m.state = '" + Complete + "' AND m.version >= " + strconv.Itoa(earliest)
		waiting += " UNION ALL SELECT " + oldestChange
	}
	return complete + ", " + s.db.now() + ", coalesce((SELECT min(o.at) FROM (" + waiting + ") o), 0)"
}

// podOrder are the columns of an order. Bytes are compared, as the index does.
func (s *statement) podOrder(field PodOrderField) []string {
	bytes := ""
	if s.db.postgres {
		bytes = ` COLLATE "C"`
	}
	namespace, name, rest := "w.namespace"+bytes, "w.name"+bytes, []string{"w.instance" + bytes, "w.cluster" + bytes}
	switch field {
	case PodsByName, PodsByRelevance:
		return append([]string{name, namespace}, rest...)
	case PodsByCreation:
		return append([]string{"w.created_at", namespace, name}, rest...)
	case PodsByRestarts:
		return append([]string{"w.restarts", namespace, name}, rest...)
	case PodsByNamespace:
	}
	return append([]string{namespace, name}, rest...)
}

// podsAfter is the condition that a row follows the query's position.
func (s *statement) podsAfter(q *PodQuery, columns []string) string {
	if q.After == nil {
		return ""
	}
	p := q.After
	values := []any{p.Namespace, p.Name, p.Instance, p.Cluster}
	switch q.Order.Field {
	case PodsByName:
		values[0], values[1] = values[1], values[0]
	case PodsByCreation:
		values = append([]any{p.CreatedAt}, values...)
	case PodsByRestarts:
		values = append([]any{p.Restarts}, values...)
	case PodsByNamespace, PodsByRelevance:
	}
	return s.follows(columns, values, q.Order.Desc)
}

// confined reports whether there is something that the caller must not learn of.
func (q *PodQuery) confined() bool { return q.Confined || len(q.Scopes) > 0 }

// searches reports whether pods are selected by what indexes of all instances have.
func (q *PodQuery) searches() bool {
	return len(q.Clusters)+len(q.Nodes)+len(q.Names)+len(q.Images)+len(q.Words) > 0 || q.UID != "" || q.Selector != nil
}

// podsFrom are the pods that are in reach, so that a condition can follow. Pods of scopes are read by
// their places: an instance, a member cluster and a namespace each. Where an index would be used that
// has also the rows that the caller must not learn of, PostgreSQL reads those in reach first:
// OFFSET 0 keeps it from another order.
func (s *statement) podsFrom(q *PodQuery) string {
	fence := ""
	if s.db.postgres {
		fence = " OFFSET 0"
	}
	columns := names("w.", podKey, podColumns)
	instances := "false"
	if len(q.Instances) > 0 {
		instances = s.in("w.instance", q.Instances)
	}
	pairs := scopePairs(q.Instances, q.Scopes)
	if len(pairs) == 0 {
		if q.Confined && q.searches() && s.db.postgres {
			return "(SELECT " + columns + " FROM kairship.pod w WHERE " + instances + fence + ") w WHERE true"
		}
		return "kairship.pod w WHERE " + instances
	}
	places := s.define("places", s.sent(pairs))
	if !q.searches() && len(q.Instances) > 0 {
		return "kairship.pod w WHERE (" + instances + " OR (w.instance, w.namespace, w.cluster) IN (SELECT k.a, k.b, k.c FROM " + places + " k))"
	}
	in := "w.instance = k.a AND w.namespace = k.b AND w.cluster = k.c"
	all := "SELECT " + columns + " FROM " + places + " k CROSS JOIN kairship.pod w WHERE " + in
	if s.db.postgres {
		all = "SELECT " + columns + " FROM " + places + " k CROSS JOIN LATERAL (SELECT " + columns + " FROM kairship.pod w WHERE " + in + fence + ") w"
	}
	if len(q.Instances) > 0 {
		all += " UNION ALL SELECT " + columns + " FROM (SELECT " + columns + " FROM kairship.pod w WHERE " + instances + fence + ") w"
	}
	return "(" + all + ") w WHERE true"
}

// podsWhere are the conditions of the query, without its reach and its position. Each begins with
// AND.
func (s *statement) podsWhere(q *PodQuery) string {
	var all strings.Builder
	and := func(condition string) { all.WriteString(" AND " + condition) }
	for _, c := range []struct {
		column string
		values []string
	}{{"w.cluster", q.Clusters}, {"w.namespace", q.Namespaces}, {"w.name", q.Names}, {"w.node", q.Nodes}, {"w.phase", q.Phases}} {
		if len(c.values) > 0 {
			and(s.in(c.column, c.values))
		}
	}
	if q.UID != "" {
		and("w.uid = " + s.value(q.UID))
	}
	if q.NameContains != "" {
		and("replace(w.name, " + s.value(q.NameContains) + ", '') <> w.name")
	}
	if q.Ready != nil {
		and(map[bool]string{true: "w.ready", false: "NOT w.ready"}[*q.Ready])
	}
	if len(q.Images) > 0 {
		and(s.hasImage(q.Images, "w.image_keys", "w.search", func(condition string) string {
			return "EXISTS (SELECT 1 FROM " + s.elements("w.images") + " WHERE " + condition + ")"
		}))
	}
	position := "instr"
	if s.db.postgres {
		position = "strpos"
	}
	for _, word := range q.Words {
		and(position + "(w.search, " + s.value(word) + ") > 0")
	}
	if q.Selector != nil {
		requirements, _ := q.Selector.Requirements()
		for i := range requirements {
			and(s.requirement(&requirements[i]))
		}
	}
	return all.String()
}

// PodFacets counts the pods of a query by fields, with at most so many values of each. Position,
// order and size of the query's page do not matter.
func (db *DB) PodFacets(ctx context.Context, q *PodQuery, fields []PodFacetField, values int) (*CountedPods, error) {
	s := &statement{db: db}
	text, err := s.podFacets(q, fields, values)
	if err != nil {
		return nil, err
	}
	found := &CountedPods{Facets: make([]PodFacet, len(fields))}
	counts := make([]Facet, len(fields))
	if err := s.readFacets(ctx, &found.Moment, text, counts); err != nil {
		return nil, err
	}
	for i, field := range fields {
		found.Facets[i] = PodFacet{Field: field, Values: counts[i].Values, TotalValues: counts[i].TotalValues}
	}
	return found, nil
}

// podFacetColumns are the columns of the table pod that fields are counted by, lists those of them
// that are lists.
var (
	podFacetColumns = map[PodFacetField]string{
		PodFacetPhase: "w.phase", PodFacetReady: "w.ready", PodFacetInstance: "w.instance", PodFacetCluster: "w.cluster", PodFacetNamespace: "w.namespace", PodFacetNode: "w.node",
		PodFacetLabel: "w.label_kv", PodFacetImage: "w.images",
	}
	podFacetLists = map[PodFacetField]bool{PodFacetLabel: true, PodFacetImage: true}
)

// podFacets is the statement that counts by fields. Pods that are equal in what they are counted by
// are counted once, and then by each field.
func (s *statement) podFacets(q *PodQuery, fields []PodFacetField, values int) (string, error) {
	selected := s.podsFrom(q) + s.podsWhere(q)
	limit := s.limit(values)
	var columns []string
	parts := make([]string, len(fields))
	for i, field := range fields {
		column, ok := podFacetColumns[field]
		if !ok {
			return "", fmt.Errorf("pods cannot be counted by %q", field)
		}
		if !slices.Contains(columns, column) {
			columns = append(columns, column)
		}
		from, value := "counted w", column
		switch {
		case podFacetLists[field]:
			from, value = from+", "+s.elements(column), "e.value"
		case field == PodFacetNode:
			from += " WHERE w.node <> ''" // Those that are not scheduled have none.
		case field == PodFacetReady:
			value = "CASE WHEN w.ready THEN 'true' ELSE 'false' END"
		}
		parts[i] = s.topValues(i, from, value, limit)
	}
	list := strings.Join(columns, ", ")
	s.define("counted", "SELECT "+list+", count(*) AS n FROM "+selected+" GROUP BY "+list)
	return "SELECT " + s.podMoment(len(q.Scopes) > 0) + ", f.facet, f.value, f.n, f.total FROM kairship.meta m LEFT JOIN (" + strings.Join(parts, " UNION ALL ") + ") f ON true" + oneMeta, nil
}
