package projection

import (
	"context"
	"database/sql"
	"slices"
	"strings"
)

// ImageQuery selects the images of the pods that Pods selects and of the workloads that Workloads
// selects. Orders, positions and sizes of these do not matter.
type ImageQuery struct {
	Workloads *Query
	Pods      *PodQuery
	ImageFilter

	Order ImageOrder
	// After is the place after which the page begins; nil for the first page.
	After *ImagePosition
	// Limit is the size of the page.
	Limit int
	// WithCount asks for the number of images on all pages.
	WithCount bool
	// MostWorkloads and MostClusters are how many workloads and member clusters of each image are read.
	MostWorkloads, MostClusters int
}

// ImageFilter selects images. Empty values do not narrow.
type ImageFilter struct {
	// Registry is the part before the first slash, where that names a host.
	Registry string
	// Repository begins the image, with or without its registry.
	Repository string
	// Tag and Digest are what the image ends with, behind a colon and behind an @.
	Tag, Digest string
	// Words have to be in the image, each somewhere, in capitals or small letters.
	Words []string
}

// ImageOrder is the order of a list of images: by reference, or by the number of pods.
type ImageOrder struct{ ByPods, Desc bool }

// ImagePosition is the place of an image in an ordered list.
type ImagePosition struct {
	Reference string
	Pods      int64
}

// ImageItem is an image with what has it.
type ImageItem struct {
	ImagePosition

	// Workloads is how many workloads have it in their template; First are the first of them, by
	// namespace and name.
	Workloads int64
	First     []WorkloadKey
	// Clusters are those with the most pods that have it.
	Clusters []ImageCluster
}

// ImageCluster is how many pods of a member cluster have an image.
type ImageCluster struct {
	Instance, Cluster string
	Pods              int64
}

// ImageSelection is a page of the images that an ImageQuery selects.
type ImageSelection struct {
	Moment

	Items []ImageItem
	// HasNext reports that more follow.
	HasNext bool
	// Count is the number of images on all pages; nil if it was not asked for.
	Count *int64
}

// The parts of the answer of the statement that reads images.
const (
	imagePart = iota
	imageWorkloadPart
	imageClusterPart
)

// SelectImages reads a page of images, with one statement and so of one moment.
func (db *DB) SelectImages(ctx context.Context, q *ImageQuery) (*ImageSelection, error) {
	s := &statement{db: db}
	text := s.imagePage(q)
	found := &ImageSelection{}
	at := map[string]int{}
	err := s.read(ctx, &found.Moment, text, func(rows *sql.Rows, moment []any) error {
		var part, pods, workloads sql.NullInt64
		var image string
		var key WorkloadKey
		if err := rows.Scan(append(moment, &found.Count, &part, &image, &pods, &workloads, &key.Instance, &key.Namespace, &key.Name, &key.Kind)...); err != nil || !part.Valid {
			return err
		}
		if _, known := at[image]; !known {
			at[image] = len(found.Items)
			found.Items = append(found.Items, ImageItem{})
		}
		item := &found.Items[at[image]]
		switch part.Int64 {
		case imagePart:
			item.ImagePosition, item.Workloads = ImagePosition{Reference: image, Pods: pods.Int64}, workloads.Int64
		case imageWorkloadPart:
			item.First = append(item.First, key)
		case imageClusterPart:
			item.Clusters = append(item.Clusters, ImageCluster{Instance: key.Instance, Cluster: key.Name, Pods: pods.Int64})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(found.Items) > q.Limit {
		found.Items, found.HasNext = found.Items[:q.Limit], true
	}
	return found, nil
}

// imagePage is the statement that reads a page of images. Its rows are images in the order of the
// page, then workloads and clusters of these.
func (s *statement) imagePage(q *ImageQuery) string {
	bytes := s.bytes()
	pods := s.podsFrom(q.Pods) + s.podsWhere(q.Pods)
	reach, where := s.reach(q.Workloads), s.where(q.Workloads)
	workloads := s.from(q.Workloads, reach) + where
	// Most pods and workloads have the images of others: each list of images is taken apart once.
	s.define("used", "SELECT e.value AS image, sum(w.n) AS pods, 0 AS workloads FROM (SELECT w.images, count(*) AS n FROM "+pods+" GROUP BY w.images) w, "+s.elements("w.images")+" GROUP BY e.value"+
		" UNION ALL SELECT e.value, 0, sum(w.n) FROM (SELECT d.images, count(*) AS n FROM (SELECT w.id FROM "+workloads+") w JOIN kairship.workload_doc d ON d.id = w.id GROUP BY d.images) w, "+s.elements("w.images")+" GROUP BY e.value")
	s.define("image", "SELECT u.image, CAST(sum(u.pods) AS bigint) AS pods, CAST(sum(u.workloads) AS bigint) AS workloads FROM used u WHERE u.image <> ''"+s.imageWhere(&q.ImageFilter)+" GROUP BY u.image")
	columns := []string{"g.image" + bytes}
	var after []any
	if q.After != nil {
		after = []any{q.After.Reference}
	}
	if q.Order.ByPods {
		columns = append([]string{"g.pods"}, columns...)
		if q.After != nil {
			after = append([]any{q.After.Pods}, after...)
		}
	}
	position := ""
	if after != nil {
		position = " WHERE true" + s.follows(columns, after, q.Order.Desc)
	}
	by := ordered(columns, q.Order.Desc)
	s.define("page", "SELECT g.image, g.pods, g.workloads, row_number() OVER (ORDER BY "+by+") AS place FROM image g"+position+" ORDER BY "+by+s.limit(q.Limit+1))
	parts := []string{"SELECT 0 AS part, g.place, 0 AS n, g.image, g.pods, g.workloads, '' AS instance, '' AS namespace, '' AS name, '' AS kind FROM page g"}
	if q.MostWorkloads > 0 {
		key := "w.instance, w.namespace, w.name, w.kind"
		parts = append(parts, "SELECT 1, x.place, x.n, x.image, 0, 0, x.instance, x.namespace, x.name, x.kind FROM (SELECT g.place, g.image, "+key+
			", row_number() OVER (PARTITION BY g.image ORDER BY "+strings.Join(s.order(ByNamespace), ", ")+") AS n FROM (SELECT w.id, "+key+" FROM "+workloads+
			") w JOIN kairship.workload_doc d ON d.id = w.id, "+s.elements("d.images")+", page g WHERE g.image = e.value) x WHERE x.n <= "+s.value(q.MostWorkloads))
	}
	if q.MostClusters > 0 {
		parts = append(parts, "SELECT 2, x.place, x.n, x.image, x.pods, 0, x.instance, '', x.cluster, '' FROM (SELECT g.place, g.image, w.instance, w.cluster, CAST(sum(w.n) AS bigint) AS pods"+
			", row_number() OVER (PARTITION BY g.image ORDER BY sum(w.n) DESC, w.instance"+bytes+", w.cluster"+bytes+") AS n FROM (SELECT w.instance, w.cluster, w.images, count(*) AS n FROM "+pods+
			" GROUP BY w.instance, w.cluster, w.images) w, "+s.elements("w.images")+", page g WHERE g.image = e.value GROUP BY g.place, g.image, w.instance, w.cluster) x WHERE x.n <= "+s.value(q.MostClusters))
	}
	count := "NULL"
	if q.WithCount {
		count = "(SELECT count(*) FROM image)"
	}
	return "SELECT " + s.podMoment(true) + ", " + count + ", t.part, coalesce(t.image, ''), t.pods, t.workloads, coalesce(t.instance, ''), coalesce(t.namespace, ''), coalesce(t.name, ''), coalesce(t.kind, '')" +
		" FROM kairship.meta m LEFT JOIN (" + strings.Join(parts, " UNION ALL ") + ") t ON true" + oneMeta + " ORDER BY t.part, t.place, t.n"
}

// bytes has text compared by its bytes, as the index does.
func (s *statement) bytes() string {
	if s.db.postgres {
		return ` COLLATE "C"`
	}
	return ""
}

// find is the expression of the place of a text in another one, from 1; 0 for none.
func (s *statement) find(in, text string) string {
	if s.db.postgres {
		return "strpos(" + in + ", " + text + ")"
	}
	return "instr(" + in + ", " + text + ")"
}

// begins and ends are the conditions that a text begins, or ends, with a value.
func (s *statement) begins(text, value string) string {
	v := s.value(value)
	if s.db.postgres {
		v += "::text"
	}
	return "substr(" + text + ", 1, length(" + v + ")) = " + v
}

func (s *statement) ends(text, value string) string {
	v := s.value(value)
	if s.db.postgres {
		v += "::text"
	}
	return "substr(" + text + ", length(" + text + ") - length(" + v + ") + 1) = " + v
}

// imageWhere are the conditions of a filter on the column u.image, each beginning with AND.
func (s *statement) imageWhere(f *ImageFilter) string {
	const image = "u.image"
	var all strings.Builder
	and := func(condition string) { all.WriteString(" AND " + condition) }
	slash := s.find(image, "'/'")
	host := "substr(" + image + ", 1, " + slash + " - 1)"
	hosted := "(" + slash + " > 1 AND (" + s.find(host, "'.'") + " > 0 OR " + s.find(host, "':'") + " > 0 OR " + host + " = 'localhost'))"
	if f.Registry != "" {
		and("CASE WHEN " + hosted + " THEN " + host + " ELSE '' END = " + s.value(f.Registry))
	}
	if f.Repository != "" {
		and("(" + s.begins(image, f.Repository) + " OR CASE WHEN " + hosted + " THEN " + s.begins("substr("+image+", "+slash+" + 1)", f.Repository) + " ELSE false END)")
	}
	if f.Tag != "" {
		digest := s.find(image, "'@'")
		and(s.ends("(CASE WHEN "+digest+" > 0 THEN substr("+image+", 1, "+digest+" - 1) ELSE "+image+" END)", ":"+f.Tag))
	}
	if f.Digest != "" {
		and(s.ends(image, "@"+f.Digest))
	}
	for _, word := range f.Words {
		and(s.find("lower("+image+")", s.value(word)) + " > 0")
	}
	return all.String()
}

// imagePatterns are what the values of a filter by images say: keys of images, beginnings of images,
// which have a * behind them, and digests.
type imagePatterns struct{ keys, beginnings, digests []string }

func imagePatternsOf(values []string) imagePatterns {
	var p imagePatterns
	for _, value := range values {
		digest, marked := strings.CutPrefix(value, "@")
		beginning, begins := strings.CutSuffix(value, "*")
		switch {
		case begins:
			p.beginnings = append(p.beginnings, beginning)
		case marked, strings.HasPrefix(value, "sha256:"), strings.HasPrefix(value, "sha512:"):
			p.digests = append(p.digests, digest)
		default:
			p.keys = append(p.keys, value)
		}
	}
	return p
}

// HasImage reports whether a filter by images selects what has some images, which are found by
// some keys.
func HasImage(filter, images, keys []string) bool {
	p := imagePatternsOf(filter)
	if slices.ContainsFunc(p.keys, func(key string) bool { return slices.Contains(keys, key) }) {
		return true
	}
	return slices.ContainsFunc(images, func(image string) bool {
		return slices.ContainsFunc(p.beginnings, func(beginning string) bool { return strings.HasPrefix(image, beginning) }) ||
			slices.ContainsFunc(p.digests, func(digest string) bool { return strings.HasSuffix(image, "@"+digest) })
	})
}

// hasImage is the condition that a filter by images selects a row, whose keys and text that is searched
// in are columns of it. having makes the condition that one of its images, e.value, is as it says.
func (s *statement) hasImage(values []string, keys, search string, having func(condition string) string) string {
	p := imagePatternsOf(values)
	var some []string
	if len(p.keys) > 0 {
		some = append(some, s.among(keys, p.keys))
	}
	// The text has the images too, and is read faster than they are taken apart.
	mentions := func(part string) string {
		return s.find(search, s.value(strings.ToLower(part))) + " > 0 AND "
	}
	for _, beginning := range p.beginnings {
		some = append(some, mentions(beginning)+having(s.begins("e.value", beginning)))
	}
	for _, digest := range p.digests {
		some = append(some, mentions("@"+digest)+having(s.ends("e.value", "@"+digest)))
	}
	return "(" + strings.Join(some, " OR ") + ")"
}
