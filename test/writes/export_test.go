package writes

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/authz/roles"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

type exported struct {
	Manifests string
	Objects   []struct{ Kind, Name string }
	Omitted   []struct{ Kind, Name string }
}

func export(t *testing.T, as *gql.Client, input map[string]any) exported {
	t.Helper()
	data, _ := gql.MustQuery[struct{ ExportApplication exported }](t, as,
		`query($input: ExportApplicationInput!) { exportApplication(input: $input) { manifests objects { kind name } omitted { kind name } } }`, map[string]any{"input": input})
	return data.ExportApplication
}

// exportedManifests are an application with all that an export takes along.
const exportedManifests = `
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {greeting: hello}
---
apiVersion: v1
kind: Secret
metadata: {name: web}
stringData: {password: very-secret}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {team: export}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: registry.example.com/web:1
        envFrom: [{configMapRef: {name: web}}, {secretRef: {name: web}}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: unrelated}
`

// TestExportApplication exports from alpha, and deploys that to beta unchanged.
func TestExportApplication(t *testing.T) {
	t.Parallel()
	admin, namespace := person(t, "admin"), namespaceIn(t)
	beta := fleet.Open(t).Client(t, "beta")
	there := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if err := beta.Create(t.Context(), there); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.IgnoreNotFound(beta.Delete(context.Background(), there)); err != nil {
			t.Errorf("removing namespace %s of beta: %v", namespace, err)
		}
	})
	must[struct{ Deployed bool }](t, admin, "deployApplication", map[string]any{
		"instance": "alpha", "namespace": namespace, "manifests": exportedManifests,
		"propagationPolicies": []any{map[string]any{"name": "web", "spec": map[string]any{
			"resourceSelectors": []any{map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}},
			"placement":         map[string]any{"clusterAffinity": map[string]any{"clusterNames": []string{"none-such"}}},
		}}},
	}, "deployed")
	in := map[string]any{"instance": "alpha", "namespace": namespace, "objects": []any{map[string]any{"kind": "Deployment", "name": "web"}}}
	names := func(e exported) (found []string) {
		for _, o := range e.Objects {
			found = append(found, o.Kind+"/"+o.Name)
		}
		return found
	}

	without := export(t, admin, in)
	if want := []string{"ConfigMap/web", "PropagationPolicy/web", "Service/web", "Deployment/web"}; !slices.Equal(names(without), want) {
		t.Errorf("exported without Secrets: %v, want %v", names(without), want)
	}
	if len(without.Omitted) != 1 || without.Omitted[0].Kind != "Secret" || strings.Contains(without.Manifests, "password") {
		t.Errorf("omitted: %v", without.Omitted)
	}
	whole := export(t, admin, but(in, "secrets", true))
	for _, not := range []string{"uid:", "resourceVersion", "managedFields", "creationTimestamp", "status:", "clusterIP", "terminationMessagePath", "permanent-id", "finalizers"} {
		if strings.Contains(whole.Manifests, not) {
			t.Errorf("the manifests hold %s:\n%s", not, whole.Manifests)
		}
	}
	if byLabel := export(t, admin, map[string]any{"instance": "alpha", "namespace": namespace, "labelSelector": "team=export", "secrets": true}); byLabel.Manifests != whole.Manifests {
		t.Errorf("chosen by label it is another one:\n%s", byLabel.Manifests)
	}
	if all := export(t, admin, map[string]any{"instance": "alpha", "namespace": namespace}); !slices.Contains(names(all), "ConfigMap/unrelated") {
		t.Errorf("the whole namespace is %v", names(all))
	}

	deployed := must[struct {
		Deployed bool
		Results  []struct{ Action string }
	}](t, admin, "deployApplication", map[string]any{"instance": "beta", "manifests": whole.Manifests}, "deployed results { action }")
	if !deployed.Deployed || len(deployed.Results) != len(whole.Objects) {
		t.Errorf("deployed to beta: %+v", deployed)
	}
	if again := export(t, admin, but(in, "instance", "beta", "secrets", true)); again.Manifests != whole.Manifests {
		t.Errorf("beta exports\n%s\nand alpha\n%s", again.Manifests, whole.Manifests)
	}
	// The application that was exported from alpha, sent there again, changes nothing.
	if back := must[struct{ Deployed bool }](t, admin, "deployApplication", map[string]any{"instance": "alpha", "manifests": whole.Manifests, "dryRun": true}, "deployed"); !back.Deployed {
		t.Error("alpha refuses what it exported")
	}
}

type instanceExport struct {
	Namespaces []struct {
		Namespace string
		exported
	}
	ClusterScoped *exported
}

const instanceExportQuery = `query($input: ExportInstanceInput!) { exportInstance(input: $input) {
	namespaces { namespace manifests objects { kind name } omitted { kind name } } clusterScoped { manifests objects { kind name } omitted { kind name } } } }`

// exportInstance exports alpha as a user, and returns the codes of the errors beside it.
func exportInstance(t *testing.T, as *gql.Client, more map[string]any) (*instanceExport, []string) {
	t.Helper()
	r := as.Must(t, gql.Request{Query: instanceExportQuery, Variables: map[string]any{"input": but(more, "instance", "alpha")}})
	var data struct{ ExportInstance *instanceExport }
	if err := json.Unmarshal(r.Data, &data); err != nil { //nolint:musttag // The names differ in case only.
		t.Fatal(err)
	}
	var codes []string
	for _, e := range r.Errors {
		codes = append(codes, fmt.Sprint(e.Extensions.Code, " ", e.Path))
	}
	return data.ExportInstance, codes
}

func (e *instanceExport) names() (names []string) {
	for _, n := range e.Namespaces {
		names = append(names, n.Namespace)
	}
	return names
}

// TestExportInstance exports alpha as far as each user may read it, and takes a namespace of that back in beta.
func TestExportInstance(t *testing.T) {
	t.Parallel()
	admin, alice, namespace := person(t, "admin"), person(t, "alice"), namespaceIn(t)
	must[struct{ Deployed bool }](t, alice, "deployApplication", map[string]any{
		"instance": "alpha", "namespace": namespace, "manifests": exportedManifests,
		"propagationPolicies": []any{map[string]any{"name": "web", "spec": map[string]any{
			"resourceSelectors": []any{map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}},
			"placement":         map[string]any{"clusterAffinity": map[string]any{"clusterNames": []string{"none-such"}}},
		}}},
	}, "deployed")
	one := map[string]any{"namespaces": []string{namespace, "kube-system", "none-such"}}
	poll.Until(t, within, "the policy propagates the application", func(context.Context) error {
		if e, codes := exportInstance(t, alice, one); len(codes) > 0 || e == nil || !slices.Equal(e.names(), []string{namespace}) {
			return fmt.Errorf("got %+v, %v", e, codes)
		}
		return nil
	})

	whole, codes := exportInstance(t, alice, nil)
	if len(codes) > 0 || !slices.IsSorted(whole.names()) || !slices.Contains(whole.names(), namespace) || !slices.Contains(whole.names(), "shop") {
		t.Fatalf("alice exports %v, %v", whole.names(), codes)
	}
	if at := slices.IndexFunc(whole.names(), roles.Reserved); at >= 0 {
		t.Errorf("%s is exported", whole.names()[at])
	}
	has := func(kind, name string) bool {
		return slices.Contains(whole.ClusterScoped.Objects, struct{ Kind, Name string }{kind, name})
	}
	if !has("Namespace", namespace) || has("Namespace", "kube-system") || !has("ClusterPropagationPolicy", "node-agents") || strings.Contains(whole.ClusterScoped.Manifests, "finalizers") {
		t.Errorf("without a namespace are\n%s", whole.ClusterScoped.Manifests)
	}

	// Each namespace is as exportApplication gives it, with and without Secrets and policies.
	for _, more := range []map[string]any{{}, {"secrets": true}, {"policies": false}} {
		e, codes := exportInstance(t, alice, with(more, "namespaces", []string{namespace}))
		want := export(t, alice, but(more, "instance", "alpha", "namespace", namespace))
		if len(codes) > 0 || len(e.Namespaces) != 1 || e.Namespaces[0].Manifests != want.Manifests || len(e.Namespaces[0].Omitted) != len(want.Omitted) {
			t.Errorf("%v: got %+v, %v, want %+v", more, e, codes, want)
		}
	}

	// Others get what they may read.
	editor, outsider := editorIn(t, namespace), editorIn(t, namespaceIn(t))
	poll.Until(t, within, "the role has taken effect", func(context.Context) error {
		if e, codes := exportInstance(t, editor, nil); e == nil || !slices.Equal(e.names(), []string{namespace}) || e.ClusterScoped != nil || !slices.Equal(codes, []string{"FORBIDDEN [exportInstance clusterScoped]"}) {
			return fmt.Errorf("an editor of the namespace exports %+v, %v", e, codes)
		}
		return nil
	})
	poll.Until(t, within, "the other role has taken effect", func(context.Context) error {
		if e, _ := exportInstance(t, outsider, one); e == nil || len(e.Namespaces) > 0 || e.ClusterScoped != nil {
			return fmt.Errorf("an editor of another namespace exports %+v", e)
		}
		return nil
	})
	for _, who := range []string{"bob", "mallory"} {
		if e, codes := exportInstance(t, person(t, who), nil); e != nil || len(codes) > 0 {
			t.Errorf("%s exports %+v, %v", who, e, codes)
		}
	}

	// Beta takes it: what has no namespace first, of which only a dry run is made, for others use beta too.
	takenBack(t, admin, namespace, whole)
}

// takenBack has beta take an exported namespace.
func takenBack(t *testing.T, admin *gql.Client, namespace string, whole *instanceExport) {
	t.Helper()
	beta := fleet.Open(t).Client(t, "beta")
	there := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	t.Cleanup(func() {
		if err := client.IgnoreNotFound(beta.Delete(context.Background(), there)); err != nil {
			t.Errorf("removing namespace %s of beta: %v", namespace, err)
		}
	})
	manifests := whole.ClusterScoped.Manifests
	results := must[applied](t, admin, "applyManifests", map[string]any{"instance": "beta", "manifests": manifests, "dryRun": true}, applyFields)
	if len(results.Results) != len(whole.ClusterScoped.Objects) {
		t.Errorf("beta takes %d objects of %d", len(results.Results), len(whole.ClusterScoped.Objects))
	}
	for one := range strings.SplitSeq(manifests, "---\n") {
		if strings.Contains(one, "kind: Namespace\n") && strings.Contains(one, "name: "+namespace+"\n") {
			must[applied](t, admin, "applyManifests", map[string]any{"instance": "beta", "manifests": one}, applyFields)
		}
	}
	at := slices.Index(whole.names(), namespace)
	deployed := must[struct {
		Deployed bool
		Results  []struct{ Action string }
	}](t, admin, "deployApplication", map[string]any{"instance": "beta", "manifests": whole.Namespaces[at].Manifests}, "deployed results { action }")
	if !deployed.Deployed || len(deployed.Results) != len(whole.Namespaces[at].Objects) {
		t.Errorf("deployed to beta: %+v", deployed)
	}
	if again := export(t, admin, map[string]any{"instance": "beta", "namespace": namespace}); again.Manifests != whole.Namespaces[at].Manifests {
		t.Errorf("beta exports\n%s\nand alpha\n%s", again.Manifests, whole.Namespaces[at].Manifests)
	}
	// Sent to alpha again, what was exported of its samples changes nothing.
	shop := whole.Namespaces[slices.Index(whole.names(), "shop")].Manifests
	if back := must[struct{ Deployed bool }](t, admin, "deployApplication", map[string]any{"instance": "alpha", "manifests": shop, "dryRun": true}, "deployed"); !back.Deployed {
		t.Error("alpha refuses what it exported")
	}
}
