package suite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kairship-io/kairship/test/internal/gql"
)

// manifestPreviewArguments are those that TestManifestPreviews sends. The spec is that of the mutations, which
// test/writes sends.
var manifestPreviewArguments = []string{
	"Instance.overridePreview(input.change)", "Instance.overridePreview(input.namespace)", "Instance.overridePreview(input.name)",
	"Instance.applyPreview(input.manifests)", "Instance.applyPreview(input.namespace)", "Instance.applyPreview(input.force)",
	"ManifestPreview.items(first)", "ManifestPreview.items(effects)",
}

// TestManifestPreviews asks for previews about the sample applications, each argument with and without effect.
func TestManifestPreviews(t *testing.T) {
	t.Parallel()
	on := open(t)
	const item = `kind name clusterName effect message suspended totalFields fields { path before after }`
	draft := func(change, more string) string {
		return `change: ` + change + `, namespace: "shop", name: "preview", spec: {resourceSelectors: [{apiVersion: "apps/v1", kind: "Deployment", name: "frontend"}], overrideRules: [{targetCluster: {clusterNames: ["m1"]}, overriders: {plaintext: [` + more + `]}}]}`
	}
	replicas := draft("CREATE", `{path: "/spec/replicas", operator: REPLACE, value: 7}`)
	secret := `{apiVersion: v1, kind: Secret, metadata: {name: preview}, stringData: {password: hidden}}`
	frontend := `{apiVersion: apps/v1, kind: Deployment, metadata: {name: frontend, namespace: shop, labels: {preview: \"yes\"}}}`
	transcoders := `change: CREATE, name: "preview", spec: {resourceSelectors: [{apiVersion: "media.example.com/v1", kind: "Transcoder"}], overrideRules: [{overriders: {labelsOverrider: [{operator: ADD, value: [{key: "a", value: "b"}]}]}}]}`
	for _, tt := range []struct {
		why, field string
		// has and not are texts of the answer; code is that of its error.
		has, not, code string
	}{
		{"a new policy", `overridePreview(input: {` + replicas + `}) { objects manifests changed unchanged failed created notCompared notPropagated items { ` + item + ` } }`,
			`"objects":1,"manifests":2,"changed":1,"unchanged":1,"failed":0,"created":0,"notCompared":0,"notPropagated":0,"items":[{"kind":"Deployment","name":"frontend","clusterName":"m1","effect":"CHANGED","message":null,"suspended":false,"totalFields":1,"fields":[{"path":"/spec/replicas","before":"1","after":"7"}]}`, "", ""},
		{"only some effects", `overridePreview(input: {` + replicas + `}) { items(effects: [UNCHANGED]) { ` + item + ` } }`, `"clusterName":"m2","effect":"UNCHANGED"`, `"m1"`, ""},
		{"only the first", `overridePreview(input: {` + replicas + `}) { items(first: 1) { ` + item + ` } }`, `"m1"`, `"m2"`, ""},
		{"too many", `overridePreview(input: {` + replicas + `}) { items(first: 501) { ` + item + ` } }`, "", "", "INVALID"},
		{"an override that can't be applied", `overridePreview(input: {` + draft("CREATE", `{path: "/spec/none/there", operator: REPLACE, value: 7}`) + `}) { failed items { ` + item + ` } }`, `"failed":1,"items":[{"kind":"Deployment","name":"frontend","clusterName":"m1","effect":"FAILED"`, "", ""},
		{"a deletion", `overridePreview(input: {change: DELETE, namespace: "shop", name: "frontend-image"}) { changed items { ` + item + ` } }`, `"changed":1,"items":[{"kind":"Deployment","name":"frontend","clusterName":"m2"`, "", ""},
		{"a policy of no namespace", `overridePreview(input: {` + transcoders + `}) { notCompared assumptions }`, `"notCompared":1,"assumptions":["Your roles inside the instance do not let you read Transcoder`, "", ""},
		{"a policy that is not there", `overridePreview(input: {change: DELETE, namespace: "shop", name: "none-such"}) { changed }`, "", "", "NOT_FOUND"},
		{"a policy that is there", `overridePreview(input: {` + strings.Replace(replicas, `"preview"`, `"frontend-image"`, 1) + `}) { changed }`, "", "", "ALREADY_EXISTS"},
		{"a change without spec", `overridePreview(input: {change: UPDATE, namespace: "shop", name: "frontend-image"}) { changed }`, "", "", "INVALID"},

		{"a label of a template", `applyPreview(input: {manifests: "` + frontend + `"}) { changed items { ` + item + ` } }`, `{"path":"/metadata/labels/preview","before":null,"after":"\"yes\""}`, "", ""},
		{"what Karmada does not propagate", `applyPreview(input: {manifests: "` + secret + `", namespace: "shop"}) { manifests notPropagated fingerprint }`, `"manifests":0,"notPropagated":1`, "hidden", ""},
		{"fields of others", `applyPreview(input: {manifests: "{apiVersion: apps/v1, kind: Deployment, metadata: {name: frontend, namespace: shop}, spec: {replicas: 40}}"}) { changed }`, "", "", "CONFLICT"},
		{"the same by force", `applyPreview(input: {manifests: "{apiVersion: apps/v1, kind: Deployment, metadata: {name: frontend, namespace: shop}, spec: {replicas: 40}}", force: true}) { assumptions }`, `divides 40 replicas instead of 4 anew`, "", ""},
		{"a field that the kind does not have", `applyPreview(input: {manifests: "{apiVersion: apps/v1, kind: Deployment, metadata: {name: frontend, namespace: shop}, spec: {none: 1}}"}) { changed }`, "", "", "INVALID"},
	} {
		r := on.as(t, "alice").Must(t, gql.Request{Query: `{ instance(name: "alpha") { ` + tt.field + ` } }`})
		code := ""
		if len(r.Errors) > 0 {
			code = r.Errors[0].Extensions.Code
		}
		if data := string(r.Data); code != tt.code || !strings.Contains(data, tt.has) || tt.not != "" && strings.Contains(data, tt.not) {
			t.Errorf("%s: got %s %s, want %s %q", tt.why, code, r.Body, tt.code, tt.has)
		}
	}
}

// TestPreviewsOfRevisedKinds checks that a kind which an interpreter of the instance revises changes only in what the
// policy changes.
func TestPreviewsOfRevisedKinds(t *testing.T) {
	t.Parallel()
	r := open(t).as(t, "admin").Must(t, gql.Request{Query: `{ instance(name: "alpha") { overridePreview(input: {change: CREATE, name: "preview", spec: {
		resourceSelectors: [{apiVersion: "media.example.com/v1", kind: "Transcoder"}], overrideRules: [{overriders: {labelsOverrider: [{operator: ADD, value: [{key: "a", value: "b"}]}]}}]
	}}) { changed assumptions items { fields { path } } } } }`})
	want := `"changed":2,"assumptions":["ResourceInterpreterCustomization transcoders is not run`
	if data := string(r.Data); !strings.Contains(data, want) || strings.Contains(data, "/spec/replicas") || strings.Count(data, `"/metadata/labels/a"`) != 2 {
		t.Errorf("got %s, want %s", r.Body, want)
	}
}

// TestManifestPreviewsCostTheSame checks that the requests of a preview do not follow the number of objects.
func TestManifestPreviewsCostTheSame(t *testing.T) {
	t.Parallel()
	on := open(t)
	w := theWorld(t)
	preview := func(namespace string) int {
		r := on.as(t, "admin").Must(t, gql.Request{Query: fmt.Sprintf(`{ instance(name: "alpha") { overridePreview(input: {change: CREATE, namespace: %q, name: "none-such", spec: {
			resourceSelectors: [{apiVersion: "apps/v1", kind: "Deployment"}], overrideRules: [{overriders: {labelsOverrider: [{operator: ADD, value: [{key: "a", value: "b"}]}]}}]
		}}) { objects items(first: 500) { fields { path } } } } }`, namespace)})
		if len(r.Errors) > 0 {
			t.Fatal(r.Errors)
		}
		t.Logf("%s: %.60s", namespace, r.Data)
		return r.IndexRequests
	}
	w.propagated(t, on)
	few, many := preview(w.a), preview(w.many)
	if many > few+2 {
		t.Errorf("%d requests for few objects, %d for many", few, many)
	}
}

// TestNothingHasDrifted checks that no sample application differs in its members.
func TestNothingHasDrifted(t *testing.T) {
	t.Parallel()
	on := open(t)
	const query = `{ workloads(first: 500, filter: {namespaces: ["shop", "ops", "billing"]}) { nodes { name placements { drift { drifted action totalFields } } } } }`
	for person, least := range map[string]int{"admin": 9, "alice": 6, "bob": 2, "mallory": 0} {
		r := on.as(t, person).Must(t, gql.Request{Query: query})
		data := string(r.Data)
		if len(r.Errors) > 0 || strings.Contains(data, `"drifted":true`) || strings.Count(data, `"action":"NONE"`) < least {
			t.Errorf("%s gets %s", person, r.Body)
		}
	}
}

// TestDriftOfFiftyWorkloads checks that the requests for drift do not follow the number of workloads.
func TestDriftOfFiftyWorkloads(t *testing.T) {
	on := open(t)
	w := theWorld(t)
	w.propagated(t, on)
	const query = `query($filter: WorkloadFilter, $first: Int) { workloads(first: $first, filter: $filter) { nodes { name placements { clusterName drift { drifted action fields { path sent found } } } } } }`
	of := func(first int) int {
		return coldCost(t, on.kairship, query, map[string]any{"first": first, "filter": map[string]any{"namespaces": w.many, "kinds": "DEPLOYMENT"}})
	}
	one, fifty := of(1), of(50)
	if one != fifty || fifty > 1+mostBeyondThePage+1 {
		t.Errorf("%d requests for one workload, %d for fifty", one, fifty)
	}
}
