package search

import (
	"testing"

	"github.com/kairship-io/kairship/pkg/apierror"
)

func TestMatch(t *testing.T) {
	const id = "0f8fad5b-d9cb-469f-a165-70867728950e"
	web := subject{name: "web-front", namespace: "shop", uid: id, alias: "Storefront", labels: map[string]string{"app": "web", "tier": "edge"}, images: []string{"example.com/shop/main:1.2"}}
	for _, tt := range []struct {
		reason, text string
		by           MatchedBy
		matched      string
		rank         int
	}{
		{"its UID", id, ByUID, id, 0},
		{"another UID", "1" + id[1:], "", "", 0},
		{"its name, in capitals", " WEB-front ", ByName, "web-front", 1},
		{"its alias", "storefront", ByAlias, "Storefront", 1},
		{"the beginning of its name", "web", ByName, "web-front", 2},
		{"the beginning of its alias", "Store", ByAlias, "Storefront", 2},
		{"a part of its name", "b-f", ByName, "web-front", 3},
		{"a part of its alias", "torefront", ByAlias, "Storefront", 3},
		{"a label", "edge", ByLabel, "tier=edge", 4},
		{"an image", "shop/main:1", ByImage, "example.com/shop/main:1.2", 5},
		{"words here and there", "shop web tier=edge", ByText, "shop web tier=edge", 6},
		{"a word that is nowhere", "shop gone", "", "", 0},
		{"no pattern", "web%", "", "", 0},
	} {
		of, err := newText(tt.text)
		if err != nil {
			t.Fatal(err)
		}
		by, matched, rank, ok := of.match(&web)
		if by != tt.by || matched != tt.matched || rank != tt.rank || ok != (tt.by != "") {
			t.Errorf("%s: got %s in %q, rank %d, %t", tt.reason, by, matched, rank, ok)
		}
	}
	for _, text := range []string{"", "  ", "1 2 3 4 5 6 7 8 9 10 11", string(make([]byte, 254))} {
		if _, err := newText(text); !apierror.Is(err, apierror.CodeInvalid) {
			t.Errorf("%q: got %v", text, err)
		}
	}
}

func TestBest(t *testing.T) {
	hit := func(rank int, typ Type, name string) *Hit { return &Hit{rank: rank, Type: typ, Name: name} }
	got, more := best([]*Hit{
		hit(2, TypeInstance, "web-2"), hit(1, TypePod, "web"), hit(1, TypeWorkload, "web"), hit(1, TypeWorkload, "web"), hit(1, TypeWorkload, "a"), hit(3, TypeCluster, "x"),
	}, 4)
	names := ""
	for _, h := range got {
		names += string(h.Type) + "/" + h.Name + " "
	}
	if want := "WORKLOAD/a WORKLOAD/web POD/web INSTANCE/web-2 "; names != want || !more {
		t.Errorf("got %s, more %t; want %s", names, more, want)
	}
	if got, more := best(nil, 1); got == nil || len(got) != 0 || more {
		t.Errorf("of nothing: %v, %t", got, more)
	}
}
