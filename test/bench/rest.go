package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	kjson "sigs.k8s.io/json"
)

// restClient is the client that a good engineer would write without Kairship:
// it speaks to the index through the global cluster, lists in batches and in
// parallel, asks for nothing twice, and decodes with the decoder of client-go.
type restClient struct {
	http     *http.Client
	base     string
	requests atomic.Int64
}

func newRESTClient(config *rest.Config) (*restClient, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("making the REST client: %w", err)
	}
	return &restClient{http: client, base: strings.TrimSuffix(config.Host, "/") + "/apis/clusterpedia.io/v1beta1/resources"}, nil
}

// The index's paths.
const (
	pathTemplates = "/clusters/" + indexedAs + "/apis/apps/v1/deployments"
	pathPolicies  = "/clusters/" + indexedAs + "/apis/policy.karmada.io/v1alpha1/propagationpolicies"
	pathBindings  = "/clusters/" + indexedAs + "/apis/work.karmada.io/v1alpha2/resourcebindings"
	pathMembers   = "/apis/apps/v1/deployments"
)

// The index's annotation on what it serves, and Karmada's on what a policy claimed.
const (
	clusterAnnotation = "shadow.clusterpedia.io/cluster-name"
	claimAnnotation   = policyv1alpha1.PropagationPolicyNameAnnotation
)

func (c *restClient) read(ctx context.Context, path string, params url.Values, into any) error {
	target := c.base + path
	if len(params) > 0 {
		target += "?" + params.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, http.NoBody)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "kairship-bench")
	c.requests.Add(1)
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the index answered %s to %s: %.300s", resp.Status, path, body)
	}
	return kjson.UnmarshalCaseSensitivePreserveInts(body, into)
}

// pageParams are the parameters of a page that starts somewhere.
func pageParams(p pick) url.Values {
	return url.Values{
		"namespaces": {strings.Join(namespaces, ",")},
		"orderby":    {"namespace,name"},
		"limit":      {strconv.Itoa(pageSize)},
		"continue":   {strconv.Itoa(p.offset)},
	}
}

// job reads a page, then all that hangs on it in three lists side by side.
func (c *restClient) job(ctx context.Context, p pick) (answer, error) {
	var templates appsv1.DeploymentList
	if err := c.read(ctx, pathTemplates, pageParams(p), &templates); err != nil {
		return nil, err
	}
	var (
		in, names, bindingNames, policyNames []string
		policies                             policyv1alpha1.PropagationPolicyList
		bindings                             workv1alpha2.ResourceBindingList
		objects                              appsv1.DeploymentList
	)
	for i := range templates.Items {
		t := &templates.Items[i]
		in, names = append(in, t.Namespace), append(names, t.Name)
		bindingNames = append(bindingNames, t.Name+"-deployment")
		if claim := t.Annotations[claimAnnotation]; claim != "" {
			policyNames = append(policyNames, claim)
		}
	}
	slices.Sort(in)
	in = slices.Compact(in)
	batch := func(names []string) url.Values {
		return url.Values{"namespaces": {strings.Join(in, ",")}, "names": {strings.Join(names, ",")}}
	}
	g, gctx := errgroup.WithContext(ctx)
	if len(policyNames) > 0 {
		g.Go(func() error { return c.read(gctx, pathPolicies, batch(policyNames), &policies) })
	}
	g.Go(func() error { return c.read(gctx, pathBindings, batch(bindingNames), &bindings) })
	g.Go(func() error {
		params := batch(names)
		params.Set("clusters", strings.Join(members, ","))
		return c.read(gctx, pathMembers, params, &objects)
	})
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return join(templates.Items, policies.Items, bindings.Items, objects.Items), nil
}

// join puts together what was read.
func join(templates []appsv1.Deployment, policies []policyv1alpha1.PropagationPolicy, bindings []workv1alpha2.ResourceBinding, objects []appsv1.Deployment) answer {
	type key struct{ cluster, namespace, name string }
	policyOf := map[key]*policyv1alpha1.PropagationPolicy{}
	for i := range policies {
		policyOf[key{"", policies[i].Namespace, policies[i].Name}] = &policies[i]
	}
	bindingOf := map[key]*workv1alpha2.ResourceBinding{}
	for i := range bindings {
		bindingOf[key{"", bindings[i].Namespace, bindings[i].Name}] = &bindings[i]
	}
	objectOf := map[key]*appsv1.Deployment{}
	for i := range objects {
		objectOf[key{objects[i].Annotations[clusterAnnotation], objects[i].Namespace, objects[i].Name}] = &objects[i]
	}
	rows := make(answer, len(templates))
	for i := range templates {
		t := &templates[i]
		r := row{Namespace: t.Namespace, Name: t.Name}
		if p := policyOf[key{"", t.Namespace, t.Annotations[claimAnnotation]}]; p != nil {
			r.Policy = p.Name
		}
		b := bindingOf[key{"", t.Namespace, t.Name + "-deployment"}]
		if b == nil {
			// No one was asked to run it.
			rows[i] = r
			continue
		}
		for _, target := range b.Spec.Clusters {
			r.Clusters = append(r.Clusters, target.Name)
		}
		slices.Sort(r.Clusters)
		for _, cluster := range r.Clusters {
			place := placement{Cluster: cluster}
			if o := objectOf[key{cluster, t.Namespace, t.Name}]; o != nil {
				place.Desired, place.Ready = int(*o.Spec.Replicas), int(o.Status.ReadyReplicas)
				place.Healthy = rolledOut(o)
				place.Object = memberObject{Name: o.Name, UID: string(o.UID), Images: images(o)}
			}
			r.Desired += place.Desired
			r.Ready += place.Ready
			r.Placements = append(r.Placements, place)
		}
		rows[i] = r
	}
	return rows
}

func rolledOut(o *appsv1.Deployment) bool {
	return o.Status.ObservedGeneration >= o.Generation && o.Status.UpdatedReplicas == *o.Spec.Replicas && o.Status.AvailableReplicas == *o.Spec.Replicas
}

func images(o *appsv1.Deployment) []string {
	var found []string
	for _, list := range [][]corev1.Container{o.Spec.Template.Spec.Containers, o.Spec.Template.Spec.InitContainers} {
		for i := range list {
			if !slices.Contains(found, list[i].Image) {
				found = append(found, list[i].Image)
			}
		}
	}
	return found
}

// page reads a page of metadata.
func (c *restClient) page(ctx context.Context, p pick) ([]string, error) {
	var list metav1.PartialObjectMetadataList
	params := pageParams(p)
	params.Set("onlyMetadata", "true")
	if err := c.read(ctx, pathTemplates, params, &list); err != nil {
		return nil, err
	}
	names := make([]string, len(list.Items))
	for i := range list.Items {
		names[i] = list.Items[i].Namespace + "/" + list.Items[i].Name + "@" + list.Items[i].ResourceVersion
	}
	return names, nil
}

// get reads one object.
func (c *restClient) get(ctx context.Context, p pick) ([]string, error) {
	var o appsv1.Deployment
	if err := c.read(ctx, "/clusters/"+indexedAs+"/apis/apps/v1/namespaces/"+p.namespace+"/deployments/"+p.name, nil, &o); err != nil {
		return nil, err
	}
	return append([]string{o.Namespace + "/" + o.Name + "@" + o.ResourceVersion}, images(&o)...), nil
}
