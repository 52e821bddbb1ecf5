package whatif

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"github.com/karmada-io/karmada/pkg/scheduler/core"
	"github.com/karmada-io/karmada/pkg/scheduler/framework"
	"github.com/karmada-io/karmada/pkg/scheduler/framework/plugins"
)

// scheduler schedules as karmada-scheduler does: its plugins, selection and assignment, without its
// framework, which starts a goroutine that never ends.
type scheduler struct {
	clusters []*clusterv1alpha1.Cluster
	filters  []framework.FilterPlugin
	scores   []framework.ScorePlugin
}

// newScheduler makes a scheduler with the plugins that Karmada has by default.
func newScheduler(clusters []*clusterv1alpha1.Cluster) (*scheduler, error) {
	s := &scheduler{clusters: clusters}
	registry := plugins.NewInTreeRegistry()
	for _, name := range slices.Sorted(maps.Keys(registry)) {
		p, err := registry[name]()
		if err != nil {
			return nil, fmt.Errorf("making the scheduler's plugin %q: %w", name, err)
		}
		if f, is := p.(framework.FilterPlugin); is {
			s.filters = append(s.filters, f)
		}
		if f, is := p.(framework.ScorePlugin); is {
			s.scores = append(s.scores, f)
		}
	}
	return s, nil
}

// schedule returns the clusters for a binding. It follows genericScheduler.Schedule. The error is a
// *framework.FitError where no cluster fits, and a *framework.UnschedulableError where those that fit have
// no room. It writes to the spec's placement.
func (s *scheduler) schedule(spec *workv1alpha2.ResourceBindingSpec, status *workv1alpha2.ResourceBindingStatus) ([]workv1alpha2.TargetCluster, error) {
	ctx := context.Background()
	fit := make([]*clusterv1alpha1.Cluster, 0, len(s.clusters))
	refused := framework.ClusterToResultMap{}
	for _, c := range s.clusters {
		if !c.DeletionTimestamp.IsZero() {
			continue
		}
		if r := s.filter(ctx, spec, status, c); r.IsSuccess() {
			fit = append(fit, c)
		} else {
			refused[c.Name] = r
		}
	}
	if len(fit) == 0 {
		return nil, &framework.FitError{NumAllClusters: len(s.clusters), Diagnosis: framework.Diagnosis{ClusterToResultMap: refused}}
	}
	scored, err := s.score(ctx, spec, fit)
	if err != nil {
		return nil, err
	}
	selected, err := core.SelectClusters(scored, spec.Placement, spec, status, nil)
	if err != nil {
		return nil, fmt.Errorf("selecting clusters: %w", err)
	}
	assigned, err := core.AssignReplicas(selected, spec, status)
	if err != nil {
		return nil, fmt.Errorf("assigning replicas: %w", err)
	}
	return assigned, nil
}

func (s *scheduler) filter(ctx context.Context, spec *workv1alpha2.ResourceBindingSpec, status *workv1alpha2.ResourceBindingStatus, c *clusterv1alpha1.Cluster) *framework.Result {
	for _, f := range s.filters {
		if r := f.Filter(ctx, spec, status, c); !r.IsSuccess() {
			return r
		}
	}
	return framework.NewResult(framework.Success)
}

// score adds up the scores of all plugins, as prioritizeClusters does.
func (s *scheduler) score(ctx context.Context, spec *workv1alpha2.ResourceBindingSpec, fit []*clusterv1alpha1.Cluster) (framework.ClusterScoreList, error) {
	sum := make(framework.ClusterScoreList, len(fit))
	for i, c := range fit {
		sum[i].Cluster = c
	}
	for _, p := range s.scores {
		own := make(framework.ClusterScoreList, len(fit))
		for i, c := range fit {
			score, r := p.Score(ctx, spec, c)
			if !r.IsSuccess() {
				return nil, fmt.Errorf("the scheduler's plugin %q failed: %w", p.Name(), r.AsError())
			}
			own[i] = framework.ClusterScore{Cluster: c, Score: score}
		}
		if p.ScoreExtensions() != nil {
			if r := p.ScoreExtensions().NormalizeScore(ctx, own); !r.IsSuccess() {
				return nil, fmt.Errorf("the scheduler's plugin %q failed: %w", p.Name(), r.AsError())
			}
		}
		for i := range own {
			sum[i].Score += own[i].Score
		}
	}
	return sum, nil
}

// withAffinities schedules by the first of several affinities that has clusters, beginning with the one that
// is in use. It follows scheduleResourceBindingWithClusterAffinities. The error is the first one.
func (s *scheduler) withAffinities(spec *workv1alpha2.ResourceBindingSpec, status *workv1alpha2.ResourceBindingStatus) ([]workv1alpha2.TargetCluster, error) {
	terms := spec.Placement.ClusterAffinities
	if terms == nil {
		return s.schedule(spec, status)
	}
	at := 0
	for i := range terms {
		if terms[i].AffinityName == status.SchedulerObservedAffinityName && status.SchedulerObservedAffinityName != "" {
			at = i
			break
		}
	}
	var first error
	observed := status.DeepCopy()
	for ; at < len(terms); at++ {
		observed.SchedulerObservedAffinityName = terms[at].AffinityName
		clusters, err := s.schedule(spec, observed)
		if err == nil {
			return clusters, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

// decision is what the scheduler does with a binding.
type decision struct {
	// clusters are those of the binding afterwards.
	clusters []workv1alpha2.TargetCluster
	// failure says why the scheduler found no clusters for it; empty when it did.
	failure string
}

// decide schedules a binding and returns its clusters afterwards: where no cluster fits it loses those that
// it had, and where only room is missing it keeps them.
func (s *scheduler) decide(b *workv1alpha2.ResourceBinding) decision {
	spec := b.Spec.DeepCopy()
	clusters, err := s.withAffinities(spec, &b.Status)
	var noFit *framework.FitError
	var noRoom *framework.UnschedulableError
	switch {
	case err == nil:
		return decision{clusters: clusters}
	case errors.As(err, &noFit):
		return decision{failure: described(noFit)}
	case errors.As(err, &noRoom):
		return decision{clusters: b.Spec.Clusters, failure: "the clusters that fit have no room for all replicas"}
	}
	// Everything else Karmada's scheduler reports as an error, tries again, and changes nothing.
	return decision{clusters: b.Spec.Clusters, failure: err.Error()}
}

// described says why no cluster fits, the same text for the same reasons.
func described(e *framework.FitError) string {
	clusters := map[string]int{}
	for _, r := range e.Diagnosis.ClusterToResultMap {
		for _, reason := range r.Reasons() {
			clusters[strings.ReplaceAll(reason, "cluster(s)", "the cluster")]++
		}
	}
	texts := make([]string, 0, len(clusters))
	for _, reason := range slices.Sorted(maps.Keys(clusters)) {
		texts = append(texts, fmt.Sprintf("%d: %s", clusters[reason], reason))
	}
	if len(texts) == 0 {
		return "no cluster fits"
	}
	return fmt.Sprintf("none of %d clusters fits (%s)", e.NumAllClusters, strings.Join(texts, "; "))
}
