package preview

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

const (
	instance = "alpha"
	// within is how long Karmada may take to follow.
	within = 60 * time.Second
	// settled is how long nothing may change before Karmada is taken to have finished.
	settled = 3 * time.Second
)

// scene is a namespace of the test's own in the instance.
type scene struct {
	client.Client

	api       *gql.Client
	namespace string
}

func newScene(t *testing.T) *scene {
	t.Helper()
	f := fleet.Open(t)
	s := &scene{Client: f.Client(t, instance), api: gql.New(f.KairshipURL, f.Token(t, "admin")), namespace: fmt.Sprintf("preview-%d", time.Now().UnixMilli()%1e9)}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}
	if err := s.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	return s
}

// remove removes the namespace and the policies of the scene.
func (s *scene) remove(t *testing.T) {
	t.Helper()
	ctx := context.Background()
	var wide policyv1alpha1.ClusterPropagationPolicyList
	if err := s.List(ctx, &wide); err != nil {
		t.Error(err)
	}
	for i := range wide.Items {
		if strings.HasPrefix(wide.Items[i].Name, s.namespace) {
			if err := s.Delete(ctx, &wide.Items[i]); client.IgnoreNotFound(err) != nil {
				t.Error(err)
			}
		}
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}
	if err := s.Delete(ctx, ns); client.IgnoreNotFound(err) != nil {
		t.Error(err)
	}
	poll.Until(t, within, "the namespace is removed", func(ctx context.Context) error {
		err := s.Get(ctx, client.ObjectKeyFromObject(ns), ns)
		if err == nil {
			err = errors.New("it is there")
		}
		return client.IgnoreNotFound(err)
	})
}

// tier labels a member cluster for the time of the test.
func (s *scene) tier(t *testing.T, cluster, tier string) {
	t.Helper()
	set := func(ctx context.Context, edit func(labels map[string]string)) error {
		return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			var c clusterv1alpha1.Cluster
			if err := s.Get(ctx, client.ObjectKey{Name: cluster}, &c); err != nil {
				return err
			}
			if c.Labels == nil {
				c.Labels = map[string]string{}
			}
			edit(c.Labels)
			return s.Update(ctx, &c)
		})
	}
	if err := set(t.Context(), func(l map[string]string) { l[tierLabel] = tier }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := set(context.Background(), func(l map[string]string) { delete(l, tierLabel) }); err != nil {
			t.Error(err)
		}
	})
}

// state is where Karmada sends an object, and which policy claims it.
type state struct {
	policy   string
	clusters string
}

// states are those of all templates of the scene, by kind and name.
func (s *scene) states(ctx context.Context) (map[string]state, error) {
	out := map[string]state{}
	var deployments appsv1.DeploymentList
	var maps corev1.ConfigMapList
	var all workv1alpha2.ResourceBindingList
	err := errors.Join(s.List(ctx, &deployments, client.InNamespace(s.namespace)), s.List(ctx, &maps, client.InNamespace(s.namespace)), s.List(ctx, &all, client.InNamespace(s.namespace)))
	for i := range deployments.Items {
		out["Deployment "+deployments.Items[i].Name] = state{policy: claimOf(&deployments.Items[i])}
	}
	for i := range maps.Items {
		out["ConfigMap "+maps.Items[i].Name] = state{policy: claimOf(&maps.Items[i])}
	}
	for i := range all.Items {
		key := all.Items[i].Spec.Resource.Kind + " " + all.Items[i].Spec.Resource.Name
		var clusters []string
		for _, c := range all.Items[i].Spec.Clusters {
			clusters = append(clusters, fmt.Sprintf("%s:%d", c.Name, c.Replicas))
		}
		slices.Sort(clusters)
		out[key] = state{out[key].policy, strings.Join(clusters, " ")}
	}
	return out, err
}

func claimOf(o client.Object) string {
	a := o.GetAnnotations()
	if name := a[policyv1alpha1.PropagationPolicyNameAnnotation]; name != "" {
		return a[policyv1alpha1.PropagationPolicyNamespaceAnnotation] + "/" + name
	}
	return a[policyv1alpha1.ClusterPropagationPolicyAnnotation]
}

// scheduled waits until every claimed template has a binding that the scheduler has looked at, and nothing
// changes any more.
func (s *scene) scheduled(t *testing.T) map[string]state {
	t.Helper()
	var last map[string]state
	since := time.Now()
	poll.Until(t, within, "Karmada comes to rest", func(ctx context.Context) error {
		now, err := s.states(ctx)
		if err != nil {
			return err
		}
		var all workv1alpha2.ResourceBindingList
		if err := s.List(ctx, &all, client.InNamespace(s.namespace)); err != nil {
			return err
		}
		looked := map[string]bool{}
		for i := range all.Items {
			b := &all.Items[i]
			looked[b.Spec.Resource.Kind+" "+b.Spec.Resource.Name] = meta.FindStatusCondition(b.Status.Conditions, workv1alpha2.Scheduled) != nil
		}
		for key, of := range now {
			if of.policy != "" && !looked[key] {
				return fmt.Errorf("%s is not scheduled", key)
			}
		}
		if !same(last, now) {
			last, since = now, time.Now()
		}
		if time.Since(since) < settled {
			return errors.New("it changed a moment ago")
		}
		return nil
	})
	return last
}

func same(a, b map[string]state) bool {
	if len(a) != len(b) {
		return false
	}
	for key := range a {
		if a[key] != b[key] {
			return false
		}
	}
	return true
}

// item is an object of a preview.
type item struct {
	Kind, Name                string
	Namespace                 *string
	Effect                    string
	PolicyBefore, PolicyAfter *struct {
		Namespace *string
		Name      string
	}
	PlacementsBefore, PlacementsAfter []struct {
		ClusterName string
		Replicas    int
	}
	Message *string
}

func (i *item) before() state { return stateOf(i.PolicyBefore, i.PlacementsBefore) }
func (i *item) after() state  { return stateOf(i.PolicyAfter, i.PlacementsAfter) }

func stateOf(policy *struct {
	Namespace *string
	Name      string
}, clusters []struct {
	ClusterName string
	Replicas    int
},
) state {
	var s state
	if policy != nil {
		s.policy = policy.Name
		if policy.Namespace != nil {
			s.policy = *policy.Namespace + "/" + policy.Name
		}
	}
	var texts []string
	for _, c := range clusters {
		texts = append(texts, fmt.Sprintf("%s:%d", c.ClusterName, c.Replicas))
	}
	s.clusters = strings.Join(texts, " ")
	return s
}

const itemFields = `fingerprint assumptions items(first: 500) {
	kind namespace name effect message policyBefore { namespace name } policyAfter { namespace name }
	placementsBefore { clusterName replicas } placementsAfter { clusterName replicas }
}`

// preview is the preview of a change.
type preview struct {
	Fingerprint string
	Items       []item
}

// ask previews a change.
func (s *scene) ask(ctx context.Context, t testing.TB, c *change) (*preview, error) {
	of := c.before
	in := map[string]any{"change": c.verb}
	if c.after != nil {
		of = c.after
		in["spec"] = input(t, specOf(c.after))
	}
	in["name"] = of.GetName()
	if of.GetNamespace() != "" {
		in["namespace"] = of.GetNamespace()
	}
	p, err := s.send(ctx, gql.Request{Query: `query($input: PolicyPreviewInput!) { instance(name: "alpha") { preview: policyPreview(input: $input) {
		claimed lost takenOver handedOver moved removed unplaced ` + itemFields + ` } } }`, Variables: map[string]any{"input": in}})
	if err != nil {
		return nil, fmt.Errorf("%s (%s): %w", c.name, c.what, err)
	}
	return p, nil
}

// send asks for a preview by the name preview.
func (s *scene) send(ctx context.Context, of gql.Request) (*preview, error) {
	r, err := s.api.Do(ctx, of)
	if err != nil {
		return nil, err
	}
	var data struct {
		Instance struct{ Preview *preview }
	}
	if err := json.Unmarshal(r.Data, &data); err != nil { //nolint:musttag // The names differ in case only.
		return nil, err
	}
	if data.Instance.Preview == nil || len(r.Errors) > 0 {
		return nil, fmt.Errorf("no preview: %s", r.Body)
	}
	return data.Instance.Preview, nil
}

func specOf(p client.Object) policyv1alpha1.PropagationSpec {
	if wide, is := p.(*policyv1alpha1.ClusterPropagationPolicy); is {
		return wide.Spec
	}
	return p.(*policyv1alpha1.PropagationPolicy).Spec
}

// make makes a change.
func (s *scene) make(ctx context.Context, c *change) error {
	switch c.verb {
	case "CREATE":
		return s.Create(ctx, c.after.DeepCopyObject().(client.Object))
	case "DELETE":
		return s.Delete(ctx, c.before.DeepCopyObject().(client.Object))
	}
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		var now policyv1alpha1.PropagationPolicy
		if err := s.Get(ctx, client.ObjectKeyFromObject(c.after), &now); err != nil {
			return err
		}
		now.Spec = specOf(c.after)
		return s.Update(ctx, &now)
	})
}

// each does something for all cases, several at the same time.
func each(t *testing.T, all []*change, do func(c *change) error) {
	t.Helper()
	var wg sync.WaitGroup
	slots := make(chan struct{}, 4)
	for _, c := range all {
		slots <- struct{}{}
		wg.Add(1)
		go func() {
			defer func() { <-slots; wg.Done() }()
			if err := do(c); err != nil {
				t.Errorf("%s (%s): %v", c.name, c.what, err)
			}
		}()
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// createAll creates objects of all cases.
func (s *scene) createAll(t *testing.T, all []*change, of func(c *change) []client.Object) {
	t.Helper()
	each(t, all, func(c *change) error {
		for _, o := range of(c) {
			if err := s.Create(t.Context(), o.DeepCopyObject().(client.Object)); err != nil && !apierrors.IsAlreadyExists(err) {
				return err
			}
		}
		return nil
	})
}
