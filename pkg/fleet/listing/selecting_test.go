package listing_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/fleet/listing"
	"github.com/kairship-io/kairship/pkg/index"
)

// long is an index with one list of so many objects, or more.
type long struct {
	index.Reader

	objects int
	more    bool
}

// PageOf implements index.Reader.
func (l long) PageOf(_ context.Context, part index.Part, _ index.ListQuery) (*index.Page, error) {
	p := &index.Page{HasNext: l.more}
	for i := range l.objects {
		p.Items = append(p.Items, &index.Object{Cluster: part.Cluster, Meta: metav1.ObjectMeta{Name: fmt.Sprint(i)}})
	}
	return p, nil
}

// TestMost checks that a list that is too long is refused, and not cut off.
func TestMost(t *testing.T) {
	r := listing.Request{Noun: "a", Types: []index.Type{index.Deployments}, Instances: []string{"alpha"}, Select: listing.SelectAll, Most: 4}
	if _, err := lister(long{objects: 5}).ListOne(t.Context(), r); !errors.Is(err, listing.ErrTooMany) {
		t.Errorf("5 objects, at most 4: %v", err)
	}
	if _, err := lister(long{objects: 4, more: true}).ListOne(t.Context(), r); !errors.Is(err, listing.ErrTooMany) {
		t.Errorf("4 objects and more, at most 4: %v", err)
	}
}
