package operation

import (
	"slices"
	"time"

	"github.com/kairship-io/kairship/pkg/index"
)

// Kind is what an operation is to do.
type Kind string

// The kinds.
const (
	KindApplyManifests    Kind = "APPLY_MANIFESTS"
	KindDeployApplication Kind = "DEPLOY_APPLICATION"
	KindPromoteResource   Kind = "PROMOTE_RESOURCE"
	KindJoinCluster       Kind = "JOIN_CLUSTER"
	KindUnjoinCluster     Kind = "UNJOIN_CLUSTER"
	KindCreateInstance    Kind = "CREATE_INSTANCE"
	KindUpdateInstance    Kind = "UPDATE_INSTANCE"
	KindMoveWorkload      Kind = "MOVE_WORKLOAD"
	KindMoveCluster       Kind = "MOVE_CLUSTER"
	KindDrainCluster      Kind = "DRAIN_MEMBER_CLUSTER"
)

// Object is an object that an operation wrote.
type Object struct {
	Group     string `json:"g,omitempty"`
	Version   string `json:"v"`
	Resource  string `json:"r"`
	Kind      string `json:"k"`
	Namespace string `json:"ns,omitempty"`
	Name      string `json:"n"`
	// ResourceVersion is the one that was written: an older object proves nothing of
	// the operation. It is empty where the object stayed as it was.
	ResourceVersion string `json:"rv,omitempty"`
}

// Type is its type in the words of the index.
func (o Object) Type() index.Type {
	return index.Type{Group: o.Group, Version: o.Version, Resource: o.Resource, Kind: o.Kind}
}

// Operation is what was asked for: all that is needed to follow it.
type Operation struct {
	Kind     Kind   `json:"k"`
	Instance string `json:"i"`
	// Cluster is the cluster of the inventory that is joined or removed.
	Cluster string `json:"c,omitempty"`
	// To is the instance that the cluster moves to.
	To string `json:"to,omitempty"`
	// Leaves and Enters are the member clusters that a workload moves from and to.
	Leaves []string `json:"l,omitempty"`
	Enters []string `json:"e,omitempty"`
	// Version is the resourceVersion of the Cluster or Instance that was written: what
	// is older says nothing of the operation.
	Version string `json:"rv,omitempty"`
	// Objects that were written, for what is propagated; the policy and the workload, for a workload that moves.
	Objects []Object `json:"w,omitempty"`
	// Began is when it was asked for.
	Began time.Time `json:"t"`
}

// State is whether an operation is over.
type State string

// The states.
const (
	Running   State = "RUNNING"
	Succeeded State = "SUCCEEDED"
	Failed    State = "FAILED"
)

// StepName names a step.
type StepName string

// The steps.
const (
	StepWritten     StepName = "WRITTEN"
	StepScheduled   StepName = "SCHEDULED"
	StepApplied     StepName = "APPLIED"
	StepHealthy     StepName = "HEALTHY"
	StepCredentials StepName = "CREDENTIALS"
	StepRegistered  StepName = "REGISTERED"
	StepReady       StepName = "READY"
	StepLeft        StepName = "LEFT"
	StepInstalled   StepName = "INSTALLED"
	StepReachable   StepName = "REACHABLE"
	StepIndexed     StepName = "INDEXED"
	StepEvicted     StepName = "EVICTED"
	StepRemoved     StepName = "REMOVED"
)

// StepState is how far a step has come.
type StepState string

// The states of steps.
const (
	StepPending StepState = "PENDING"
	StepRunning StepState = "RUNNING"
	StepDone    StepState = "DONE"
	StepFailed  StepState = "FAILED"
)

// Step is a step of an operation.
type Step struct {
	Name    StepName
	State   StepState
	Message *string
	// Done and Total count its parts.
	Done, Total int
}

// Cluster is an operation in one member cluster.
type Cluster struct {
	Name string
	// Objects is the number of objects that are to exist, Applied and Healthy the numbers of those
	// that are applied and healthy.
	Objects, Applied, Healthy int
	Message                   *string
}

// Progress is how far an operation has come.
type Progress struct {
	// Operation is its ID.
	Operation    string
	Kind         Kind
	InstanceName string
	State        State
	Reason       *string
	Message      *string
	Steps        []Step
	Clusters     []Cluster
}

// Reasons of FAILED that no condition has.
const (
	ReasonDeleted      = "DELETED"
	ReasonUnscheduled  = "UNSCHEDULED"
	ReasonUnpropagated = "UNPROPAGATED"
	ReasonUnmanaged    = "UNMANAGED"
	ReasonDegraded     = "DEGRADED"
	ReasonNotApplied   = "NOT_APPLIED"
	ReasonWithdrawn    = "WITHDRAWN"
	ReasonTimedOut     = "TIMED_OUT"
)

// trouble is why an operation does not get on.
type trouble struct {
	reason, message string
	// final: it will not get on any more. Other trouble may pass, as Karmada and the
	// controllers try again.
	final bool
}

// finding is what was observed at one moment.
type finding struct {
	steps    []Step
	clusters []Cluster
	// waits is what it waits for, for a person; empty when that is plain.
	waits string
	// trouble is the first that was found; nil for none.
	trouble *trouble
}

// sequence makes steps of which each begins when the one before is done: until then
// there is nothing to report, and having no parts yet is not being done.
func sequence(steps ...Step) []Step {
	reached := true
	for i := range steps {
		s := &steps[i]
		switch {
		case s.State == StepDone && (reached || s.Total > 0):
		case !reached:
			s.State, s.Message = StepPending, nil
		case s.State == "":
			s.State = StepRunning
		}
		reached = reached && s.State == StepDone
	}
	return steps
}

// one is a step of one part.
func one(name StepName, done bool, message string) Step {
	s := Step{Name: name, Total: 1}
	if done {
		s.State, s.Done = StepDone, 1
		return s
	}
	if message != "" {
		s.Message = &message
	}
	return s
}

// overrides reports whether the operation wrote override policies.
func (o Operation) overrides() bool {
	return slices.ContainsFunc(o.Objects, func(w Object) bool {
		return w.ResourceVersion != "" && w.Group == index.OverridePolicies.Group && (w.Kind == index.OverridePolicies.Kind || w.Kind == index.ClusterOverridePolicies.Kind)
	})
}

func (f finding) done() bool {
	for _, s := range f.steps {
		if s.State != StepDone {
			return false
		}
	}
	return true
}
