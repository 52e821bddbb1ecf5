package podlog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/access"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/pod"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/instanceproxy"
	"github.com/kairship-io/kairship/pkg/quota"
)

const (
	// readAtOnce limits the containers that are read concurrently for one field.
	readAtOnce = 8
	// readTimeout is how long the log of one container may take, so that a member that hangs costs
	// the others nothing.
	readTimeout = 10 * time.Second
)

// Workloads finds the pods of workloads; *workload.Service does.
type Workloads interface {
	Get(ctx context.Context, instance string, kind workload.Kind, namespace, name string, needs workload.Needs) (workload.Any, error)
	PodsByCluster(ctx context.Context, w *workload.Workload, clusters []string, first int) ([]workload.ClusterPods, freshness.Freshness, error)
}

// Pods lists the pods of an instance; *pod.Service does.
type Pods interface {
	ListInstance(ctx context.Context, name string, a pod.ListArgs, needs pod.Needs) (*pod.Connection, error)
}

// Service reads logs.
type Service struct {
	Clients   instanceproxy.Clients
	Workloads Workloads

	// These are for following. Access has the permissions, and Quotas limit how many logs one user
	// follows, in total with their native watches.
	Pods   Pods
	Access *access.Access
	Quotas *quota.Users
	// Begin makes the context that the index is read in.
	Begin func(context.Context) context.Context
	// End ends the subscription of a context with an error.
	End    func(context.Context, error)
	Logger *slog.Logger
	// LookAgain is the time between two looks which pods there are; zero means defaultLookAgain.
	LookAgain time.Duration
}

// OfPod reads the logs of a pod that the caller may see.
func (s *Service) OfPod(ctx context.Context, p *pod.Pod, a Args) (*Logs, error) {
	found := &targets{freshness: p.Fresh}
	if err := found.add(p); err != nil {
		return nil, err
	}
	return s.read(ctx, p.Instance, found, a)
}

// OfWorkload reads the logs of the pods of a workload that the caller may see.
func (s *Service) OfWorkload(ctx context.Context, w *workload.Workload, a Args) (*Logs, error) {
	found, err := s.targetsOf(ctx, w, a.Clusters)
	if err != nil {
		return nil, err
	}
	if w.Kind() == workload.KindCustom && len(found.containers) == 0 {
		return &Logs{Lines: []Line{}, Omitted: []Omission{}, Freshness: w.Fresh, Errors: []error{noPods()}}, nil
	}
	return s.read(ctx, w.Instance, found, a)
}

// noPods is the error of a custom workload of which no pods are known.
func noPods() error {
	return apierror.Invalid("kind", "no pods of the custom workload are known: that takes its kind in spec.collect.ofMembers of the Instance, and pods that it, a ReplicaSet or a Job of it owns. "+
		"Find others with the field pods of the instance, for example by their labels, and read the logs of these")
}

// targets are the containers of some pods.
type targets struct {
	containers []target
	freshness  freshness.Freshness
}

// target is a container, and what is known of its pod.
type target struct {
	Container
	// over: the containers of the pod do not run again.
	over bool
}

// add adds the containers of a pod: those that it is for first.
func (t *targets) add(p *pod.Pod) error {
	containers, err := p.Containers()
	if err != nil {
		return err
	}
	// Init containers are named first, and wanted last.
	slices.SortStableFunc(containers, func(a, b pod.Container) int { return cmp.Compare(rank(a), rank(b)) })
	over := p.Phase() == pod.PhaseSucceeded || p.Phase() == pod.PhaseFailed
	for i := range containers {
		t.containers = append(t.containers, target{
			Container: Container{Cluster: p.ClusterName(), Namespace: p.Namespace(), Pod: p.Name(), Name: containers[i].Name}, over: over,
		})
	}
	return nil
}

// rank is 1 for containers that come after the others.
func rank(c pod.Container) int {
	if c.Type == pod.ContainerInit || c.Type == pod.ContainerSidecar {
		return 1
	}
	return 0
}

// targetsOf finds the containers of the pods of a workload in some member clusters; in all for nil.
func (s *Service) targetsOf(ctx context.Context, w *workload.Workload, clusters []string) (*targets, error) {
	all, fresh, err := s.Workloads.PodsByCluster(ctx, w, clusters, mostPods)
	if err != nil {
		return nil, err
	}
	found := &targets{freshness: fresh}
	for i := range all {
		for j := range all[i].Pods {
			if err := found.add(&all[i].Pods[j]); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// narrow removes the containers that are not wanted.
func (t *targets) narrow(container *string) error {
	if container == nil || len(t.containers) == 0 {
		return nil
	}
	t.only(*container)
	if len(t.containers) == 0 {
		return apierror.Invalid("container", "none of the pods has a container %q", *container)
	}
	return nil
}

// only keeps the containers of a name.
func (t *targets) only(name string) {
	t.containers = slices.DeleteFunc(t.containers, func(c target) bool { return c.Name != name })
}

// tooMany says why a container is left out.
var tooMany = fmt.Sprintf("no more than %d containers are read together: name clusters or a container", mostContainers)

// read reads the logs of some containers of an instance.
func (s *Service) read(ctx context.Context, instance string, found *targets, a Args) (*Logs, error) {
	tail, err := a.tail()
	if err != nil {
		return nil, err
	}
	if err := found.narrow(a.Container); err != nil {
		return nil, err
	}
	logs := &Logs{Lines: []Line{}, Omitted: []Omission{}, Freshness: found.freshness}
	if len(found.containers) == 0 {
		return logs, nil
	}
	client, err := s.Clients.Get(ctx, instance)
	if err != nil {
		return nil, err
	}
	read := found.containers[:min(len(found.containers), mostContainers)]
	all := make([]tailed, len(read))
	var g errgroup.Group
	g.SetLimit(readAtOnce)
	for i, c := range read {
		g.Go(func() error {
			all[i] = readTail(ctx, client, &request{of: c.Container, tail: tail, since: a.Since, previous: a.Previous}, answerBytes/len(read))
			return nil
		})
	}
	_ = g.Wait()
	if ctx.Err() != nil {
		return nil, apierror.In(apierror.Wrap(ctx.Err(), apierror.CodeTimeout, "the logs were not read before the request's deadline"), instance)
	}
	logs.gather(read, all)
	for _, c := range found.containers[len(read):] {
		logs.omit(c.Container, tooMany)
	}
	return logs, nil
}

// tailed is what was read of one container.
type tailed struct {
	lines []Line
	// cut: lines before these were left out.
	cut bool
	err error
}

// readTail reads the last lines of a container, so many bytes of them at most.
func readTail(ctx context.Context, client instanceproxy.Client, r *request, limit int) tailed {
	done, err := quota.Acquire(ctx, quota.ToInstance)
	if err != nil {
		return tailed{err: err}
	}
	defer done()
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	body, err := open(ctx, client, r)
	if err != nil {
		return tailed{err: err}
	}
	defer body.Close()
	var t tailed
	kept := 0
	for lines := newScanner(body, r.of); ; {
		line, err := lines.next()
		switch {
		case errors.Is(err, io.EOF):
			return t
		case err != nil:
			t.err = interrupted(ctx, client, r.of.Cluster, err)
			return t
		case r.since != nil && line.Time != nil && line.Time.Before(*r.since):
			continue // The kubelet knows seconds.
		case lines.read > readBytes:
			t.cut = true
			return t
		}
		t.lines = append(t.lines, line)
		for kept += len(line.Text); kept > limit; t.cut = true {
			kept -= len(t.lines[0].Text)
			t.lines = t.lines[1:]
		}
	}
}

// gather merges what was read of each container, and says what is missing.
func (l *Logs) gather(of []target, all []tailed) {
	failed := map[string]bool{}
	for i, t := range all {
		l.Lines = append(l.Lines, t.lines...)
		if t.cut {
			l.omit(of[i].Container, fmt.Sprintf("an answer has %d KiB of text at most, and lines of this container were left out", answerBytes>>10))
		}
		if t.err == nil {
			continue
		}
		l.omit(of[i].Container, messageOf(t.err))
		if cluster := of[i].Cluster; !errors.Is(t.err, errMissing) && !failed[cluster] {
			failed[cluster] = true
			l.Errors = append(l.Errors, t.err)
		}
	}
	// Lines of one container stay in the order in which they were written.
	slices.SortStableFunc(l.Lines, func(a, b Line) int { return a.at.Compare(b.at) })
}

func (l *Logs) omit(c Container, why string) {
	l.Omitted = append(l.Omitted, Omission{Container: c, Message: why})
}

// messageOf is the text of an error for the caller.
func messageOf(err error) string {
	if errors.Is(err, errMissing) {
		return strings.TrimPrefix(err.Error(), errMissing.Error()+": ")
	}
	if known, ok := errors.AsType[*apierror.Error](err); ok {
		return known.Message
	}
	return "the log could not be read"
}
