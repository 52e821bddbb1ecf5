package upgrade

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/projection"
	"github.com/kairship-io/kairship/pkg/projection/projector"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

const (
	namespace = "upgrade"
	// workloads is how many there are. Every fifth has no policy.
	workloads, unmanaged = 30, 5
	// soon bounds how long the index and the projection may take to follow.
	soon = 2 * time.Minute
	// compared is after how long the leader has compared all rows: it does each minute.
	compared = 70 * time.Second
)

// The variables that hack/test-upgrade.sh sets: the folders of the programs and of the sources to
// upgrade to, and whether the release before refuses lists while it rebuilds.
const toVariable, treeVariable, refusesVariable = "KAIRSHIP_UPGRADE_TO", "KAIRSHIP_UPGRADE_TREE", "KAIRSHIP_UPGRADE_FROM_REFUSES"

// scene is a fleet of the release before, whose programs the test runs.
type scene struct {
	*fleet.Fleet
	apiservers, managers []*program
	balancer             *balancer
	tally                *tally
	api                  *gql.Client
	alpha                client.Client
	db                   *projection.DB
}

// TestUpgrade upgrades from a release and goes back to it, under load. No answer fails or is wrong, and
// the comparison of the projection with the index finds no difference.
func TestUpgrade(t *testing.T) {
	to := os.Getenv(toVariable)
	if to == "" {
		t.Skip("make test-upgrade FROM=<git ref> runs it")
	}
	f := fleet.Open(t)
	s := &scene{Fleet: f, alpha: f.Client(t, "alpha"), db: f.Projection(t), tally: &tally{did: map[string]int{}, failures: map[string]int{}}}
	s.programs(t)
	s.balancer = &balancer{addresses: []string{s.apiservers[0].address, s.apiservers[1].address}}
	s.api = s.client(t, "admin")
	s.applications(t)
	s.settles(t)

	stop := s.load(t)
	time.Sleep(10 * time.Second)
	stop()
	s.tally.report(t, "the release before", false)
	s.settles(t)
	s.phase(t, "the upgrade", false, func() {
		s.definitions(t)
		s.roll(t, to)
	})
	s.pods(t)
	// Rows are compared with what the working tree computes, which is what runs now.
	p := &projector.Projector{DB: s.db, Log: testr.New(t), Metrics: projector.NewMetrics()}
	if n, err := p.Check(t.Context()); err != nil || n != 0 {
		t.Errorf("%d rows differ from the index (%v), want none", n, err)
	}
	s.phase(t, "the downgrade", os.Getenv(refusesVariable) != "", func() { s.roll(t, s.Bin) })
	t.Logf("%d connections were refused by processes that restarted, and went to the other one", s.balancer.refused.Load())
}

// phase does something under load, lets the load go on until the leader has compared all rows, and
// checks what there is then.
func (s *scene) phase(t *testing.T, name string, mayRefuse bool, do func()) {
	t.Helper()
	stop := s.load(t)
	defer stop()
	time.Sleep(5 * time.Second)
	begun := time.Now()
	do()
	s.complete(t)
	t.Logf("%s: the projection is rebuilt after %s", name, time.Since(begun).Round(100*time.Millisecond))
	time.Sleep(compared / 2)
	stop()
	s.tally.report(t, name, mayRefuse)
	s.settles(t)
	// Without writes, so that the comparison leaves out no row.
	time.Sleep(compared)
	s.repaired(t, name)
	s.settles(t)
}

// definitions installs the definitions of custom resources of the working tree, as docs/operations.md
// has it done before an upgrade.
func (s *scene) definitions(t *testing.T) {
	t.Helper()
	apply := exec.CommandContext(t.Context(), filepath.Join(s.Bin, "kubectl"), "--kubeconfig="+filepath.Join(s.Dir, "kubeconfig", "global.yaml"),
		"apply", "--server-side", "--force-conflicts", "-f", filepath.Join(os.Getenv(treeVariable), "deploy", "helm", "kairship", "crds"))
	if out, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("installing the definitions: %v\n%s", err, out)
	}
}

// leader is the controller manager that works.
func (s *scene) leader(t *testing.T) *program {
	t.Helper()
	var leading *program
	poll.Until(t, soon, "a controller manager leads", func(ctx context.Context) error {
		for _, p := range s.managers {
			if metrics, err := fleet.Metrics(ctx, p.address); err == nil && fleet.Works(metrics) {
				leading = p
				return nil
			}
		}
		return errors.New("none works")
	})
	return leading
}

// repaired expects that the leader has repaired no row.
func (s *scene) repaired(t *testing.T, phase string) {
	t.Helper()
	metrics, err := fleet.Metrics(t.Context(), s.leader(t).address)
	if n := fleet.Metric(metrics, "kairship_projection_differences_total"); err != nil || n != "0" {
		t.Errorf("%s: %q rows differed from the index (%v), want 0", phase, n, err)
	}
}

// complete waits until all rows are of the version of the leader, and nothing is being computed again.
func (s *scene) complete(t *testing.T) {
	t.Helper()
	_ = s.leader(t)
	poll.Until(t, soon, "the projection is rebuilt", func(ctx context.Context) error {
		rows, err := s.rows(ctx)
		if err != nil {
			return err
		}
		versions := map[int]int{}
		for i := range rows {
			versions[rows[i].Projection]++
		}
		if len(versions) != 1 {
			return fmt.Errorf("so many rows are of each version: %v", versions)
		}
		return nil
	})
}

func (s *scene) rows(ctx context.Context) (rows []projection.Workload, err error) {
	return rows, s.db.Round(ctx, func(snapshot *projection.Snapshot) (*projection.Writes, error) {
		keys, _, err := snapshot.Keys(0, 1000)
		if err == nil {
			rows, err = snapshot.Workloads(keys)
		}
		return &projection.Writes{}, err
	})
}

func nameOf(n int) string { return fmt.Sprintf("web-%02d", n) }

// applications makes the workloads.
func (s *scene) applications(t *testing.T) {
	t.Helper()
	create := func(o client.Object) {
		t.Helper()
		if err := s.alpha.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	create(&policyv1alpha1.PropagationPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "all"}, Spec: policyv1alpha1.PropagationSpec{
		ResourceSelectors: []policyv1alpha1.ResourceSelector{{APIVersion: "apps/v1", Kind: "Deployment", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"managed": "true"}}}},
		Placement:         policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m1", "m2"}}},
	}})
	for n := range workloads {
		replicas, app := int32(1), map[string]string{"app": nameOf(n)}
		labels := map[string]string{"managed": fmt.Sprint(n%unmanaged != 0)}
		create(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: nameOf(n), Labels: labels}, Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: app},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: app}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "registry.example.com/web:1"}}}},
		}})
	}
}

// seen is a workload as a list by health has it, and as the clusters have it.
type seen struct {
	Health string
	Ready  int
}

// live is the truth: what runs in the members of each Deployment of the instance. At rest those with a
// policy are healthy, and run in each member as often as they say.
func (s *scene) live(ctx context.Context, t *testing.T) (map[string]seen, error) {
	t.Helper()
	wanted := &appsv1.DeploymentList{}
	if err := s.alpha.List(ctx, wanted, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	all, managed := map[string]seen{}, 0
	for i := range wanted.Items {
		d := &wanted.Items[i]
		if d.Labels["managed"] == "true" {
			managed += 2 * int(*d.Spec.Replicas)
			all[d.Name] = seen{Health: "HEALTHY"}
		} else {
			all[d.Name] = seen{Health: "UNPROPAGATED"}
		}
	}
	run := 0
	for _, member := range []string{"m1", "m2"} {
		found := &appsv1.DeploymentList{}
		if err := s.Client(t, member).List(ctx, found, client.InNamespace(namespace)); err != nil {
			return nil, err
		}
		for i := range found.Items {
			d := &found.Items[i]
			one := all[d.Name]
			one.Ready += int(d.Status.ReadyReplicas)
			run += int(d.Status.ReadyReplicas)
			all[d.Name] = one
		}
	}
	if run != managed {
		return nil, fmt.Errorf("%d of %d pods run", run, managed)
	}
	return all, nil
}

// settles waits until the clusters are at rest and each list by health is what is in the clusters.
func (s *scene) settles(t *testing.T) {
	t.Helper()
	poll.Until(t, soon, "lists by health are the truth", func(ctx context.Context) error {
		want, err := s.live(ctx, t)
		if err != nil {
			return err
		}
		got := map[string]seen{}
		for _, health := range healths {
			page, _, err := gql.Query[listed](ctx, s.api, byState, map[string]any{"health": []string{health}})
			if err == nil {
				err = page.contradicts([]string{health})
			}
			if err != nil {
				return err
			}
			for _, node := range page.Workloads.Nodes {
				got[node.Name] = seen{node.Health, node.Replicas.Ready}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("lists by health differ from the clusters (-clusters +lists):\n%s", diff)
		}
		return nil
	})
}

// pods waits until the list of pods, which the release before may not have had, is the truth.
func (s *scene) pods(t *testing.T) {
	t.Helper()
	begun := time.Now()
	poll.Until(t, soon, "the list of pods is the truth", func(ctx context.Context) error {
		want := 0
		for _, member := range []string{"m1", "m2"} {
			found := &corev1.PodList{}
			if err := s.Client(t, member).List(ctx, found, client.InNamespace(namespace)); err != nil {
				return err
			}
			want += len(found.Items)
		}
		got, _, err := gql.Query[struct{ Pods struct{ TotalCount int } }](ctx, s.api, `{ pods(first: 1, filter: {namespaces: ["`+namespace+`"]}) { totalCount } }`, nil)
		if err == nil && (want == 0 || got.Pods.TotalCount != want) {
			err = fmt.Errorf("the list has %d pods, the members have %d", got.Pods.TotalCount, want)
		}
		return err
	})
	t.Logf("the list of pods is the truth after %s", time.Since(begun).Round(100*time.Millisecond))
}
