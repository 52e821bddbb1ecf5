package usage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/clusternode"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/membercluster"
	"github.com/kairship-io/kairship/pkg/fleet/memberproxy"
	"github.com/kairship-io/kairship/pkg/fleet/pod"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/instanceproxy"
)

const (
	// mostPods is how many pods of a workload in a member are counted.
	mostPods = 500
	// readAtOnce limits the members that are read concurrently for one workload.
	readAtOnce = 8
)

// Workloads finds the pods of workloads; *workload.Service does.
type Workloads interface {
	PodsByCluster(ctx context.Context, w *workload.Workload, clusters []string, first int) ([]workload.ClusterPods, freshness.Freshness, error)
}

// Service reads what pods and nodes use.
type Service struct {
	Clients   instanceproxy.Clients
	Workloads Workloads
	// Timeout is how long a member may take for a list; zero means readTimeout.
	Timeout time.Duration
}

func (s *Service) timeout() time.Duration { return cmp.Or(s.Timeout, readTimeout) }

// OfPod returns what a pod uses that the caller may see.
func (s *Service) OfPod(ctx context.Context, p *pod.Pod) *Usage {
	var u Usage
	switch {
	case ended(p):
		u = without("the pod has ended")
	case p.NodeName() == nil:
		u = without("the pod is on no node yet")
	default:
		m, err := s.ofPod(ctx, from(ctx), p)
		u = usageOf(m, err, "the pod has not been measured yet: that takes up to a minute from its start")
	}
	return &u
}

// OfNode returns what a node uses.
func (s *Service) OfNode(ctx context.Context, n *clusternode.Node) *Usage {
	all, err := s.nodes(ctx, n.Instance, n.ClusterName())
	u := usageOf(all[types.NamespacedName{Name: n.Name()}], err, "the node has not been measured")
	return &u
}

// usageOf is a measurement as the API has it; missing says why there is none where there is no error.
func usageOf(m *measurement, err error, missing string) Usage {
	switch {
	case err != nil:
		return without(reasonOf(err))
	case m == nil:
		return without(missing)
	}
	var one sum
	one.add(m)
	return one.usage("")
}

// OfMemberCluster returns what the nodes of a member cluster use together.
func (s *Service) OfMemberCluster(ctx context.Context, m *membercluster.MemberCluster) *MemberCluster {
	var total sum
	out := &MemberCluster{}
	if n := m.Nodes(); n != nil {
		out.NodeCount = &n.Total
	}
	all, err := s.nodes(ctx, m.Instance, m.Name())
	for _, one := range all {
		total.add(one)
	}
	reason := ""
	switch {
	case err != nil:
		reason = reasonOf(err)
	case total.count == 0:
		reason = "no node has been measured yet"
	case out.NodeCount != nil && total.count < *out.NodeCount:
		reason = fmt.Sprintf("%d of %d nodes have not been measured", *out.NodeCount-total.count, *out.NodeCount)
	}
	out.Usage, out.MeasuredNodeCount = total.usage(reason), total.count
	return out
}

// OfWorkload returns what the pods of a workload that the caller may see use together.
func (s *Service) OfWorkload(ctx context.Context, w *workload.Workload) (*Workload, error) {
	clusters, fresh, err := s.Workloads.PodsByCluster(ctx, w, nil, mostPods+1)
	if err != nil {
		return nil, err
	}
	o := from(ctx)
	out := &Workload{Clusters: make([]WorkloadCluster, len(clusters)), Freshness: fresh}
	sums := make([]sum, len(clusters))
	var g errgroup.Group
	g.SetLimit(readAtOnce)
	for i := range clusters {
		g.Go(func() error {
			out.Clusters[i], sums[i] = s.inCluster(ctx, o, &clusters[i])
			return nil
		})
	}
	_ = g.Wait()
	var total sum
	var reasons []string
	for i := range out.Clusters {
		c := &out.Clusters[i]
		total.merge(&sums[i])
		out.PodCount += c.PodCount
		out.MeasuredPodCount += c.MeasuredPodCount
		if c.Reason != nil && c.PodCount > 0 && !slices.Contains(reasons, *c.Reason) {
			reasons = append(reasons, *c.Reason)
		}
	}
	if out.PodCount == 0 {
		reasons = []string{noPods}
	}
	out.Usage = total.usage(strings.Join(reasons, "; "))
	return out, nil
}

const noPods = "there are no pods that run"

// inCluster sums up what the pods of a workload in a member use.
func (s *Service) inCluster(ctx context.Context, o *operation, in *workload.ClusterPods) (WorkloadCluster, sum) {
	var total sum
	out := WorkloadCluster{ClusterName: in.Cluster}
	reason := ""
	for i := range in.Pods[:min(len(in.Pods), mostPods)] {
		p := &in.Pods[i]
		if ended(p) {
			continue
		}
		out.PodCount++
		if p.NodeName() == nil {
			continue
		}
		m, err := s.ofPod(ctx, o, p)
		switch {
		case err != nil:
			reason = reasonOf(err)
		case m != nil:
			total.add(m)
		}
	}
	out.MeasuredPodCount = total.count
	switch {
	case reason != "":
	case out.PodCount == 0:
		reason = noPods
	case len(in.Pods) > mostPods:
		reason = fmt.Sprintf("only %d pods in member cluster %q are counted", mostPods, in.Cluster)
	case total.count < out.PodCount:
		reason = fmt.Sprintf("%d of %d pods in member cluster %q have not been measured", out.PodCount-total.count, out.PodCount, in.Cluster)
	}
	out.Usage = total.usage(reason)
	return out, total
}

// ended reports whether no container of a pod runs any more.
func ended(p *pod.Pod) bool {
	return p.Phase() == pod.PhaseSucceeded || p.Phase() == pod.PhaseFailed
}

// ofPod returns what a pod uses; nil where it has not been measured.
func (s *Service) ofPod(ctx context.Context, o *operation, p *pod.Pod) (*measurement, error) {
	own := target{instance: p.Instance, member: p.ClusterName(), resource: "pods", namespace: p.Namespace()}
	of := o.choose(own)
	all, err := s.list(ctx, o, of)
	if of != own && refusedInMember(err) && o.mayNarrow(own) {
		all, err = s.list(ctx, o, own)
	}
	return all[types.NamespacedName{Namespace: p.Namespace(), Name: p.Name()}], err
}

// refusedInMember reports whether a member does not let the caller read a list.
func refusedInMember(err error) bool {
	refused, is := errors.AsType[*memberproxy.RefusalError](err)
	return is && refused.Forbidden() && !refused.ByInstance
}

func (s *Service) nodes(ctx context.Context, instance, member string) (measurements, error) {
	return s.list(ctx, from(ctx), target{instance: instance, member: member, resource: "nodes"})
}

// reasonOf is the text of an error for the caller.
func reasonOf(err error) string {
	if known, ok := errors.AsType[*apierror.Error](err); ok {
		return known.Message
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return "it was not read before the request's deadline"
	}
	return "what it uses could not be read"
}
