package fleet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/deploy/internal/kube"
	"github.com/kairship-io/kairship/deploy/local/internal/topology"
)

// stepTimeout ends a set-up step or a wait that would not end.
const stepTimeout = 90 * time.Second

// setupTasks lists everything that is done to the clusters. Steps that apply something run once per
// fleet (see State.Steps); waits run every time, because they also tell whether a healed fleet is
// well again.
func (f *Fleet) setupTasks() []task {
	tasks := []task{
		{name: "global/setup", needs: []string{"global-apiserver"}, run: f.setUpGlobal},
		{name: "global/index", needs: []string{"global/setup", "clusterpedia-apiserver"}, run: f.awaitIndex},
	}
	var credentials, joins, samples, metrics []string
	for _, c := range topology.WithRole(topology.Instance) {
		tasks = append(tasks, f.instanceTasks(c.Name)...)
		credentials = append(credentials, c.Name+"/credentials")
		samples = append(samples, c.Name+"/samples")
	}
	for _, c := range topology.WithRole(topology.Member) {
		tasks = append(tasks, f.memberTasks(c)...)
		credentials = append(credentials, c.Name+"/credentials")
		if c.Metrics {
			tasks = append(tasks, f.metricsTask(c))
			metrics = append(metrics, c.Name+"/metrics")
		}
		if !f.settings.WithoutKairship {
			tasks = append(tasks, f.joinTask(c))
			joins = append(joins, c.Name+"/join")
		}
	}
	if f.settings.DB == Postgres {
		tasks = append(tasks, task{name: "postgres/database", needs: []string{postgresProcess}, run: f.postgres.createDatabase})
	}
	collects := append([]string{"clustersynchro-manager", "global/index"}, credentials...)
	if f.settings.WithoutKairship {
		for _, c := range topology.WithRole(topology.Instance) {
			collects = append(collects, c.Name+"/api")
		}
		tasks = append(tasks, task{name: "index/clusters", needs: collects, run: f.registerWithIndex})
	} else {
		collects = append(collects, "kairship-apiserver", "kairship-controller-manager-0", "kairship-controller-manager-1")
		tasks = append(tasks,
			task{name: "index/clusters", needs: append(collects, "global/registration"), run: f.removeOwnPediaClusters},
			task{name: "chart", run: f.renderChart},
			task{name: "global/accounts", needs: []string{"chart", "global/setup"}, run: f.setUpKairshipAccounts},
			task{name: "global/webhook-secret", needs: []string{"global/setup"}, run: f.shareWebhookSecret},
			task{name: "global/people", needs: append(f.webhooks(), "global/webhook-secret", "global/registration"), run: f.bindPeople})
	}
	tasks = append(tasks, task{name: "global/registration", needs: append([]string{"global/setup"}, credentials...), run: f.register})
	// The last task: what has been set up is seen to work, all the way into the index.
	return append(tasks, task{name: "ready", needs: slices.Concat(samples, joins, metrics, []string{"index/clusters"}), run: f.awaitCollected})
}

// inputHash identifies what a step applies.
func inputHash(objects ...*unstructured.Unstructured) string {
	h := sha256.New()
	for _, object := range objects {
		content, err := json.Marshal(object.Object) // map keys come out sorted
		if err != nil {
			panic(err) // it was decoded from JSON or YAML
		}
		h.Write(content)
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// textHash identifies a step by texts.
func textHash(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		_, _ = fmt.Fprintf(h, "%d\n%s\n", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// applyOnce applies objects to a cluster as one step.
func (f *Fleet) applyOnce(ctx context.Context, step, cluster string, objects []*unstructured.Unstructured) error {
	ctx, cancel := stepContext(ctx)
	defer cancel()
	return f.once(step, inputHash(objects...), func() error {
		return f.clients[cluster].Apply(ctx, objects...)
	})
}

// stepContext ends with the step's time. Its end then says so, rather than "context deadline exceeded".
func stepContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, stepTimeout, fmt.Errorf("gave up after %s", stepTimeout))
}

// awaitAPIService waits until the aggregation layer reaches an extension apiserver.
func (f *Fleet) awaitAPIService(ctx context.Context, cluster, name string) error {
	ctx, cancel := stepContext(ctx)
	defer cancel()
	gvk := schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"}
	return f.clients[cluster].WaitFor(ctx, gvk, "", name, func(o *unstructured.Unstructured) string {
		return kube.ConditionIs(o, "Available", "True")
	})
}

// aggregated is the Service and the APIService that lead to an extension apiserver on a loopback
// port. The aggregation layer accepts a loopback address only by a name (type ExternalName), and
// takes the port from the APIService.
func aggregated(group, version, service, namespace string, port int, ca []byte, priority int) []*unstructured.Unstructured {
	return kube.MustParse(`
apiVersion: v1
kind: Service
metadata: {name: %[3]s, namespace: %[4]s}
spec: {type: ExternalName, externalName: localhost}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: %[2]s.%[1]s}
spec:
  group: %[1]s
  version: %[2]s
  groupPriorityMinimum: %[7]d
  versionPriority: 100
  caBundle: %[6]s
  service: {name: %[3]s, namespace: %[4]s, port: %[5]d}
`, group, version, service, namespace, port, base64(ca), priority)
}

func namespace(name string) *unstructured.Unstructured {
	return kube.MustParse("{apiVersion: v1, kind: Namespace, metadata: {name: %s}}", name)[0]
}

// serviceAccount is an account with a long-lived token in a Secret of the same name, bound to a
// cluster role.
func serviceAccount(namespace, name, clusterRole string) []*unstructured.Unstructured {
	objects := kube.MustParse(`
apiVersion: v1
kind: ServiceAccount
metadata: {name: %[2]s, namespace: %[1]s}
---
apiVersion: v1
kind: Secret
type: kubernetes.io/service-account-token
metadata:
  name: %[2]s
  namespace: %[1]s
  annotations: {kubernetes.io/service-account.name: %[2]s}
`, namespace, name)
	if clusterRole == "" {
		return objects
	}
	return append(objects, kube.MustParse(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: "%[1]s:%[2]s"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %[3]s}
subjects: [{kind: ServiceAccount, namespace: %[1]s, name: %[2]s}]
`, namespace, name, clusterRole)...)
}

// serviceAccountToken waits until the token controller has filled a Secret, and returns the token.
func (f *Fleet) serviceAccountToken(ctx context.Context, cluster, namespace, name string) (string, error) {
	ctx, cancel := stepContext(ctx)
	defer cancel()
	token := ""
	err := f.clients[cluster].WaitFor(ctx, secretGVK, namespace, name, func(o *unstructured.Unstructured) string {
		encoded, _, _ := unstructured.NestedString(o.Object, "data", "token")
		if encoded == "" {
			return "the token controller has not issued its token"
		}
		decoded, err := unbase64(encoded)
		if err != nil {
			return err.Error()
		}
		token = decoded
		return ""
	})
	return token, err
}

var secretGVK = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
