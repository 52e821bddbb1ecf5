package suite

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	kairshipv1alpha1 "github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// customAnswer is a custom workload.
type customAnswer struct {
	Typename                                             string `json:"__typename"`
	Kind, CustomKind, APIVersion, KubernetesKind, Health string
	Namespace, Name, YAML                                string
	HealthMessage                                        *string
	Suspended, Deleting                                  bool
	Replicas                                             struct{ Desired, Ready int }
	Policy, Binding                                      *struct{ Name string }
	OverridePolicies                                     []struct{ Name string }
	Placements                                           []customPlacement
	Explanation                                          struct {
		Stage, State string
		Steps        []struct{ Reasons []struct{ Code string } }
	}
	Usage struct{ PodCount int }
}

type customPlacement struct {
	ClusterName, Health string
	Desired, Ready      *int
	Applied             bool
	Object              *struct{ Name string }
}

const customFields = `__typename ... on CustomWorkload { customKind apiVersion kubernetesKind } kind namespace name health healthMessage suspended deleting replicas { desired ready }
	policy { name } binding { name } overridePolicies { name }
	placements { clusterName desired ready applied health object { name } } events(first: 5, after: null) { nodes { reason } } explanation { stage state steps { reasons { code } } } usage { podCount }`

// TestCustomWorkload reads the sample of a custom kind, whose template the index does not have.
func TestCustomWorkload(t *testing.T) {
	on := open(t)
	want := customAnswer{
		Typename: "CustomWorkload", Kind: "CUSTOM", CustomKind: "Transcoder.media.example.com", APIVersion: "media.example.com/v1", KubernetesKind: "Transcoder",
		Health: "HEALTHY", Namespace: "media", Name: "thumbnails",
		Policy: &struct{ Name string }{"thumbnails"}, Binding: &struct{ Name string }{"thumbnails-transcoder"}, OverridePolicies: []struct{ Name string }{},
		Placements: []customPlacement{
			{ClusterName: "m1", Health: "HEALTHY", Desired: new(1), Ready: new(1), Applied: true},
			{ClusterName: "m2", Health: "HEALTHY", Desired: new(2), Ready: new(2), Applied: true},
		},
	}
	want.Replicas.Desired, want.Replicas.Ready = 3, 3
	want.Explanation.Stage, want.Explanation.State = "RUN", "PASSED"
	want.Explanation.Steps = []struct{ Reasons []struct{ Code string } }{{Reasons: []struct{ Code string }{{"POLICY_CLAIMED"}}}, {}, {}, {}, {}, {}}
	poll.Until(t, propagationTimeout, "it is healthy everywhere", func(ctx context.Context) error {
		got, _, err := gql.Query[struct {
			Instance  struct{ Workload *customAnswer }
			Workloads struct {
				TotalCount int
				Nodes      []customAnswer
			}
		}](ctx, on.kairship, `{ workloads(filter: {kinds: [CUSTOM], namespaces: ["media"]}) { totalCount nodes { `+customFields+` } }
			instance(name: "alpha") { workload(kind: CUSTOM, customKind: "Transcoder.media.example.com", namespace: "media", name: "thumbnails") { `+customFields+` } } }`, nil)
		if err != nil {
			return err
		}
		if diff := cmp.Diff([]customAnswer{want}, got.Workloads.Nodes, cmpopts.EquateEmpty()); diff != "" || got.Workloads.TotalCount != 1 {
			return fmt.Errorf("the list of %d differs (-want +got):\n%s", got.Workloads.TotalCount, diff)
		}
		if diff := cmp.Diff(&want, got.Instance.Workload, cmpopts.EquateEmpty()); diff != "" {
			return fmt.Errorf("by its name it differs (-want +got):\n%s", diff)
		}
		return nil
	})
	for _, tt := range []struct{ query, want string }{
		{`workloads(filter: {text: "thumbnails"}) { totalCount nodes { name } }`, "1: thumbnails"},
		{`workloads(filter: {namespaces: ["media"], health: [HEALTHY], policy: {namespace: "media", name: "thumbnails"}}, orderBy: {field: READY}) { totalCount nodes { name } }`, "1: thumbnails"},
		{`workloads(filter: {namespaces: ["media"], kinds: [DEPLOYMENT, CRON_JOB]}) { totalCount nodes { name } }`, "0:"},
		{`workloads(filter: {namespaces: ["media", "billing"], kinds: [DEPLOYMENT], customKinds: ["Transcoder.media.example.com"]}) { totalCount nodes { name } }`, "2: api thumbnails"},
		{`instance(name: "alpha") { propagationPolicy(namespace: "media", name: "thumbnails") { workloads { totalCount nodes { name } } } }`, "1: thumbnails"},
		{`search(text: "thumbnails", types: [WORKLOAD]) { hits { name } }`, "thumbnails"},
	} {
		if got := summaryOf(t, on.kairship.Must(t, gql.Request{Query: "{ " + tt.query + " }"})); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.query, got, tt.want)
		}
	}
	for query, argument := range map[string]string{
		`instance(name: "alpha") { workload(kind: CUSTOM, namespace: "media", name: "thumbnails") { name } }`:                                          "customKind",
		`instance(name: "alpha") { workload(kind: JOB, customKind: "Transcoder.media.example.com", namespace: "media", name: "thumbnails") { name } }`: "customKind",
		`instance(name: "alpha") { workload(kind: CUSTOM, customKind: "Deployment.apps", namespace: "shop", name: "frontend") { name } }`:              "customKind",
		`workloads(filter: {customKinds: ["transcoders"]}) { totalCount }`:                                                                             "filter.customKinds",
	} {
		r := on.kairship.Must(t, gql.Request{Query: "{ " + query + " }"})
		if len(r.Errors) != 1 || r.Errors[0].Extensions.Code != "INVALID" || r.Errors[0].Extensions.Argument != argument {
			t.Errorf("%s: got %s, want INVALID at %s", query, r.Body, argument)
		}
	}
}

// TestCustomManifest reads the manifest of a custom workload from its instance, as the caller.
func TestCustomManifest(t *testing.T) {
	on := open(t)
	const query = `{ workloads(filter: {customKinds: ["Transcoder.media.example.com"], namespaces: ["media"]}) { nodes { name manifest yaml } } }`
	type answer struct {
		Workloads struct {
			Nodes []struct {
				Name, YAML string
				Manifest   struct {
					Metadata struct{ Name string }
					Spec     map[string]any
				}
			}
		}
	}
	got, _ := gql.MustQuery[answer](t, on.kairship, query, nil)
	if len(got.Workloads.Nodes) != 1 || got.Workloads.Nodes[0].Manifest.Spec["format"] != "webp" || !strings.Contains(got.Workloads.Nodes[0].YAML, "format: webp") {
		t.Errorf("admin reads %+v", got)
	}
	// The roles of Kairship have no right to the kind in the instance: an operator adds it.
	r := on.as(t, "alice").Must(t, gql.Request{Query: query})
	body := string(r.Body)
	if len(r.Errors) != 2 || r.Errors[0].Extensions.Code != "FORBIDDEN" || strings.Contains(body, "webp") || !strings.Contains(body, `"metadata":{"name":"thumbnails"`) {
		t.Errorf("alice reads %s", body)
	}
}

// TestCustomWorkloadsOfOneNamespace asks as people with a role in one namespace, and in none.
func TestCustomWorkloadsOfOneNamespace(t *testing.T) {
	on := open(t)
	inside, outside := newPerson(t, on, nil), newPerson(t, on, nil)
	bindingIn(t, on, inside, kairshipv1alpha1.RoleEditor, "alpha", "media")
	bindingIn(t, on, outside, kairshipv1alpha1.RoleEditor, "alpha", "shop")
	const named = `workload(kind: CUSTOM, customKind: "Transcoder.media.example.com", namespace: "media", name: "thumbnails") { name }`
	for _, tt := range []struct{ query, in, out string }{
		{`workloads { totalCount nodes { name } }`, "1: thumbnails", "4: cart frontend orphan stuck"},
		{`workloads(filter: {kinds: [CUSTOM], namespaces: ["media"]}) { totalCount nodes { name } }`, "1: thumbnails", "0:"},
		{`workloads(filter: {kinds: [CUSTOM], namespaces: ["media"]}) { facets(fields: [KIND, HEALTH, CLUSTER]) { totalValues } }`, "1 1 2", "0 0 0"},
		{`instance(name: "alpha") { workloads(filter: {customKinds: ["Transcoder.media.example.com"]}) { totalCount nodes { name } } }`, "1: thumbnails", "0:"},
		{`instance(name: "alpha") { ` + named + ` }`, "thumbnails", "null"},
		{node("Workload", "alpha", "Transcoder.media.example.com", "media", "thumbnails"), "found", "null"},
		{entities("__typename", namedBy("CustomWorkload", []string{"alpha", "Transcoder.media.example.com", "media", "thumbnails"})), "CustomWorkload", "null"},
		{`search(text: "thumbnails", types: [WORKLOAD]) { hits { name } }`, "thumbnails", ""},
	} {
		for person, want := range map[*person]string{inside: tt.in, outside: tt.out} {
			if got := summaryOf(t, person.Must(t, gql.Request{Query: "{ " + tt.query + " }"})); got != want {
				t.Errorf("%s: got %q, want %q", tt.query, got, want)
			}
		}
	}
	for _, name := range []string{"bob", "mallory"} {
		r := on.as(t, name).Must(t, gql.Request{Query: `{ workloads(filter: {kinds: [CUSTOM], namespaces: ["media"]}) { totalCount nodes { name } facets(fields: [KIND]) { totalValues } } instance(name: "alpha") { ` + named + ` } }`})
		if strings.Contains(string(r.Body), "thumbnails") || !strings.Contains(string(r.Body), `"totalCount":0`) || len(r.Errors) > 0 {
			t.Errorf("%s reads %s", name, r.Body)
		}
	}
}

// TestObjectsOfACustomWorkload collects the kind of the sample from the members: its objects there are shown, and
// the pods that they own.
func TestObjectsOfACustomWorkload(t *testing.T) {
	on := open(t)
	inside, outside := newPerson(t, on, nil), newPerson(t, on, nil)
	bindingIn(t, on, inside, kairshipv1alpha1.RoleEditor, "alpha", "media")
	bindingIn(t, on, outside, kairshipv1alpha1.RoleEditor, "alpha", "shop")
	t.Cleanup(func() {
		if err := setCollected(t, on, nil); err != nil {
			t.Error(err)
		}
	})
	kind := kairshipv1alpha1.CollectedKind{Group: "media.example.com", Version: "v1", Resource: "transcoders"}
	if err := setCollected(t, on, &kairshipv1alpha1.CollectedKinds{OfMembers: []kairshipv1alpha1.CollectedKind{kind}}); err != nil {
		t.Fatal(err)
	}
	m1, owner := on.fleet.Client(t, "m1"), &unstructured.Unstructured{}
	owner.SetAPIVersion("media.example.com/v1")
	owner.SetKind("Transcoder")
	if err := m1.Get(t.Context(), client.ObjectKey{Namespace: "media", Name: "thumbnails"}, owner); err != nil {
		t.Fatal(err)
	}
	one := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "media", Name: "suite-" + newID(), OwnerReferences: []metav1.OwnerReference{
			{APIVersion: owner.GetAPIVersion(), Kind: owner.GetKind(), Name: owner.GetName(), UID: owner.GetUID(), Controller: new(true)},
		}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "registry.example.com/media/transcoder:1"}}},
	}
	if err := m1.Create(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.IgnoreNotFound(m1.Delete(context.Background(), one, client.GracePeriodSeconds(0))) })
	const query = `{ workloads(filter: {customKinds: ["Transcoder.media.example.com"], namespaces: ["media"]}) { nodes { placements { clusterName object { name pods { name } } drift { drifted action } } } } }`
	want := fmt.Sprintf(`{"workloads":{"nodes":[{"placements":[{"clusterName":"m1","object":{"name":"thumbnails","pods":[{"name":%q}]},"drift":{"drifted":false,"action":"NONE"}},`+
		`{"clusterName":"m2","object":{"name":"thumbnails","pods":[]},"drift":{"drifted":false,"action":"NONE"}}]}]}}`, one.Name)
	for who, tt := range map[string]struct {
		as   *gql.Client
		want string
	}{
		"admin": {on.kairship, want}, "alice": {on.as(t, "alice"), want}, "an editor of media": {inside.Client, want},
		"an editor of shop": {outside.Client, `{"workloads":{"nodes":[]}}`}, "bob": {on.as(t, "bob"), `{"workloads":{"nodes":[]}}`}, "mallory": {on.as(t, "mallory"), `{"workloads":{"nodes":[]}}`},
	} {
		poll.Until(t, propagationTimeout, who+" has the objects that they may see", func(ctx context.Context) error {
			r, err := tt.as.Do(ctx, gql.Request{Query: query})
			if err == nil && (string(r.Data) != tt.want || len(r.Errors) > 0) {
				err = fmt.Errorf("got %s, want %s", r.Body, tt.want)
			}
			return err
		})
	}
	driftsOfACustomWorkload(t, on, inside)
}

// driftsOfACustomWorkload changes the object of the sample in m2 in a way that Karmada does not undo, and back.
func driftsOfACustomWorkload(t *testing.T, on *target, inside *person) {
	t.Helper()
	m2, object := on.fleet.Client(t, "m2"), &unstructured.Unstructured{}
	object.SetAPIVersion("media.example.com/v1")
	object.SetKind("Transcoder")
	if err := m2.Get(t.Context(), client.ObjectKey{Namespace: "media", Name: "thumbnails"}, object); err != nil {
		t.Fatal(err)
	}
	managed := func(value string) {
		t.Helper()
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"karmada.io/managed":`+value+`}}}`))
		if err := m2.Patch(context.WithoutCancel(t.Context()), object, patch); err != nil {
			t.Error(err)
		}
	}
	drift := func(what, want string) {
		t.Helper()
		const query = `{ instance(name: "alpha") { workload(kind: CUSTOM, customKind: "Transcoder.media.example.com", namespace: "media", name: "thumbnails") {
			placements { clusterName drift { drifted action fields { path sent found } } } } } }`
		poll.Until(t, propagationTimeout, what, func(ctx context.Context) error {
			r, err := inside.Do(ctx, gql.Request{Query: query})
			if err == nil && (!strings.Contains(string(r.Data), want) || len(r.Errors) > 0) {
				err = fmt.Errorf("got %s, want %s", r.Body, want)
			}
			return err
		})
	}
	t.Cleanup(func() { managed(`"true"`) })
	managed("null")
	drift("the object that is Karmada's no more has drifted", `{"clusterName":"m2","drift":{"drifted":true,"action":"CONFLICT","fields":[{"path":"/metadata/labels/karmada.io~1managed","sent":"\"true\"","found":null}]}}`)
	managed(`"true"`)
	drift("nothing has drifted any more", `{"clusterName":"m2","drift":{"drifted":false,"action":"NONE","fields":[]}}`)
	for _, filter := range []string{`kinds: [DEPLOYMENT, CUSTOM]`, `customKinds: ["Transcoder.media.example.com"]`} {
		r := inside.Must(t, gql.Request{Query: `{ workloads(filter: {drifted: false, ` + filter + `}) { totalCount } }`})
		if len(r.Errors) != 1 || r.Errors[0].Extensions.Code != "INVALID" {
			t.Errorf("%s and drifted: got %s", filter, r.Body)
		}
	}
	if r := inside.Must(t, gql.Request{Query: `{ workloads(filter: {drifted: false, namespaces: ["media"]}) { totalCount nodes { name } } }`}); string(r.Data) != `{"workloads":{"totalCount":0,"nodes":[]}}` {
		t.Errorf("a list by drift has custom workloads: %s", r.Body)
	}
}
