// Package search finds objects of any type by a text: one ranked list of what the caller may see.
package search

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/object"
)

// Type is what is searched for.
type Type string

// The types.
const (
	TypeInstance      Type = "INSTANCE"
	TypeCluster       Type = "CLUSTER"
	TypeMemberCluster Type = "MEMBER_CLUSTER"
	TypeWorkload      Type = "WORKLOAD"
	TypePolicy        Type = "POLICY"
	TypePod           Type = "POD"
	TypeNode          Type = "NODE"
	TypeNamespace     Type = "NAMESPACE"
	TypeResource      Type = "RESOURCE"
)

// types are all of them, in the order in which hits that fit equally well are shown.
var types = []Type{TypeInstance, TypeCluster, TypeMemberCluster, TypeWorkload, TypePolicy, TypeNamespace, TypeNode, TypePod, TypeResource}

// MatchedBy is where the text was found.
type MatchedBy string

// The places, the best first.
const (
	ByUID   MatchedBy = "UID"
	ByName  MatchedBy = "NAME"
	ByAlias MatchedBy = "ALIAS"
	ByLabel MatchedBy = "LABEL"
	ByImage MatchedBy = "IMAGE"
	// ByText means that the words are in several of these, or in the namespace.
	ByText MatchedBy = "TEXT"
)

// Hit is an object that was found.
type Hit struct {
	Type Type
	// Kind is Kubernetes' name of the kind.
	Kind         string
	InstanceName string
	cluster      string
	namespace    string
	Name         string
	MatchedBy    MatchedBy
	MatchedText  string
	id           string
	rank         int
}

// NodeID is the global ID; nil for pods, which have none.
func (h *Hit) NodeID() *string { return object.Optional(h.id) }

// ClusterName is the member cluster that it is in; nil for what is in no member cluster.
func (h *Hit) ClusterName() *string { return object.Optional(h.cluster) }

// Namespace is its namespace; nil for none.
func (h *Hit) Namespace() *string { return object.Optional(h.namespace) }

// Result is what was found.
type Result struct {
	Hits []*Hit
	// HasMore reports whether there are hits beside these.
	HasMore   bool
	Freshness freshness.Freshness
	// Failed are the errors of what could not be searched.
	Failed []error
}

// Bounds of a search.
const (
	defaultHits = 20
	maxHits     = 100
	maxText     = 253
	maxWords    = 10
)

// text is a text that is searched for.
type text struct {
	whole string
	words []string
	// uid reports whether it is a UID.
	uid bool
}

var uid = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

func newText(s string) (text, error) {
	t := text{whole: strings.ToLower(strings.TrimSpace(s))}
	t.words, t.uid = strings.Fields(t.whole), uid.MatchString(t.whole)
	if len(t.words) == 0 || len(t.words) > maxWords || len(s) > maxText {
		return t, apierror.Invalid("text", "Give 1 to %d words, together of at most %d bytes", maxWords, maxText)
	}
	return t, nil
}

// subject is what an object can be found by.
type subject struct {
	name, namespace, uid, alias string
	labels                      map[string]string
	images                      []string
}

// match says how well a subject fits the text: the lower the rank, the better. Its last rank is
// for what has the words, but none of the others the whole text.
func (t *text) match(s *subject) (by MatchedBy, matched string, rank int, ok bool) {
	name, alias := strings.ToLower(s.name), strings.ToLower(s.alias)
	switch {
	case t.uid && s.uid == t.whole:
		return ByUID, s.uid, 0, true
	case name == t.whole:
		return ByName, s.name, 1, true
	case s.alias != "" && alias == t.whole:
		return ByAlias, s.alias, 1, true
	case strings.HasPrefix(name, t.whole):
		return ByName, s.name, 2, true
	case strings.HasPrefix(alias, t.whole):
		return ByAlias, s.alias, 2, true
	case strings.Contains(name, t.whole):
		return ByName, s.name, 3, true
	case strings.Contains(alias, t.whole):
		return ByAlias, s.alias, 3, true
	}
	for _, key := range slices.Sorted(maps.Keys(s.labels)) {
		if strings.Contains(strings.ToLower(s.labels[key]), t.whole) {
			return ByLabel, key + "=" + s.labels[key], 4, true
		}
	}
	for _, image := range s.images {
		if strings.Contains(strings.ToLower(image), t.whole) {
			return ByImage, image, 5, true
		}
	}
	all := []string{name, s.namespace, alias}
	for key, value := range s.labels {
		all = append(all, strings.ToLower(key+"="+value))
	}
	all = append(all, s.images...)
	has := strings.ToLower(strings.Join(all, "\n"))
	if slices.ContainsFunc(t.words, func(word string) bool { return !strings.Contains(has, word) }) {
		return "", "", 0, false
	}
	return ByText, t.whole, 6, true
}

// best returns the best hits, each once.
func best(hits []*Hit, first int) (shown []*Hit, more bool) {
	slices.SortFunc(hits, func(a, b *Hit) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(slices.Index(types, a.Type), slices.Index(types, b.Type)), cmp.Compare(a.Name, b.Name), cmp.Compare(a.namespace, b.namespace),
			cmp.Compare(a.InstanceName, b.InstanceName), cmp.Compare(a.cluster, b.cluster), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.id, b.id))
	})
	hits = slices.CompactFunc(hits, func(a, b *Hit) bool {
		return a.Type == b.Type && a.Kind == b.Kind && a.InstanceName == b.InstanceName && a.cluster == b.cluster && a.namespace == b.namespace && a.Name == b.Name && a.id == b.id
	})
	if len(hits) > first {
		return hits[:first], true
	}
	if hits == nil {
		hits = []*Hit{}
	}
	return hits, false
}
