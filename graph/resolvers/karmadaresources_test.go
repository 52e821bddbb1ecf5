package resolvers

import (
	"context"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/collection"
	"github.com/kairship-io/kairship/pkg/fleet/karmadaresource"
	"github.com/kairship-io/kairship/pkg/fleet/listing"
	"github.com/kairship-io/kairship/pkg/fleet/resource"
	"github.com/kairship-io/kairship/pkg/fleet/uncollected"
)

// notServed is instances that serve no kind.
type notServed struct{ resource.Uncollected }

func (notServed) Collected(context.Context, string, schema.GroupVersionResource) (collection.State, error) {
	return collection.None, nil
}

func (notServed) Check(_ context.Context, instance string, of schema.GroupVersionResource) error {
	err := apierror.Wrap(uncollected.ErrNotServed, apierror.CodeInvalid, "instance %q does not serve %s", instance, of.Resource)
	err.Argument = "group"
	return err
}

// An instance of an older Karmada does not serve all kinds: the field says so, and the rest of the
// answer is there, below one instance and below several. An ID leads nowhere then.
func TestKindThatIsNotServed(t *testing.T) {
	fields := loadSchema(t).Types["Instance"].Fields
	for _, kind := range []string{"federatedHPA", "cronFederatedHPA", "multiClusterService", "federatedResourceQuota", "workloadRebalancer"} {
		namespace := `namespace: "shop", `
		if fields.ForName(kind).Arguments.ForName("namespace") == nil {
			namespace = ""
		}
		r := fleetOf(t, &reader{})
		r.Fleet.KarmadaResources = karmadaresource.NewService(resource.NewService(&listing.Lister{Now: time.Now}, notServed{}, resource.Members{}, nil))
		list := kind + `s { nodes { name } totalCount freshness { observedAt stale message } } ` + kind + `(` + namespace + `name: "web") { name }`
		for query, errors := range map[string]int{
			`{ instance(name: "alpha") { name ` + list + ` } }`: 2,
			`{ instances { nodes { name ` + list + ` } } }`:     4,
		} {
			resp := run(t, r, nil, query, "")
			data := string(resp.Data)
			if len(resp.Errors) != errors || !strings.Contains(data, `"name":"alpha","`+kind+`s":{"nodes":[],"totalCount":null,"freshness":{"observedAt":null,"stale":true,"message":"instance \"alpha\" does not serve`) ||
				!strings.Contains(data, `"`+kind+`":null`) {
				t.Errorf("%s: %s with errors %v", query, data, resp.Errors)
			}
			for _, e := range resp.Errors {
				if apierror.CodeOf(e) != apierror.CodeInvalid || !strings.Contains(e.Path.String(), kind) {
					t.Errorf("%s: %v at %s", query, e, e.Path)
				}
			}
		}
	}
}
