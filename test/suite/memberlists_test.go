package suite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// memberLists are the lists of a member cluster that have a name of their own, with the arguments by which its list of
// any kind has the same.
var memberLists = map[string]string{
	"services":   `version: "v1", resource: "services"`,
	"ingresses":  `group: "networking.k8s.io", version: "v1", resource: "ingresses"`,
	"namespaces": `version: "v1", resource: "namespaces"`,
	"workloads":  `group: "apps", version: "v1", resource: "deployments"`,
}

// resourceArguments are those of these lists, each of which TestListsOfAMember tries.
var resourceArguments = []string{
	"first", "after", "filter.namespaces", "filter.name", "filter.nameContains", "filter.labelSelector", "filter.owner", "orderBy.field", "orderBy.direction",
}

// listInMember asks for a list of a member cluster.
func listInMember(instance, member, list string) string {
	return fmt.Sprintf(`instance(name: %q) { memberCluster(name: %q) { %s { totalCount nodes { name } } } }`, instance, member, list)
}

// shownInMember is a page of a list of a member cluster.
type shownInMember struct {
	TotalCount int
	Nodes      []struct {
		ID, Kind, Namespace, Name string
		ManagedBy                 *struct{ WorkName string }
		Runs                      *struct{ Images []string }
	}
	PageInfo struct {
		HasNextPage bool
		EndCursor   *string
	}
}

const selectedInMember = "{ totalCount nodes { id kind namespace name managedBy { workName } runs { images } } pageInfo { hasNextPage endCursor } }"

// pagesInMember asks for several lists of m1 at once.
func pagesInMember(ctx context.Context, c *gql.Client, lists string) (map[string]shownInMember, error) {
	data, _, err := gql.Query[struct {
		Instance struct {
			MemberCluster map[string]shownInMember
		}
	}](ctx, c, `{ instance(name: "alpha") { memberCluster(name: "m1") { `+lists+` } } }`, nil)
	return data.Instance.MemberCluster, err
}

// TestListsOfAMember compares each list with the list of any kind of the same objects, under every argument, as the
// administrator and as an editor of the instance.
func TestListsOfAMember(t *testing.T) {
	on := open(t)
	theWorld(t).settled(t, on)
	w := &world{fleet: on.fleet, id: newID()}
	t.Cleanup(w.remove)
	ns := "suite-" + w.id + "-lists"
	w.create(t, created{"m1", &corev1.Namespace{ObjectMeta: w.meta("", ns)}})
	w.create(t, created{"m1", &networkingv1.Ingress{
		ObjectMeta: w.meta(ns, "web"),
		Spec:       networkingv1.IngressSpec{DefaultBackend: &networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "web", Port: networkingv1.ServiceBackendPort{Number: 80}}}},
	}})
	poll.Until(t, propagationTimeout, "the Ingress is shown", func(ctx context.Context) error {
		pages, err := pagesInMember(ctx, on.kairship, fmt.Sprintf("ingresses(filter: {namespaces: [%q]}) %s", ns, selectedInMember))
		if shown := pages["ingresses"]; err == nil && (shown.TotalCount != 1 || shown.Nodes[0].Name != "web" || shown.Nodes[0].Kind != "Ingress") {
			err = fmt.Errorf("got %+v", shown)
		}
		return err
	})
	people := map[string]*gql.Client{"admin": on.kairship, "alice": on.as(t, "alice")}
	for field, kind := range memberLists {
		own := ""
		if field == "workloads" {
			own = "kinds: [DEPLOYMENT], "
		}
		for person, c := range people {
			for _, arguments := range []string{
				`first: 500`, `first: 3`, `filter: {namespaces: ["shop"]}`, `filter: {name: ["frontend", "shop", "kubernetes"]}`,
				`filter: {nameContains: "e"}`, `filter: {labelSelector: "karmada.io/managed=true"}`, `filter: {owner: ["none"]}`, `filter: {namespaces: []}`,
				`first: 4, orderBy: {field: NAME, direction: DESC}`, `first: 4, orderBy: {field: CREATED_AT}`, `orderBy: {field: NAMESPACE, direction: DESC}`,
			} {
				poll.Until(t, soon, fmt.Sprintf("%s(%s) is what resources has for %s", field, arguments, person), func(ctx context.Context) error {
					pages, err := pagesInMember(ctx, c, fmt.Sprintf("own: %s(%s%s) %s any: resources(%s, %s) %s", field, own, arguments, selectedInMember, kind, arguments, selectedInMember))
					if err != nil {
						return err
					}
					// Cursors have the time in them.
					first, last := pages["own"], pages["any"]
					if arguments == "first: 500" && len(first.Nodes) == 0 {
						return errors.New("there is none: the test proves nothing")
					}
					after := first.PageInfo.EndCursor
					first.PageInfo.EndCursor, last.PageInfo.EndCursor = nil, nil
					if diff := gocmp.Diff(last, first); diff != "" {
						return fmt.Errorf("resources has -, %s has +:\n%s", field, diff)
					}
					if !first.PageInfo.HasNextPage {
						return nil
					}
					more := fmt.Sprintf("%s, after: %q", arguments, *after)
					pages, err = pagesInMember(ctx, c, fmt.Sprintf("own: %s(%s%s) %s", field, own, more, selectedInMember))
					if err == nil && (len(pages["own"].Nodes) == 0 || pages["own"].Nodes[0].ID == first.Nodes[0].ID) {
						err = fmt.Errorf("after the first page comes %v", pages["own"])
					}
					return err
				})
			}
		}
	}
}

// TestWorkloadsOfAMember compares the workloads of all kinds with what m1 itself has.
func TestWorkloadsOfAMember(t *testing.T) {
	on := open(t)
	theWorld(t).settled(t, on)
	w := &world{fleet: on.fleet}
	poll.Until(t, soon, "the workloads are those of m1", func(ctx context.Context) error {
		var want []string
		for _, kind := range memberKinds {
			shown := map[string]string{"deployments": "Deployment", "statefulsets": "StatefulSet", "daemonsets": "DaemonSet", "jobs": "Job", "cronjobs": "CronJob"}[kind.resource]
			if shown == "" {
				continue
			}
			all, err := listItems(ctx, w.fleet.Client(t, "m1"), kind.objects(), "")
			if err != nil {
				return err
			}
			for _, i := range all {
				want = append(want, fmt.Sprintf("%s/%s/%s", i.GetNamespace(), i.GetName(), shown))
			}
		}
		var got []string
		arguments := ""
		for {
			pages, err := pagesInMember(ctx, on.kairship, "workloads(first: 25"+arguments+") "+selectedInMember)
			if err != nil {
				return err
			}
			page := pages["workloads"]
			if page.TotalCount != len(want) {
				return fmt.Errorf("%d are counted, m1 has %d", page.TotalCount, len(want))
			}
			for _, n := range page.Nodes {
				got = append(got, n.Namespace+"/"+n.Name+"/"+n.Kind)
				if n.Runs == nil || len(n.Runs.Images) == 0 {
					return fmt.Errorf("%s/%s runs nothing", n.Namespace, n.Name)
				}
			}
			if !page.PageInfo.HasNextPage {
				break
			}
			arguments = fmt.Sprintf(", after: %q", *page.PageInfo.EndCursor)
		}
		slices.Sort(got)
		slices.Sort(want)
		if diff := gocmp.Diff(want, got); diff != "" {
			return fmt.Errorf("m1 has -, Kairship has +:\n%s", diff)
		}
		return nil
	})
	if got := summaryOf(t, on.kairship.Must(t, gql.Request{Query: "{ " + listInMember("alpha", "m1", "workloads(kinds: [CUSTOM])") + " }"})); got != "INVALID" {
		t.Errorf("custom workloads: got %s", got)
	}
	if got := summaryOf(t, on.kairship.Must(t, gql.Request{Query: "{ " + listInMember("alpha", "m1", "workloads(kinds: [])") + " }"})); got != "0:" {
		t.Errorf("no kind: got %s", got)
	}
}

// eventArguments are those of the events of a member cluster, each of which TestEventsOfAMember tries.
var eventArguments = []string{"filter.type", "filter.reason", "filter.involvedKind", "filter.involvedName"}

// TestEventsOfAMember compares the events of m1 with what it has itself.
func TestEventsOfAMember(t *testing.T) {
	on := open(t)
	w := &world{fleet: on.fleet, id: newID()}
	t.Cleanup(w.remove)
	ns := "suite-" + w.id + "-events"
	about := func(name, typ, reason, kind string) created {
		return created{"m1", &corev1.Event{
			ObjectMeta: w.meta(ns, name), Type: typ, Reason: reason, Message: "seen by the suite",
			InvolvedObject: corev1.ObjectReference{Kind: kind, Namespace: ns, Name: "of-" + name},
		}}
	}
	w.create(t, created{"m1", &corev1.Namespace{ObjectMeta: w.meta("", ns)}})
	w.create(t, about("one", "Normal", "Started", "Pod"), about("two", "Warning", "BackOff", "Pod"), about("three", "Warning", "Lost", "Node"))
	type event struct{ Name, Type, Reason, InvolvedKind, InvolvedName string }
	ask := func(ctx context.Context, c *gql.Client, arguments string) (names []string, count int, err error) {
		data, _, err := gql.Query[struct {
			Instance struct {
				MemberCluster *struct {
					Events struct {
						TotalCount int
						Nodes      []event
					}
				}
			}
		}](ctx, c, `{ instance(name: "alpha") { memberCluster(name: "m1") { events(`+arguments+`) { totalCount nodes { name type reason involvedKind involvedName } } } } }`, nil)
		if err != nil || data.Instance.MemberCluster == nil {
			return nil, 0, err
		}
		for _, e := range data.Instance.MemberCluster.Events.Nodes {
			names = append(names, e.Name)
		}
		slices.Sort(names)
		return names, data.Instance.MemberCluster.Events.TotalCount, nil
	}
	here := fmt.Sprintf("namespaces: [%q]", ns)
	for _, tt := range []struct {
		arguments string
		want      []string
	}{
		{"filter: {" + here + "}", []string{"one", "three", "two"}},
		{"filter: {" + here + `, type: "Warning"}`, []string{"three", "two"}},
		{"filter: {" + here + `, reason: "Lost"}`, []string{"three"}},
		{"filter: {" + here + `, involvedKind: "Pod"}, orderBy: {field: CREATED_AT}`, []string{"one", "two"}},
		{"filter: {" + here + `, involvedName: "of-two"}`, []string{"two"}},
		{`filter: {namespaces: []}`, nil},
	} {
		poll.Until(t, propagationTimeout, "events("+tt.arguments+") are those of m1", func(ctx context.Context) error {
			names, count, err := ask(ctx, on.kairship, tt.arguments)
			if err == nil && (count != len(tt.want) || !slices.Equal(names, tt.want)) {
				err = fmt.Errorf("got %d: %v, want %v", count, names, tt.want)
			}
			return err
		})
	}
	events := &corev1.EventList{}
	if err := w.fleet.Client(t, "m1").List(t.Context(), events, client.InNamespace(ns)); err != nil || len(events.Items) != 3 {
		t.Fatalf("m1 has %d events: %v", len(events.Items), err)
	}
	page := func(arguments string) (data struct {
		Instance struct {
			MemberCluster struct {
				Events struct {
					Edges []struct{ Cursor string }
				}
			}
		}
	}) {
		answer := on.kairship.Must(t, gql.Request{Query: `{ instance(name: "alpha") { memberCluster(name: "m1") { events(` + arguments + `) { edges { cursor } } } } }`})
		if err := json.Unmarshal(answer.Data, &data); err != nil {
			t.Fatal(err)
		}
		return data
	}
	first := page("first: 2, filter: {" + here + "}").Instance.MemberCluster.Events.Edges
	if len(first) != 2 {
		t.Fatalf("a page of two has %d", len(first))
	}
	if rest := page(fmt.Sprintf("first: 2, after: %q, filter: {%s}", first[1].Cursor, here)).Instance.MemberCluster.Events.Edges; len(rest) != 1 {
		t.Errorf("after two of three come %d", len(rest))
	}
	// No workload of the namespace was sent there, so a role in a namespace of the name does not show them.
	for person, c := range map[string]*gql.Client{"bob": on.as(t, "bob"), "mallory": on.as(t, "mallory"), "a viewer": newPerson(t, on, viewerIn("alpha", "shop")).Client} {
		if names, count, err := ask(t.Context(), c, "filter: {"+here+"}"); err == nil && (count != 0 || len(names) > 0) {
			t.Errorf("%s sees %v", person, names)
		}
	}
}
