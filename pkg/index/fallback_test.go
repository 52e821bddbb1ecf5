package index

import (
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"
)

func TestCrossProduct(t *testing.T) {
	selector := func(text string) labels.Selector {
		s, err := ParseSelector(text)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	base := map[string]string{"resources": "apps/v1/deployments,batch/v1/jobs", "clusters": "k-alpha,k-beta", "orderby": "namespace,name,cluster,kind"}
	for _, tt := range []struct {
		name  string
		query ListQuery
		want  map[string]string
		sifts bool
		why   string
	}{
		{"clusters", ListQuery{}, nil, false, "every list names its clusters"},
		{"namespaces and names", ListQuery{Namespaces: []string{"a", "b"}, Names: []string{"x"}}, map[string]string{"namespaces": "a,b", "names": "x"}, false, "as lists"},
		{"no namespace", ListQuery{Namespaces: []string{""}}, nil, true, "an empty parameter is none"},
		{"a comma in a name", ListQuery{Names: []string{"a,b", "c"}}, nil, true, "it would be two names"},
		{"a space in a namespace", ListQuery{Namespaces: []string{" shop"}}, nil, true, "it would be trimmed away"},
		{"part of a name", ListQuery{NameContains: "web"}, map[string]string{"labelSelector": "internalstorage.clusterpedia.io/fuzzy-name=web"}, false, "as a label in disguise"},
		{"end of a part", ListQuery{NameContains: "web-"}, nil, true, "no label's value ends so"},
		{"capitals", ListQuery{NameContains: "Web"}, nil, true, "SQLite's LIKE takes a capital for a small letter"},
		{"a pattern", ListQuery{NameContains: "a_b"}, nil, true, "LIKE takes it for any character"},
		{"another label", ListQuery{NameContains: "a,search.clusterpedia.io/clusters=k-gamma"}, nil, true, "it would be taken for a parameter"},
		{"selector", ListQuery{Selector: selector("app in (a,b),!x")}, map[string]string{"labelSelector": "app in (a,b),!x"}, false, "as it is"},
		{"selector and part of a name", ListQuery{Selector: selector("app"), NameContains: "web"}, map[string]string{"labelSelector": "app,internalstorage.clusterpedia.io/fuzzy-name=web"}, false, "both"},
		{"a label of Clusterpedia's", ListQuery{Selector: selector("search.clusterpedia.io/owner-uid=x")}, nil, true, "it would be taken for a parameter"},
		{"fields", ListQuery{Fields: []FieldEquals{{[]string{"type"}, "Warning"}, {[]string{"involvedObject", "kind"}, ""}}}, map[string]string{"fieldSelector": "type=Warning,involvedObject.kind="}, false, "with commas between"},
		{"an annotation", ListQuery{Fields: []FieldEquals{{[]string{"metadata", "annotations", "a.b/c"}, "v"}}}, map[string]string{"fieldSelector": "metadata.annotations['a.b/c']=v"}, false, "a step with a dot or slash is in brackets"},
		{"a field with a comma", ListQuery{Fields: []FieldEquals{{[]string{"reason"}, "a,type=b"}, {[]string{"type"}, "Normal"}}}, map[string]string{"fieldSelector": "type=Normal"}, true, "it would be another field"},
		{"a field that is a word of the syntax", ListQuery{Fields: []FieldEquals{{[]string{"reason"}, "in"}}}, nil, true, "it would be an operator"},
		{"metadata", ListQuery{Detail: Metadata}, map[string]string{"onlyMetadata": "true"}, false, "nothing else is sent back"},
		{"metadata, and a field to sift by", ListQuery{Detail: Metadata, Fields: []FieldEquals{{[]string{"reason"}, "a b"}}}, nil, true, "the field is not in the metadata"},
		{"metadata, and an annotation to sift by", ListQuery{Detail: Metadata, Fields: []FieldEquals{{[]string{"metadata", "annotations", "x"}, "a b"}}}, map[string]string{"onlyMetadata": "true"}, true, "the annotation is"},
		{"by name, backwards", ListQuery{Order: Order{Field: OrderByName, Desc: true}}, map[string]string{"orderby": "name desc,namespace desc,cluster desc,kind desc"}, false, "every column turns"},
		{"by creation", ListQuery{Order: Order{Field: OrderByCreation}}, map[string]string{"orderby": "created_at,namespace,name,cluster,kind"}, false, "the order is total"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q := tt.query
			q.Types, q.Clusters = []Type{Deployments, Jobs}, []string{"k-alpha", "k-beta"}
			want := url.Values{}
			for _, values := range []map[string]string{base, tt.want} {
				for name, value := range values {
					want.Set(name, value)
				}
			}
			asked, unsaid := q.said()
			if diff := cmp.Diff(want, crossProductParams(&asked)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.why, diff)
			}
			if (unsaid != nil) != tt.sifts {
				t.Errorf("sifts: %v, want %v: %s", unsaid != nil, tt.sifts, tt.why)
			}
		})
	}
}

// An order is total, strict and turned round by Desc, and it is the order of its
// columns.
func TestCompare(t *testing.T) {
	at := func(second int, cluster, namespace, name, kind string) Position {
		return Position{CreatedAt: time.Unix(int64(second), 0), Cluster: cluster, Namespace: namespace, Name: name, Kind: kind}
	}
	for _, tt := range []struct {
		field OrderField
		want  []Position
		why   string
	}{
		{OrderByNamespace, []Position{at(9, "b", "a", "b", "b"), at(0, "a", "b", "a", "a"), at(0, "a", "b", "a", "b"), at(0, "b", "b", "a", "a"), at(0, "a", "b", "b", "a")}, "namespace, name, cluster, kind; time does not matter"},
		{OrderByName, []Position{at(9, "b", "b", "a", "b"), at(0, "a", "a", "b", "a"), at(0, "a", "a", "b", "b"), at(0, "b", "a", "b", "a"), at(0, "a", "b", "b", "a")}, "name, namespace, cluster, kind"},
		{OrderByCreation, []Position{at(1, "b", "b", "b", "b"), at(2, "b", "a", "b", "a"), at(2, "a", "b", "a", "a"), at(2, "a", "b", "a", "b"), at(2, "b", "b", "a", "a"), at(2, "a", "b", "b", "a")}, "time, namespace, name, cluster, kind"},
	} {
		for i, a := range tt.want {
			for j, b := range tt.want {
				for _, desc := range []bool{false, true} {
					want := i > j
					if desc {
						want = i < j
					}
					if got := follows(Order{tt.field, desc}, a, b); got != want {
						t.Errorf("field %d, descending %v: %v follows %v: %v; want %s", tt.field, desc, a, b, got, tt.why)
					}
				}
			}
		}
		got := slices.Clone(tt.want)
		slices.Reverse(got)
		slices.SortFunc(got, func(a, b Position) int { return compare(Order{Field: tt.field}, a, b) })
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("field %d: %s (-want +got):\n%s", tt.field, tt.why, diff)
		}
	}
	utc := at(0, "a", "b", "c", "d")
	elsewhere := utc
	elsewhere.CreatedAt = utc.CreatedAt.In(time.FixedZone("", 3600))
	if compare(Order{Field: OrderByCreation}, utc, elsewhere) != 0 {
		t.Error("a moment is the same in every zone")
	}
}
