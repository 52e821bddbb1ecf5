package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// timeline is what the fields of that name return.
type timeline struct {
	Nodes    []timelineEntry
	PageInfo struct {
		HasNextPage bool
		EndCursor   *string
	}
	TotalCount *int
	Freshness  struct {
		ObservedAt *time.Time
		Stale      bool
	}
}

type timelineEntry struct {
	At                                               time.Time
	Change                                           string
	ClusterName, Field, Before, After, Message, User *string
}

// text is an entry in a line, without its time and its message.
func (e *timelineEntry) text() string {
	parts := []string{e.Change}
	for _, part := range []*string{e.ClusterName, e.Field} {
		if part != nil {
			parts = append(parts, *part)
		}
	}
	show := func(s *string) string {
		if s == nil {
			return "-"
		}
		return *s
	}
	return strings.Join(append(parts, show(e.Before), ">", show(e.After)), " ")
}

const timelineFields = `nodes { at change clusterName field before after message user } pageInfo { hasNextPage endCursor } totalCount freshness { observedAt stale }`

// histories are those of a workload, of its policy, of a member cluster and of the instance.
type histories struct {
	Instance *struct {
		Timeline          timeline
		MemberCluster     *struct{ Timeline timeline }
		PropagationPolicy *struct{ Timeline timeline }
		Workload          *struct {
			Timeline     timeline
			Availability struct {
				Ratio                           *float64
				HealthySeconds, ObservedSeconds float64
				From, To                        time.Time
				Clusters                        []struct {
					ClusterName string
					Ratio       *float64
				}
			}
		}
	}
}

const historiesQuery = `query($ns: String!, $first: Int, $after: String, $changes: [TimelineChange!], $from: Time, $to: Time, $since: Time!) { instance(name: "alpha") {
	timeline { ` + timelineFields + ` }
	memberCluster(name: "m2") { timeline(changes: [TAINTS]) { ` + timelineFields + ` } }
	propagationPolicy(namespace: $ns, name: "history") { timeline { ` + timelineFields + ` } }
	workload(kind: DEPLOYMENT, namespace: $ns, name: "history") {
		timeline(first: $first, after: $after, changes: $changes, from: $from, to: $to) { ` + timelineFields + ` }
		availability(from: $since) { ratio healthySeconds observedSeconds from to clusters { clusterName ratio } } } } }`

// TestTimeline changes a workload, its policy and a member cluster, and reads when and how.
func TestTimeline(t *testing.T) {
	on := open(t)
	w := theWorld(t)
	ns := w.id + "-history"
	began := time.Now()
	ask := func(ctx context.Context, more map[string]any) (*histories, error) {
		variables := map[string]any{"ns": ns, "since": began.Add(-time.Hour).UTC().Format(time.RFC3339Nano)}
		for name, value := range more {
			variables[name] = value
		}
		data, _, err := gql.Query[histories](ctx, on.kairship, historiesQuery, variables)
		return &data, err
	}
	var now *histories
	until := func(what string, of func(*histories) *timeline, want ...string) {
		t.Helper()
		poll.Until(t, propagationTimeout, "the timeline has "+what, func(ctx context.Context) error {
			var err error
			if now, err = ask(ctx, nil); err != nil {
				return err
			}
			if now.Instance.Workload == nil || now.Instance.PropagationPolicy == nil {
				return fmt.Errorf("the index has not all: %+v", now.Instance)
			}
			var texts []string
			for i := range of(now).Nodes {
				texts = append(texts, of(now).Nodes[i].text())
			}
			for _, text := range want {
				if !slices.ContainsFunc(texts, func(is string) bool { return strings.Contains(is, text) }) {
					return fmt.Errorf("no entry is %q: %q", text, texts)
				}
			}
			return nil
		})
	}
	workload := func(h *histories) *timeline { return &h.Instance.Workload.Timeline }

	w.create(t, created{"alpha", &corev1.Namespace{ObjectMeta: w.meta("", ns)}})
	p := propagation(w.meta(ns, "history"), selects("Deployment", ns, "history"), to("m1"))
	d := deployment(w.meta(ns, "history"))
	w.create(t, created{"alpha", p}, created{"alpha", d})
	until("its beginning", workload, "CREATED - > -", "POLICY - > "+ns+"/history", "PLACEMENT m1 - > SCHEDULED", "HEALTH m1 - > ", "HEALTH PROGRESSING > HEALTHY")

	alpha := w.fleet.Client(t, "alpha")
	change := func(o client.Object, do func()) {
		t.Helper()
		before := o.DeepCopyObject().(client.Object) //nolint:forcetypeassert // It is a copy.
		do()
		if err := alpha.Patch(t.Context(), o, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
	}
	image := d.Spec.Template.Spec.Containers[0].Image
	live := &appsv1.Deployment{}
	if err := alpha.Get(t.Context(), client.ObjectKeyFromObject(d), live); err != nil {
		t.Fatal(err)
	}
	change(live, func() { live.Spec.Template.Spec.Containers[0].Image = image + "-next" })
	until("the image", workload, "IMAGES "+image+" > "+image+"-next")
	policy := &policyv1alpha1.PropagationPolicy{}
	if err := alpha.Get(t.Context(), client.ObjectKeyFromObject(p), policy); err != nil {
		t.Fatal(err)
	}
	change(policy, func() { policy.Spec.Placement.ClusterAffinity.ClusterNames = []string{"m2"} })
	until("the move", workload, "PLACEMENT m2 - > SCHEDULED", "PLACEMENT m1 ")
	until("the policy's change", func(h *histories) *timeline { return &h.Instance.PropagationPolicy.Timeline }, "CREATED", "SPEC placement ")
	w.taint(t, "m2")
	until("the taint", func(h *histories) *timeline { return &h.Instance.MemberCluster.Timeline }, "TAINTS - > suite-"+w.id+":NoSchedule")
	until("the end of the move", workload, "PLACEMENT m1 SCHEDULED > ", "HEALTH m2 ")

	all := workload(now).Nodes
	for i := range all {
		e := &all[i]
		if e.At.Before(began.Add(-time.Minute)) || i > 0 && e.At.After(all[i-1].At) {
			t.Errorf("%s was at %s, and the test began at %s", e.text(), e.At, began)
		}
	}
	if c := workload(now); c.TotalCount == nil || *c.TotalCount != len(c.Nodes) || c.Freshness.ObservedAt == nil || c.Freshness.Stale {
		t.Errorf("%d entries, counted %v, of %+v", len(c.Nodes), c.TotalCount, c.Freshness)
	}
	a := now.Instance.Workload.Availability
	if a.Ratio == nil || *a.Ratio < 0 || *a.Ratio > 1 || a.HealthySeconds > a.ObservedSeconds || a.ObservedSeconds > time.Since(began).Seconds()+2 || len(a.Clusters) != 2 {
		t.Errorf("the availability is %+v", a)
	}
	w.timelinePages(t, ask, all)
	w.timelineRefusals(t, on, ns)
	w.timelineOfWhatIsGone(t, on, ns, d)
}

// timelinePages reads a timeline in pages and parts. Entries may come meanwhile: those that there are are compared.
func (w *world) timelinePages(t *testing.T, ask func(context.Context, map[string]any) (*histories, error), all []timelineEntry) {
	t.Helper()
	must := func(more map[string]any) *timeline {
		t.Helper()
		got, err := ask(t.Context(), more)
		if err != nil {
			t.Fatal(err)
		}
		return &got.Instance.Workload.Timeline
	}
	var paged []string
	oldest := all[len(all)-1].text()
	for after := (*string)(nil); ; {
		page := must(map[string]any{"first": 2, "after": after})
		for i := range page.Nodes {
			paged = append(paged, page.Nodes[i].text())
		}
		if after = page.PageInfo.EndCursor; !page.PageInfo.HasNextPage {
			break
		}
	}
	if len(paged) < len(all) || paged[len(paged)-1] != oldest {
		t.Errorf("in pages of two it has %d entries, and %d in one", len(paged), len(all))
	}
	for _, e := range must(map[string]any{"changes": []string{"IMAGES", "POLICY"}}).Nodes {
		if e.Change != "IMAGES" && e.Change != "POLICY" {
			t.Errorf("%s is among images and policies", e.text())
		}
	}
	at := all[len(all)/2].At
	text := at.Format(time.RFC3339Nano)
	older, newer := must(map[string]any{"to": text}).Nodes, must(map[string]any{"from": text}).Nodes
	if len(older) == 0 || len(newer) == 0 || slices.ContainsFunc(older, func(e timelineEntry) bool { return !e.At.Before(at) }) || slices.ContainsFunc(newer, func(e timelineEntry) bool { return e.At.Before(at) }) {
		t.Errorf("before and since %s: %d and %d entries", at, len(older), len(newer))
	}
}

// timelineOfWhatIsGone deletes the workload and reads its timeline by its name, as those who may and who may not read it.
func (w *world) timelineOfWhatIsGone(t *testing.T, on *target, ns string, d *appsv1.Deployment) {
	t.Helper()
	const query = `query($ns: String!, $kind: String!) { instance(name: "alpha") { timeline(object: {kind: $kind, namespace: $ns, name: "history"}) { nodes { change } totalCount } } }`
	type answer struct{ Instance *struct{ Timeline timeline } }
	if err := w.fleet.Client(t, "alpha").Delete(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, propagationTimeout, "the timeline has its end", func(ctx context.Context) error {
		data, _, err := gql.Query[answer](ctx, on.as(t, "alice"), query, map[string]any{"ns": ns, "kind": "DEPLOYMENT"})
		if err == nil && (len(data.Instance.Timeline.Nodes) < 5 || data.Instance.Timeline.Nodes[0].Change != "DISAPPEARED") {
			err = fmt.Errorf("it has %+v", data.Instance.Timeline.Nodes)
		}
		return err
	})
	for _, person := range []string{"bob", "mallory"} {
		if r := on.as(t, person).Must(t, gql.Request{Query: query, Variables: map[string]any{"ns": ns, "kind": "DEPLOYMENT"}}); string(r.Data) != `{"instance":null}` {
			t.Errorf("%s gets %s", person, r.Data)
		}
	}
	r := on.kairship.Must(t, gql.Request{Query: query, Variables: map[string]any{"ns": ns, "kind": "Secret"}})
	if len(r.Errors) != 1 || !strings.Contains(r.Errors[0].Message, "has no timeline") {
		t.Errorf("a Secret: %s, %+v", r.Data, r.Errors)
	}
}

// timelineRefusals: who may not see an object sees no history of it, and wrong arguments are named.
func (w *world) timelineRefusals(t *testing.T, on *target, ns string) {
	t.Helper()
	const one = `query($ns: String!) { instance(name: "alpha") { workload(kind: DEPLOYMENT, namespace: $ns, name: "history") { timeline { nodes { change } } }
		propagationPolicy(namespace: $ns, name: "history") { timeline { nodes { change } } } memberCluster(name: "m2") { timeline { nodes { change } } } timeline { nodes { change } } } }`
	for _, person := range []string{"bob", "mallory"} {
		r := on.as(t, person).Must(t, gql.Request{Query: one, Variables: map[string]any{"ns": ns}})
		if string(r.Data) != `{"instance":null}` {
			t.Errorf("%s gets %s", person, r.Data)
		}
	}
	if r := on.as(t, "alice").Must(t, gql.Request{Query: one, Variables: map[string]any{"ns": ns}}); len(r.Errors) > 0 || !strings.Contains(string(r.Data), "CREATED") {
		t.Errorf("alice gets %s, %v", r.Data, r.Errors)
	}
	for argument, selection := range map[string]string{
		"first": `timeline(first: 0) { totalCount }`, "after": `timeline(after: "none") { totalCount }`,
		"to":   `timeline(from: "2026-01-02T00:00:00Z", to: "2026-01-01T00:00:00Z") { totalCount }`,
		"from": `availability(from: "2026-01-02T00:00:00Z", to: "2026-01-01T00:00:00Z") { ratio }`,
	} {
		r := on.kairship.Must(t, gql.Request{Query: `query($ns: String!) { instance(name: "alpha") { workload(kind: DEPLOYMENT, namespace: $ns, name: "history") { ` + selection + ` } } }`, Variables: map[string]any{"ns": ns}})
		var where struct{ Argument, Code string }
		if len(r.Errors) == 1 {
			raw, _ := json.Marshal(r.Errors[0].Extensions)
			_ = json.Unmarshal(raw, &where)
		}
		if where.Code != "INVALID" || where.Argument != argument {
			t.Errorf("%s: got %s, %+v", argument, r.Data, r.Errors)
		}
	}
}
