package docs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	kairshipv1alpha1 "github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// within is how long Karmada, the members and the index may take to follow.
const within = 60 * time.Second

// scene is where the operations of one document happen: copies of the namespaces
// shop and ops of alpha, with the sample applications in them.
type scene struct {
	fleet *fleet.Fleet
	admin *gql.Client
	// id begins the names of all that the scene has.
	id string
	// operation is the last one that a mutation began.
	operation string
	// other is beta as another control plane: one is registered once.
	other *fleet.Alias
}

// emptyScene is that of documents which show what the fleet itself has.
func emptyScene(t *testing.T) *scene {
	t.Helper()
	f := fleet.Open(t)
	return &scene{fleet: f, admin: gql.New(f.KairshipURL, f.Token(t, "admin")), id: fmt.Sprintf("docs-%d", time.Now().UnixMilli()%1e9)}
}

// newScene sets a scene, and clears it away after the test.
func newScene(t *testing.T) *scene {
	t.Helper()
	s := emptyScene(t)
	f := s.fleet
	alpha := f.Client(t, "alpha")
	s.other = f.Alias(t, "beta") // It ends after what is registered with it is removed.
	t.Cleanup(func() { s.clear(t) })
	for _, o := range s.samples(t) {
		if err := alpha.Create(t.Context(), o); err != nil {
			t.Fatalf("%s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
	if err := alpha.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.id + "-shop", Name: "settings"}}); err != nil {
		t.Fatal(err)
	}
	s.makeLegacy(t)
	s.makeFailing(t)
	poll.Until(t, within, "the copies of the sample applications are there", func(ctx context.Context) error {
		data, _, err := gql.Query[struct {
			Workloads struct {
				Nodes []struct{ Name, Health string }
			}
		}](ctx, s.admin, `query($in: [String!]) { workloads(filter: { instances: ["alpha"], namespaces: $in }) { nodes { name health } } }`,
			map[string]any{"in": []string{s.id + "-shop", s.id + "-ops"}})
		if err != nil {
			return err
		}
		health := map[string]string{}
		for _, w := range data.Workloads.Nodes {
			health[w.Name] = w.Health
		}
		if health["frontend"] != "HEALTHY" || health["cart"] != "HEALTHY" || health["agent"] != "HEALTHY" || health["stuck"] != "UNSCHEDULED" || len(health) < 7 {
			return fmt.Errorf("they are %v", health)
		}
		return nil
	})
	return s
}

// samples are the sample applications of alpha, as the scene's own.
func (s *scene) samples(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	root, err := fleet.Root()
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(filepath.Join(root, "deploy", "local", "internal", "samples", "manifests", "alpha.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	var all []*unstructured.Unstructured
	for decoder := yaml.NewYAMLOrJSONDecoder(file, 4096); ; {
		o := &unstructured.Unstructured{}
		if err := decoder.Decode(&o.Object); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		switch ns := o.GetNamespace(); {
		case ns == "media" || o.GetName() == "media" || o.GetName() == "transcoders":
			continue // An instance has one interpretation of a custom kind: the documents show the sample itself.
		case ns != "":
			o.SetNamespace(s.id + "-" + ns)
		default:
			o.SetName(s.id + "-" + o.GetName())
		}
		if o.GetKind() == "ClusterPropagationPolicy" {
			selectors, _, _ := unstructured.NestedSlice(o.Object, "spec", "resourceSelectors")
			for _, selector := range selectors {
				one := selector.(map[string]any)
				one["namespace"] = s.id + "-" + one["namespace"].(string)
			}
			if err := unstructured.SetNestedSlice(o.Object, selectors, "spec", "resourceSelectors"); err != nil {
				t.Fatal(err)
			}
		}
		all = append(all, o)
	}
}

// makeLegacy has a user make a Deployment in m1 itself.
func (s *scene) makeLegacy(t *testing.T) {
	t.Helper()
	labels := map[string]string{"app": "legacy"}
	legacy := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: s.id + "-shop", Name: "legacy"}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "registry.example.com/legacy:1"}}},
		},
	}}
	m1 := s.fleet.Client(t, "m1")
	poll.Until(t, within, "Karmada has made the namespace in m1", func(ctx context.Context) error { return m1.Create(ctx, legacy) })
}

// makeFailing makes a Deployment for which m1 has no room, and which has waited for too long: something is wrong in the fleet,
// for the documents to find.
func (s *scene) makeFailing(t *testing.T) {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: s.id + "-failing", Name: "failing"}
	labels := map[string]string{"app": "failing"}
	for _, o := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: meta.Namespace}},
		&policyv1alpha1.PropagationPolicy{ObjectMeta: meta, Spec: policyv1alpha1.PropagationSpec{
			ResourceSelectors: []policyv1alpha1.ResourceSelector{{APIVersion: "apps/v1", Kind: "Deployment", Name: meta.Name}},
			Placement:         policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m1"}}},
		}},
		&appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{
			ProgressDeadlineSeconds: new(int32(1)),
			Selector:                &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: "app", Image: "registry.example.com/failing:1",
					Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1000")}},
				}}},
			},
		}},
	} {
		if err := s.fleet.Client(t, "alpha").Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
}

// ours names the namespaces of the documents, and the instance that is not there,
// as the scene has them. In manifests they stand without quotes.
var ours = regexp.MustCompile(`"(shop|ops|gamma)\b|(\bnamespace: *)(shop|ops)\b`)

func (s *scene) own(text string) string {
	return ours.ReplaceAllStringFunc(text, func(found string) string {
		name := strings.TrimLeft(found, `"`)
		if name != found {
			return `"` + s.id + "-" + name
		}
		key, value, _ := strings.Cut(found, ":")
		return key + ": " + s.id + "-" + strings.TrimSpace(value)
	})
}

// variable is a sensible value of a variable that the documents use.
func (s *scene) variable(t *testing.T, name string) any {
	t.Helper()
	get := func(o client.Object, namespace, name string) client.Object {
		if err := s.fleet.Client(t, "alpha").Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, o); err != nil {
			t.Fatal(err)
		}
		return o
	}
	switch name {
	case "after":
		return nil
	case "id":
		data, _ := gql.MustQuery[struct {
			Instance struct{ Workload struct{ ID string } }
		}](t, s.admin,
			s.own(`{ instance(name: "alpha") { workload(kind: DEPLOYMENT, namespace: "shop", name: "frontend") { id } } }`), nil)
		return data.Instance.Workload.ID
	case "version":
		return get(&policyv1alpha1.PropagationPolicy{}, s.id+"-shop", "frontend").GetResourceVersion()
	case "resourceVersion":
		return get(&appsv1.Deployment{}, s.id+"-shop", "frontend").GetResourceVersion()
	case "manifests":
		return s.own("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: banner, namespace: shop}\ndata: {text: hello}\n")
	case "kubeconfig":
		return string(s.other.Kubeconfig(t, s.id))
	case "binding":
		data, _ := gql.MustQuery[struct {
			Instance struct {
				RoleBindings struct{ Nodes []struct{ Name string } }
			}
		}](t, s.admin, `{ instance(name: "alpha") { roleBindings(filter: { subjects: ["carol"] }) { nodes { name } } } }`, nil)
		if len(data.Instance.RoleBindings.Nodes) != 1 {
			t.Fatalf("carol has the roles %+v, want one", data.Instance.RoleBindings.Nodes)
		}
		return data.Instance.RoleBindings.Nodes[0].Name
	case "operation":
		if s.operation == "" {
			data, _ := gql.MustQuery[struct{ ApplyManifests struct{ Operation string } }](t, s.admin,
				`mutation($m: String!) { applyManifests(input: { instance: "alpha", manifests: $m }) { operation } }`, map[string]any{"m": s.variable(t, "manifests")})
			s.operation = data.ApplyManifests.Operation
		}
		return s.operation
	default:
		t.Fatalf("there is no value for $%s: show one in the document (```json variables), or add it here", name)
		return nil
	}
}

// clear removes what the scene has and what the operations of its document made.
func (s *scene) clear(t *testing.T) {
	t.Helper()
	ctx := context.Background()
	remove := func(cluster string, o client.Object) {
		if err := s.fleet.Client(t, cluster).Delete(ctx, o); client.IgnoreNotFound(err) != nil {
			t.Errorf("removing %s from %s: %v", o.GetName(), cluster, err)
		}
	}
	remove("alpha", &policyv1alpha1.ClusterPropagationPolicy{ObjectMeta: metav1.ObjectMeta{Name: s.id + "-node-agents"}})
	s.clearLegacy(ctx, t)
	for _, cluster := range []string{"alpha", "m1", "m2"} {
		var namespaces corev1.NamespaceList
		if err := s.fleet.Client(t, cluster).List(ctx, &namespaces); err != nil {
			t.Error(err)
		}
		for i := range namespaces.Items {
			if strings.HasPrefix(namespaces.Items[i].Name, s.id) {
				remove(cluster, &namespaces.Items[i])
			}
		}
	}
	var instances kairshipv1alpha1.InstanceList
	if err := s.fleet.Client(t, "global").List(ctx, &instances); err != nil {
		t.Error(err)
	}
	for i := range instances.Items {
		if strings.HasPrefix(instances.Items[i].Name, s.id) {
			remove("global", &instances.Items[i])
		}
	}
}

// clearLegacy has Karmada let go of what a document may have promoted.
func (s *scene) clearLegacy(ctx context.Context, t *testing.T) {
	t.Helper()
	legacy := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: s.id + "-shop", Name: "legacy"}}
	if err := s.fleet.Client(t, "alpha").Delete(ctx, legacy); client.IgnoreNotFound(err) != nil {
		t.Errorf("removing legacy from alpha: %v", err)
	}
	s.fleet.LetGo(ctx, t, "m1", map[string]string{
		workv1alpha2.ResourceBindingNamespaceAnnotationKey: legacy.Namespace,
		workv1alpha2.ResourceBindingNameAnnotationKey:      "legacy-deployment",
	})
}
