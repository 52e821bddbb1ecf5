package projector

import (
	"context"
	"fmt"
	"maps"
	"slices"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/pod"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
)

// StepPods deals with the first changes of pods, and returns how many there were.
func (p *Projector) StepPods(ctx context.Context) (taken int, err error) {
	rows := 0
	err = p.DB.RoundOfPods(ctx, func(s *projection.Snapshot) (*projection.PodWrites, error) {
		changes, err := s.PendingPods(batch)
		if err != nil {
			return nil, err
		}
		w := &projection.PodWrites{}
		if w.Complete, err = s.PodsRebuilt(); err != nil {
			return nil, err
		}
		named := map[projection.IndexPodKey]bool{}
		for i := range changes {
			c := &changes[i]
			w.Done = append(w.Done, c.ID)
			switch {
			case v1alpha1.InstanceOfVirtualCluster(c.Cluster) != "": // Of the control plane, not of a member.
			case c.Name == "":
				w.Moved = append(w.Moved, c.Cluster)
			default:
				named[c.IndexPodKey] = true
			}
		}
		w.Rows, w.Gone, err = podRows(s, slices.Collect(maps.Keys(named)))
		taken, rows = len(changes), len(named)
		return w, err
	})
	if err != nil {
		return 0, err
	}
	p.Metrics.rows.Add(float64(rows))
	return taken, nil
}

// podRows computes the rows of some pods, and finds those that the index does not have.
func podRows(s *projection.Snapshot, keys []projection.IndexPodKey) (rows []projection.PodRow, gone []projection.IndexPodKey, err error) {
	if len(keys) == 0 {
		return nil, nil, nil
	}
	collections, err := s.Collections()
	if err != nil {
		return nil, nil, err
	}
	instances := make(map[string]string, len(collections))
	for _, c := range collections {
		instances[c.Cluster] = c.Instance
	}
	pods, err := s.Pods(keys)
	if err != nil {
		return nil, nil, err
	}
	found := make(map[projection.IndexPodKey]bool, len(pods))
	for i := range pods {
		found[pods[i].IndexPodKey] = true
		rows = append(rows, podRowOf(&pods[i], instances[pods[i].Cluster]))
	}
	for _, key := range keys {
		if !found[key] {
			gone = append(gone, key)
		}
	}
	return rows, gone, nil
}

// podRowOf is the row of a pod. One that cannot be read is UNKNOWN, with the reason.
func podRowOf(collected *projection.CollectedPod, instance string) projection.PodRow {
	row := projection.PodRow{
		IndexPodKey: collected.IndexPodKey, Instance: instance, UID: collected.UID, ResourceVersion: collected.ResourceVersion, Projection: projection.PodVersion,
		LabelKV: []string{}, Images: []string{}, ImageKeys: []string{},
	}
	observed := &pod.Observed{}
	if err := jsonv2.Unmarshal(collected.Text, observed, index.Lenient); err != nil {
		row.Phase, row.Message = string(pod.PhaseUnknown), fmt.Sprintf("the pod cannot be read: %v", err)
		return row
	}
	row.CreatedAt = observed.CreationTimestamp.Unix()
	row.Phase, row.Ready, row.Restarts, row.Message = string(observed.Phase()), observed.Ready(), observed.Restarts(), observed.Message()
	row.Node, row.PodIP = observed.Spec.NodeName, observed.Status.PodIP
	for _, key := range slices.Sorted(maps.Keys(observed.Labels)) {
		row.LabelKV = append(row.LabelKV, key+"="+observed.Labels[key])
	}
	row.Images = append(row.Images, observed.Images()...)
	row.ImageKeys, row.Search = workload.ImageKeys(row.Images), observed.SearchText()
	row.CPURequests, row.MemoryRequests = observed.Requests()
	return row
}

// checkPods compares the versions of all rows of pods with those of the index, computes those that
// differ again, and returns how many there were. Pods that a waiting change concerns are left out.
func (p *Projector) checkPods(ctx context.Context, rest func() error) (repaired int, err error) {
	state, err := p.DB.PodState(ctx)
	if err != nil || state != projection.Complete {
		return 0, err
	}
	for more := true; more; {
		if err := rest(); err != nil {
			return repaired, err
		}
		// As for workloads, no change waits for a look.
		var differ []projection.IndexPodKey
		err := p.DB.View(ctx, func(s *projection.Snapshot) (err error) {
			differ, more, err = differentPods(s)
			return err
		})
		if err != nil || len(differ) == 0 {
			return repaired, err
		}
		n := 0
		err = untilFirst(ctx, p.DB.RoundOfPods, func(s *projection.Snapshot) (*projection.PodWrites, error) {
			keys, _, err := differentPods(s)
			if err != nil {
				return nil, err
			}
			n = len(keys)
			w := &projection.PodWrites{}
			w.Rows, w.Gone, err = podRows(s, keys)
			return w, err
		})
		if err != nil {
			return repaired, err
		}
		if n > 0 {
			p.Log.Info("Rows of pods of the projection differed, repaired", "pods", n)
		}
		repaired += n
		p.Metrics.differences.Add(float64(n))
	}
	return repaired, nil
}

// differentPods finds pods whose rows differ and that no waiting change concerns, and reports whether there
// may be more.
func differentPods(s *projection.Snapshot) (keys []projection.IndexPodKey, more bool, err error) {
	changes, err := s.PendingPods(most + 1)
	if err != nil {
		return nil, false, err
	}
	if len(changes) > most {
		return nil, false, ErrBusy
	}
	waiting, moved := map[projection.IndexPodKey]bool{}, map[string]bool{}
	for i := range changes {
		waiting[changes[i].IndexPodKey] = true
		if changes[i].Name == "" {
			moved[changes[i].Cluster] = true
		}
	}
	if keys, err = s.DifferentPods(batch + most); err != nil {
		return nil, false, err
	}
	more = len(keys) == batch+most
	return slices.DeleteFunc(keys, func(key projection.IndexPodKey) bool { return waiting[key] || moved[key.Cluster] }), more, nil
}
