package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/deploy/internal/kube"
	"github.com/kairship-io/kairship/deploy/local/internal/samples"
	"github.com/kairship-io/kairship/deploy/local/internal/topology"
)

var pediaClusterGVK = schema.GroupVersionKind{Group: "cluster.clusterpedia.io", Version: "v1alpha2", Kind: "PediaCluster"}

// ownLabel marks the PediaClusters that the fleet itself made.
const ownLabel = "kairship.io/made-by-local-fleet"

// What is collected from an instance's apiserver and from a member. One version per kind: the index
// would keep an object once per version. Secrets are left out.
const (
	virtualResources = `
- {group: apps, versions: [v1], resources: [deployments, statefulsets, daemonsets]}
- {group: batch, versions: [v1], resources: [jobs, cronjobs]}
- {group: policy.karmada.io, versions: [v1alpha1], resources: [propagationpolicies, clusterpropagationpolicies, overridepolicies, clusteroverridepolicies]}
- {group: work.karmada.io, versions: [v1alpha2], resources: [resourcebindings, clusterresourcebindings]}
- {group: work.karmada.io, versions: [v1alpha1], resources: [works]}
- {group: cluster.karmada.io, versions: [v1alpha1], resources: [clusters]}
- {group: "", versions: [v1], resources: [namespaces, services, configmaps, events]}
- {group: networking.k8s.io, versions: [v1], resources: [ingresses]}
- {group: apiextensions.k8s.io, versions: [v1], resources: [customresourcedefinitions]}
`
	physicalResources = `
- {group: apps, versions: [v1], resources: [deployments, statefulsets, daemonsets, replicasets]}
- {group: batch, versions: [v1], resources: [jobs, cronjobs]}
- {group: "", versions: [v1], resources: [pods, nodes, services, events, namespaces]}
`
)

// indexedName is the name of a cluster in the index; instances carry a prefix, because a member may
// have an instance's name.
func indexedName(c topology.Cluster) string {
	if c.Role == topology.Instance {
		return "k-" + c.Name
	}
	return c.Name
}

// indexedClusters lists what the index collects from.
func indexedClusters() []topology.Cluster {
	return append(topology.WithRole(topology.Instance), topology.WithRole(topology.Member)...)
}

// registerWithIndex creates the PediaClusters where Kairship's controllers are not there to do it.
func (f *Fleet) registerWithIndex(ctx context.Context) error {
	if !f.settings.PediaClusters {
		return nil
	}
	ctx, cancel := stepContext(ctx)
	defer cancel()
	return f.once("index/clusters", textHash(virtualResources, physicalResources), func() error {
		for _, c := range indexedClusters() {
			account, resources := topology.SystemNamespace, physicalResources
			if c.Role == topology.Instance {
				account, resources = karmadaNamespace, virtualResources
			}
			token, err := f.serviceAccountToken(ctx, c.Name, account, kairshipAccount)
			if err != nil {
				return err
			}
			ca, err := f.pki(c.Name).CA()
			if err != nil {
				return err
			}
			err = f.clients["global"].Apply(ctx, kube.MustParse(`
apiVersion: cluster.clusterpedia.io/v1alpha2
kind: PediaCluster
metadata:
  name: %[1]s
  labels: {%[2]s: "true"}
spec:
  apiserver: %[3]s
  tokenData: %[4]s
  caData: %[5]s
  syncResources: [%[6]s]
`, indexedName(c), ownLabel, f.ports.URL(c.Name+"/api"), base64([]byte(token)), base64(ca), flow(resources))...)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// flow turns a YAML block list of flow maps into the inside of a flow list.
func flow(list string) string {
	return strings.TrimPrefix(strings.ReplaceAll(strings.TrimSpace(list), "\n- ", ", "), "- ")
}

// removeOwnPediaClusters makes way for Kairship's controllers on a fleet that ran without them.
func (f *Fleet) removeOwnPediaClusters(ctx context.Context) error {
	f.mu.Lock()
	_, made := f.state.Steps["index/clusters"]
	delete(f.state.Steps, "index/clusters")
	f.mu.Unlock()
	if !made {
		return nil
	}
	ctx, cancel := stepContext(ctx)
	defer cancel()
	own, err := f.clients["global"].List(ctx, pediaClusterGVK, "", ownLabel+"=true")
	if err != nil {
		return fmt.Errorf("PediaClusters of this fleet: %w", err)
	}
	for _, o := range own {
		if err := f.clients["global"].Delete(ctx, pediaClusterGVK, "", o.GetName()); err != nil {
			return fmt.Errorf("PediaCluster %s: %w", o.GetName(), err)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state.save(f.paths)
}

// awaitCollected waits until the index collects from every cluster, and, when the samples are new,
// until it shows them as they are in the end.
func (f *Fleet) awaitCollected(ctx context.Context) error {
	if f.settings.WithoutKairship && !f.settings.PediaClusters {
		return nil
	}
	ctx, cancel := stepContext(ctx)
	defer cancel()
	for _, c := range indexedClusters() {
		err := f.clients["global"].WaitFor(ctx, pediaClusterGVK, "", indexedName(c), func(o *unstructured.Unstructured) string {
			return kube.ConditionIs(o, "Ready", "True")
		})
		if err != nil {
			return fmt.Errorf("the index does not collect from %s: %w", c.Name, err)
		}
	}
	if f.settings.WithoutKairship {
		return nil // Nothing joins the members then, and the applications do not become ready.
	}
	return f.once("index/samples", samples.Hash(), func() error {
		for _, sample := range samples.All() {
			if sample.Uncollected {
				continue
			}
			if err := f.awaitIndexed(ctx, sample); err != nil {
				return err
			}
		}
		return nil
	})
}

// awaitIndexed waits until the index shows a sample application as ready.
func (f *Fleet) awaitIndexed(ctx context.Context, sample samples.Sample) error {
	client := f.clients["global"]
	path := fmt.Sprintf("%s/apis/clusterpedia.io/v1beta1/resources/clusters/k-%s/apis/%s/%s/namespaces/%s/%ss/%s", client.Config.Host,
		sample.Instance, sample.GVK.Group, sample.GVK.Version, sample.Namespace, strings.ToLower(sample.GVK.Kind), sample.Name)
	err := kube.Until(ctx, func() error {
		object, err := getJSON(ctx, client.HTTP(), path)
		if err != nil {
			return err
		}
		if missing := sample.Missing(object); missing != "" {
			return errors.New(missing)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("the index does not show %s as it is: %w", sample, err)
	}
	return nil
}

func getJSON(ctx context.Context, client *http.Client, url string) (*unstructured.Unstructured, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, apierrors.NewGenericServerResponse(response.StatusCode, "get", schema.GroupResource{}, "", string(body[:min(len(body), 200)]), 0, true)
	}
	object := &unstructured.Unstructured{}
	return object, object.UnmarshalJSON(body)
}
