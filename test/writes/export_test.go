package writes

import (
	"context"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
