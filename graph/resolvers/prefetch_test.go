package resolvers

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vektah/gqlparser/v2/ast"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/binding"
	"github.com/kairship-io/kairship/pkg/fleet/cluster"
	"github.com/kairship-io/kairship/pkg/fleet/clusternode"
	"github.com/kairship-io/kairship/pkg/fleet/collection"
	"github.com/kairship-io/kairship/pkg/fleet/event"
	"github.com/kairship-io/kairship/pkg/fleet/fleettest"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/image"
	"github.com/kairship-io/kairship/pkg/fleet/instance"
	"github.com/kairship-io/kairship/pkg/fleet/karmadaresource"
	"github.com/kairship-io/kairship/pkg/fleet/listing"
	"github.com/kairship-io/kairship/pkg/fleet/membercluster"
	"github.com/kairship-io/kairship/pkg/fleet/namespace"
	"github.com/kairship-io/kairship/pkg/fleet/pod"
	"github.com/kairship-io/kairship/pkg/fleet/policy"
	"github.com/kairship-io/kairship/pkg/fleet/resource"
	"github.com/kairship-io/kairship/pkg/fleet/search"
	"github.com/kairship-io/kairship/pkg/fleet/timeline"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/index"
)

var now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// reader is an index that holds nothing, and keeps what it was asked.
type reader struct {
	mu sync.Mutex
	// ahead is what was read ahead, asked what was asked for: the part and the query as text.
	ahead, asked []string
	// objects are the exact objects that were asked for, and lists the lists over
	// several instances.
	objects, lists int
	// err is the answer, where there is one.
	err error
}

// ask is a page as text.
func ask(part index.Part, q index.ListQuery) string {
	q.Clusters = nil
	selector := ""
	if q.Selector != nil {
		selector = q.Selector.String()
	}
	q.Selector = nil
	raw, err := json.Marshal(q) //nolint:musttag // It is compared and never read.
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("%s %s %s %s", part.Cluster, part.Value, selector, raw)
}

func (r *reader) keep(f func()) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
	return r.err
}

func (r *reader) List(context.Context, index.ListQuery) (*index.Page, error) {
	err := r.keep(func() { r.lists++ })
	return &index.Page{}, err
}

func (r *reader) PageOf(_ context.Context, part index.Part, q index.ListQuery) (*index.Page, error) {
	err := r.keep(func() { r.asked = append(r.asked, ask(part, q)) })
	return &index.Page{Count: new(int64)}, err
}

func (r *reader) Get(_ context.Context, key index.Key, _ index.Detail) (*index.Object, error) {
	if err := r.keep(func() { r.objects++ }); err != nil {
		return nil, err
	}
	return nil, key.NotFound()
}

func (r *reader) PodsOf(context.Context, index.PodOwner) ([]*index.Object, error) { return nil, r.err }

func (r *reader) Prefetch(context.Context, []index.Key, index.Detail, func(map[index.Key]*index.Object)) {
}

func (r *reader) PrefetchPages(_ context.Context, parts []index.Part, q index.ListQuery, _ func(map[index.Part]*index.Page)) {
	_ = r.keep(func() {
		for _, part := range parts {
			r.ahead = append(r.ahead, ask(part, q))
		}
	})
}

func (r *reader) PrefetchPods(context.Context, []index.PodOwner) {}

// fleetOf makes all services over a reader, with instances alpha and beta.
func fleetOf(t *testing.T, r *reader) *Resolver {
	t.Helper()
	return fleetOver(t, r, r)
}

// fleetOver is the same over another reader that keeps what it is asked in r.
func fleetOver(t *testing.T, over index.Reader, r *reader) *Resolver {
	t.Helper()
	clock := func() time.Time { return now }
	objects := []client.Object{fleettest.Instance("alpha"), fleettest.Instance("beta")}
	for _, name := range []string{"alpha", "beta"} {
		objects = append(objects, joined("of-"+name, name))
		for i := range belowEach {
			objects = append(objects, joined(memberOf(name, i), name))
		}
	}
	inventory := fleettest.Inventory(t, objects...)
	tracker := &freshness.Tracker{Inventory: inventory, Now: clock, Collector: freshness.NewHeartbeat(clock), Global: freshness.NewHeartbeat(clock)}
	lister := &listing.Lister{Reader: over, Freshness: tracker, Now: clock}
	instances, clusters, members := instance.NewService(inventory, tracker), cluster.NewService(inventory, tracker), membercluster.NewService(lister)
	events := event.NewService(lister)
	anyKind := resource.NewService(lister, allCollected{}, resource.Members{Clusters: clusters, Watched: inventory}, instances)
	events.Members = anyKind
	workloads, pods := workload.NewService(lister, over, instances, clusters, membercluster.NewCache(r, clock)), pod.NewService(lister, instances, clusters, members, inventory)
	return &Resolver{Fleet: Fleet{
		Instances: instances, Clusters: clusters, MemberClusters: members, Pods: pods, Images: image.NewService(lister, instances, pods, workloads), Search: search.NewService(lister, instances, clusters, inventory), Namespaces: namespace.NewService(lister),
		Workloads: workloads, Bindings: binding.NewService(lister), Timelines: &timeline.Service{Instances: instances, History: noHistory{r}, Freshness: tracker, Now: clock},
		Policies: policy.NewService(lister), Events: events, Resources: anyKind, ClusterNodes: clusternode.NewService(anyKind), KarmadaResources: karmadaresource.NewService(anyKind),
	}}
}

// joined is a cluster that is joined to an instance.
func joined(name, instance string) *v1alpha1.Cluster {
	c := &v1alpha1.Cluster{Spec: v1alpha1.ClusterSpec{Type: v1alpha1.ClusterTypePhysical, InstanceRef: &v1alpha1.InstanceReference{Name: instance}}}
	c.Name = name
	return c
}

// allCollected reports that the index has everything.
type allCollected struct{ resource.Uncollected }

func (allCollected) Collected(context.Context, string, schema.GroupVersionResource) (collection.State, error) {
	return collection.Whole, nil
}

// sensible makes arguments of literals that are not refused.
var sensible = strings.NewReplacer(
	`customKinds: ["té\"xt", "té\"xt"]`, `customKinds: ["Rollout.argoproj.io", "Job.batch.volcano.sh"]`, `labelSelector: "té\"xt"`, `labelSelector: "app=web"`, `"té\"xt"`, `"text"`,
	`instances: ["té\"xt", "té\"xt"], `, ``, `instances: [], `, ``, // Inside an instance they are another one's.
)

var (
	driftedArgument = regexp.MustCompile(`drifted: \w+, `)
	customArgument  = regexp.MustCompile(`customKinds: \[[^]]*\], `)
)

// sensibly are the literals of an argument that are not refused: drifted and custom workloads, which are refused together,
// each without the other.
func sensibly(literal string) []string {
	literal = sensible.Replace(literal)
	if !driftedArgument.MatchString(literal) {
		return []string{literal}
	}
	return []string{driftedArgument.ReplaceAllString(literal, ""), customArgument.ReplaceAllString(strings.ReplaceAll(literal, "CUSTOM", "JOB"), "")}
}

// notReadAhead are the lists of an instance that are not read ahead: timelines are read together where
// they are asked for, and roleBindings are in memory.
var notReadAhead = map[string]bool{"timeline": true, "roleBindings": true}

// Every list of every instance is read ahead, with exactly the query that the list
// itself asks with, whatever its arguments and whatever is selected; otherwise it would
// be read twice, or one by one.
func TestEveryListOfInstancesIsReadAhead(t *testing.T) {
	schema := loadSchema(t)
	lists := 0
	for _, field := range schema.Types["Instance"].Fields {
		if !strings.HasSuffix(field.Type.Name(), "Connection") || notReadAhead[field.Name] {
			continue
		}
		lists++
		asked := 0
		for _, args := range argumentsOf(schema, field) {
			for _, selection := range []string{`nodes { __typename }`, `totalCount edges { cursor }`} {
				query := fmt.Sprintf(`{ instances { nodes { %s%s { %s } } } }`, field.Name, args, selection)
				r := &reader{}
				resp := run(t, fleetOf(t, r), nil, query, "")
				if len(resp.Errors) > 0 {
					t.Errorf("%s: %v", query, resp.Errors)
				}
				asked += len(r.asked)
				slices.Sort(r.ahead)
				slices.Sort(r.asked)
				if !slices.Equal(r.ahead, r.asked) {
					t.Errorf("%s\nread ahead %q\nasked for  %q", query, r.ahead, r.asked)
				}
			}
		}
		if asked == 0 {
			t.Errorf("%s was never asked for", field.Name)
		}
	}
	if lists < 8 {
		t.Errorf("only %d lists of an instance were looked at", lists)
	}
}

// argumentsOf are ways to ask for a list: each value of each argument, beside what
// has to be given.
func argumentsOf(schema *ast.Schema, field *ast.FieldDefinition) []string {
	var required []string
	for _, arg := range field.Arguments {
		if arg.Type.NonNull {
			required = append(required, arg.Name+`: "`+map[string]string{"version": "v1", "resource": "services"}[arg.Name]+`"`)
		}
	}
	join := func(more ...string) string {
		all := slices.Concat(required, more)
		if len(all) == 0 {
			return ""
		}
		return "(" + strings.Join(all, ", ") + ")"
	}
	ways := []string{join()}
	for _, arg := range field.Arguments {
		if arg.Type.NonNull || arg.Name == "after" {
			continue
		}
		for _, literal := range literals(schema, arg.Type) {
			for _, one := range sensibly(arg.Name + ": " + literal) {
				ways = append(ways, join(one))
			}
		}
	}
	return ways
}

// What is wrong with a list is said by the list, and nothing is read ahead for it.
func TestListsThatAreRefusedAreNotReadAhead(t *testing.T) {
	for _, list := range []string{
		`workloads(first: 0) { nodes { name } }`,
		`workloads(after: "x") { nodes { name } }`,
		`workloads(filter: {labelSelector: "a in"}) { nodes { name } }`,
		`workloads(filter: {instances: ["beta", "alpha"]}) { nodes { name } }`,
		`workloads(filter: {policy: {name: ""}}) { nodes { name } }`,
		`resources(version: "1", resource: "configmaps") { nodes { name } }`,
		`resources(version: "v1", resource: "configmaps", namespace: "a", filter: {namespaces: ["b"]}) { nodes { name } }`,
		`events(first: 501) { nodes { reason } }`,
		`propagationPolicies(filter: {selects: {kind: ""}}) { nodes { name } }`,
	} {
		r := &reader{}
		resp := run(t, fleetOf(t, r), nil, `{ instances { nodes { `+list+` } } }`, "")
		if len(resp.Errors) != 2 || len(r.asked)+len(r.ahead)+r.lists != 0 {
			t.Errorf("%s: errors %v; asked %q, read ahead %q", list, resp.Errors, r.asked, r.ahead)
		}
		for _, err := range resp.Errors {
			if code := apierror.CodeOf(err); code != apierror.CodeInvalid {
				t.Errorf("%s: got %s (%v)", list, code, err)
			}
		}
	}
}
