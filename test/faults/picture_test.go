package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// fleetQuery asks for everything about the instances of the fleet that a fault
// may change. Other instances, which a user may have registered, are left out.
const fleetQuery = `query Fleet {
  instances(filter: {name: ["alpha", "beta"]}) {
    nodes {
      name
      state
      freshness { ...F }
      conditions { type status reason message }
      memberClusters { nodes { name ready } freshness { ...F } }
      workloads(filter: {kinds: [DEPLOYMENT, STATEFUL_SET, DAEMON_SET, JOB, CRON_JOB]}) {
        freshness { ...F }
        nodes {
          kind namespace name health
          replicas { desired ready }
          freshness { ...F }
          placements {
            clusterName scheduled stale desired ready health message
            object { uid freshness { ...F } pods { name } }
          }
        }
      }
    }
  }
}
fragment F on Freshness { source observedAt lag stale message }`

type freshness struct {
	Source     string     `json:"source"`
	ObservedAt *time.Time `json:"observedAt"`
	Lag        *float64   `json:"lag"`
	Stale      bool       `json:"stale"`
	Message    *string    `json:"message"`
}

// since checks that a stale freshness says since when and why, and that this is
// not after the moment at which its source was stopped.
func (f freshness) since(gone time.Time) error {
	switch {
	case !f.Stale:
		return errors.New("it reports that it is fresh")
	case f.ObservedAt == nil || f.Lag == nil || f.Message == nil || *f.Message == "":
		return fmt.Errorf("it does not say since when and why: %+v", f)
	case f.ObservedAt.After(gone):
		return poll.Stop(fmt.Errorf("it reports that it was observed at %s, %s after its source was stopped: %s", f.ObservedAt, f.ObservedAt.Sub(gone), *f.Message))
	}
	return nil
}

type condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

type instance struct {
	Name, State string
	// Freshness is that of the Instance; what is in it has its own.
	Freshness      freshness
	Conditions     []condition
	MemberClusters struct {
		Nodes []struct {
			Name  string
			Ready bool
		}
		Freshness freshness
	}
	Workloads struct {
		Freshness freshness
		Nodes     []workload
	}
}

type workload struct {
	Kind, Namespace, Name, Health string
	Replicas                      struct{ Desired, Ready int }
	Freshness                     freshness
	Placements                    []placement
}

// key tells the workloads of an instance apart.
func (w workload) key() string { return w.Kind + " " + w.Namespace + "/" + w.Name }

type placement struct {
	ClusterName      string
	Scheduled, Stale bool
	Desired, Ready   *int
	Health           string
	Message          *string
	Object           *struct {
		UID       string
		Freshness freshness
		Pods      []struct{ Name string }
	}
}

// condition finds a condition of the instance.
func (i *instance) condition(typ string) condition {
	for _, c := range i.Conditions {
		if c.Type == typ {
			return c
		}
	}
	return condition{Type: typ}
}

// workload finds a workload of the instance; an empty one when there is none.
func (i *instance) workload(key string) workload {
	for _, w := range i.Workloads.Nodes {
		if w.key() == key {
			return w
		}
	}
	return workload{}
}

// in finds the placement in a cluster; an empty one when there is none.
func (w workload) in(cluster string) placement {
	for _, p := range w.Placements {
		if p.ClusterName == cluster {
			return p
		}
	}
	return placement{}
}

// instances asks for the fleet. An answer that is late or has an error is one
// that the caller should not get.
func (s *scene) instances(ctx context.Context) (map[string]*instance, error) {
	data, _, err := gql.Query[struct{ Instances struct{ Nodes []*instance } }](ctx, s.api, fleetQuery, nil)
	if err != nil {
		return nil, err
	}
	found := map[string]*instance{}
	for _, i := range data.Instances.Nodes {
		found[i.Name] = i
	}
	return found, nil
}

// picture is what is remembered of the workloads of each instance, by key: what
// an outage of anything but themselves must not change.
type picture map[string]map[string]seen

type seen struct {
	Health         string
	Desired, Ready int
	Placements     map[string]seenIn
}

type seenIn struct {
	Desired, Ready *int
	Health, UID    string
	Pods           int
	// Why is the message of one that is not healthy.
	Why string
}

func pictureOf(instances map[string]*instance) picture {
	p := picture{}
	for name, i := range instances {
		p[name] = map[string]seen{}
		for _, w := range i.Workloads.Nodes {
			one := seen{Health: w.Health, Desired: w.Replicas.Desired, Ready: w.Replicas.Ready, Placements: map[string]seenIn{}}
			for _, in := range w.Placements {
				there := seenIn{Desired: in.Desired, Ready: in.Ready, Health: in.Health}
				if in.Health != "HEALTHY" && in.Message != nil {
					there.Why = *in.Message
				}
				if in.Object != nil {
					there.UID = in.Object.UID
				}
				// The pods of a CronJob come and go with the time of day.
				if in.Object != nil && w.Kind != "CRON_JOB" {
					there.Pods = len(in.Object.Pods)
				}
				one.Placements[in.ClusterName] = there
			}
			p[name][w.key()] = one
		}
	}
	return p
}

// expected is the picture when everything is well: every instance runs and is
// collected, every member is ready, nothing is stale, and Kairship reports that it
// is ready. Its error says what is not.
func (s *scene) expected(ctx context.Context) (picture, error) {
	instances, err := s.instances(ctx)
	if err != nil {
		return nil, err
	}
	if len(instances) != 2 {
		return nil, fmt.Errorf("%d of the instances alpha and beta are there", len(instances))
	}
	for _, i := range instances {
		if err := i.well(); err != nil {
			return nil, fmt.Errorf("instance %s: %w", i.Name, err)
		}
	}
	status, report, err := s.readiness(ctx)
	if err != nil {
		return nil, err
	}
	if status != http.StatusOK || report.Status != "ok" {
		return nil, fmt.Errorf("/readyz says %+v with HTTP %d", report, status)
	}
	return pictureOf(instances), nil
}

func (i *instance) well() error {
	switch {
	case i.State != "RUNNING":
		return fmt.Errorf("it is %s", i.State)
	case i.condition("Indexed").Status != "True":
		return fmt.Errorf("condition %+v", i.condition("Indexed"))
	case i.condition("Reachable").Status != "True":
		return fmt.Errorf("condition %+v", i.condition("Reachable"))
	case len(i.MemberClusters.Nodes) == 0 || len(i.Workloads.Nodes) == 0:
		return errors.New("it has no members or no workloads")
	case i.MemberClusters.Freshness.Stale || i.Workloads.Freshness.Stale:
		return errors.New("its collection is stale")
	}
	for _, m := range i.MemberClusters.Nodes {
		if !m.Ready {
			return fmt.Errorf("member %s is not ready", m.Name)
		}
	}
	for _, w := range i.Workloads.Nodes {
		for _, p := range w.Placements {
			if p.Stale || p.Object == nil || p.Object.Freshness.Stale {
				return fmt.Errorf("%s in %s is stale or has no object", w.key(), p.ClusterName)
			}
		}
	}
	return nil
}

// readiness is what /readyz says.
func (s *scene) readiness(ctx context.Context) (status int, report readinessReport, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.KairshipURL+"/readyz", http.NoBody)
	if err != nil {
		return 0, report, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, report, err
	}
	defer func() { _ = resp.Body.Close() }()
	return resp.StatusCode, report, json.NewDecoder(resp.Body).Decode(&report)
}

type readinessReport struct {
	Status string `json:"status"`
	Checks []struct {
		Name    string `json:"name"`
		Status  string `json:"status"`
		Message string `json:"message"`
	} `json:"checks"`
}

// of is the status of one check.
func (r readinessReport) of(check string) string {
	for _, c := range r.Checks {
		if c.Name == check {
			return c.Status
		}
	}
	return ""
}
