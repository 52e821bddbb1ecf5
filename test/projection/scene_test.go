package projection

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/projection"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

const (
	namespace = "projection-suite"
	// soon bounds how long a change may take to be in the index, the projection and the
	// answers. It includes the Lease of a leader that was killed.
	soon = time.Minute
)

// scene is the fleet, and the database of its index.
type scene struct {
	*fleet.Fleet
	api   *gql.Client
	alpha client.Client
	db    *projection.DB
}

func open(t *testing.T) *scene {
	t.Helper()
	f := fleet.Open(t)
	return &scene{Fleet: f, api: gql.New(f.KairshipURL, f.Token(t, "admin")), alpha: f.Client(t, "alpha"), db: f.Projection(t)}
}

// shown is a workload as the API and the projection show it.
type shown struct {
	Health, Message                    string
	Suspended                          bool
	Desired, Updated, Ready, Available int32
	Images                             []string
	Placements                         []projection.Placement
	UID, ResourceVersion               string
}

const query = `{ workloads(first: 500, filter: {kinds: [DEPLOYMENT, STATEFUL_SET, DAEMON_SET, JOB, CRON_JOB]}) { pageInfo { hasNextPage } nodes {
	instance { name } kind namespace name resourceVersion health healthMessage suspended images
	replicas { desired updated ready available }
	placements { cluster: clusterName scheduled evicting suspended stale applied desired updated ready available health message } } } }`

// answer is what the API computes on demand, of all workloads but custom ones.
func (s *scene) answer(ctx context.Context) (map[projection.WorkloadKey]shown, error) {
	type page struct {
		Workloads struct {
			PageInfo struct{ HasNextPage bool }
			Nodes    []struct {
				Instance                                                      struct{ Name string }
				Kind, Namespace, Name, ResourceVersion, Health, HealthMessage string
				Suspended                                                     bool
				Images                                                        []string
				Replicas                                                      struct{ Desired, Updated, Ready, Available int32 }
				Placements                                                    []projection.Placement
			}
		}
	}
	got, _, err := gql.Query[page](ctx, s.api, query, nil)
	if err != nil {
		return nil, err
	}
	if got.Workloads.PageInfo.HasNextPage {
		return nil, poll.Stop(fmt.Errorf("the fleet has more workloads than one page"))
	}
	all := map[projection.WorkloadKey]shown{}
	for _, n := range got.Workloads.Nodes {
		all[projection.WorkloadKey{Instance: n.Instance.Name, Namespace: n.Namespace, Name: n.Name, Kind: n.Kind}] = shown{
			Health: n.Health, Message: n.HealthMessage, Suspended: n.Suspended, Images: n.Images, ResourceVersion: n.ResourceVersion,
			Desired: n.Replicas.Desired, Updated: n.Replicas.Updated, Ready: n.Replicas.Ready, Available: n.Replicas.Available, Placements: n.Placements,
		}
	}
	return all, nil
}

// rows are those of the projection.
func (s *scene) rows(ctx context.Context) (map[projection.WorkloadKey]shown, error) {
	all := map[projection.WorkloadKey]shown{}
	return all, s.db.Round(ctx, func(snapshot *projection.Snapshot) (*projection.Writes, error) {
		keys, _, err := snapshot.Keys(0, 1000)
		if err != nil {
			return nil, err
		}
		rows, err := snapshot.Workloads(keys)
		for _, r := range rows {
			if strings.Contains(r.Kind, ".") {
				continue // Only the projection has custom workloads.
			}
			all[r.WorkloadKey] = shown{
				Health: r.Health, Message: r.Message, Suspended: r.Suspended, Images: r.Images, ResourceVersion: r.ResourceVersion,
				Desired: r.Desired, Updated: r.Updated, Ready: r.Ready, Available: r.Available, Placements: r.Placements,
			}
		}
		return &projection.Writes{}, err
	})
}

// agree waits until no change waits, and every row is what the API answers.
func (s *scene) agree(t *testing.T, what string, is func(map[projection.WorkloadKey]shown) error) {
	t.Helper()
	begun := time.Now()
	poll.Until(t, soon, what, func(ctx context.Context) error {
		rows, err := s.rows(ctx)
		if err != nil {
			return err
		}
		if err := is(rows); err != nil {
			return err
		}
		answer, err := s.answer(ctx)
		if err != nil {
			return err
		}
		if diff := gocmp.Diff(answer, rows); diff != "" {
			return fmt.Errorf("the projection differs from the answer (-answer +projection):\n%s", diff)
		}
		if lag, err := s.db.Lag(ctx); err != nil || lag > 0 {
			return fmt.Errorf("a change waits since %.1f s (%w)", lag, cmp.Or(err, fmt.Errorf("no error")))
		}
		return nil
	})
	t.Logf("%s: they agree after %s", what, time.Since(begun).Round(time.Millisecond))
}

// noDifference compares the projection with the index.
func (s *scene) noDifference(t *testing.T) {
	t.Helper()
	s.NoDifference(t.Context(), t, s.db)
}

func (s *scene) must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// application makes a namespace with a policy that sends its Deployments to both members.
func (s *scene) application(t *testing.T) *policyv1alpha1.PropagationPolicy {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	s.must(t, s.alpha.Create(t.Context(), ns))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), soon)
		defer cancel()
		if err := client.IgnoreNotFound(s.alpha.Delete(ctx, ns)); err != nil {
			t.Error(err)
		}
	})
	policy := &policyv1alpha1.PropagationPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "all"}, Spec: policyv1alpha1.PropagationSpec{
		ResourceSelectors: []policyv1alpha1.ResourceSelector{{APIVersion: "apps/v1", Kind: "Deployment"}},
		Placement:         policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m1", "m2"}}},
	}}
	s.must(t, s.alpha.Create(t.Context(), policy))
	return policy
}

func (s *scene) deploy(t *testing.T, name string, replicas int32) {
	t.Helper()
	app := map[string]string{"app": name}
	s.must(t, s.alpha.Create(t.Context(), &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: app}, Spec: appsv1.DeploymentSpec{
		Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: app},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: app}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "registry.example.com/" + name + ":1"}}}},
	}}))
}

func (s *scene) scale(t *testing.T, name string, replicas int32) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	s.must(t, s.alpha.Patch(t.Context(), &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}, client.RawPatch("application/merge-patch+json", patch)))
}

// runs expects that a Deployment has so many replicas ready in some clusters.
func runs(name string, ready int32, clusters ...string) func(map[projection.WorkloadKey]shown) error {
	return func(rows map[projection.WorkloadKey]shown) error {
		row, found := rows[projection.WorkloadKey{Instance: "alpha", Namespace: namespace, Name: name, Kind: "DEPLOYMENT"}]
		var in []string
		for _, p := range row.Placements {
			in = append(in, p.Cluster)
		}
		if !found || row.Health != "HEALTHY" || row.Ready != ready || row.Desired != ready || !slices.Equal(in, clusters) {
			return fmt.Errorf("the row of %s is %+v, want %d replicas in %v", name, row, ready, clusters)
		}
		return nil
	}
}
