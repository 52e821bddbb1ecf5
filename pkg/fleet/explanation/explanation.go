package explanation

import (
	"slices"
	"strings"
	"time"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kairship-io/kairship/pkg/fleet/pod"
	"github.com/kairship-io/kairship/pkg/fleet/policy"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
)

// Stage is a part of the propagation.
type Stage string

// The stages, in their order.
const (
	StagePolicy     Stage = "POLICY"
	StageScheduling Stage = "SCHEDULING"
	StageOverride   Stage = "OVERRIDE"
	StageDispatch   Stage = "DISPATCH"
	StageApply      Stage = "APPLY"
	StageRun        Stage = "RUN"
)

// State is how far the propagation is in a stage.
type State string

// The states.
const (
	StatePassed     State = "PASSED"
	StateWaiting    State = "WAITING"
	StateFailed     State = "FAILED"
	StateNotReached State = "NOT_REACHED"
)

// Explanation says where the propagation of a workload stands, and why.
type Explanation struct {
	Stage   Stage
	State   State
	Summary string
	// Steps are one for each stage, in their order.
	Steps []Step
}

// Step is what happened to the workload in a stage.
type Step struct {
	Stage   Stage
	State   State
	Summary string
	Since   *time.Time
	Reasons []Reason
}

// Reason is one thing that is known about a step.
type Reason struct {
	Code        Code
	Message     string
	ClusterName *string
	Policy      policy.PropagationPolicyLike
	Override    policy.OverridePolicyLike
	Pod         *pod.Pod
}

// Remedy says what to do about it; nil where nothing has to be done.
func (r *Reason) Remedy() *string {
	if text, ok := remedies[r.Code]; ok {
		return &text
	}
	return nil
}

// Explain computes the explanation of a workload.
func Explain(x *workload.Explainable) *Explanation {
	in := inputsOf(x)
	steps := []Step{in.policy(), in.scheduling()}
	steps = append(steps, in.placements()...)
	if in.Template.Deleting() {
		for i := range steps[1:] {
			steps[1+i] = notReached(steps[1+i].Stage)
		}
	}
	at := current(steps)
	if !slices.Contains(states[x.Status.Health], steps[at].State) {
		// The state and the objects were read one after the other, and something changed between.
		steps[at].State = states[x.Status.Health][0]
	}
	e := &Explanation{Stage: steps[at].Stage, State: steps[at].State, Summary: in.summary(), Steps: steps}
	if x.Status.Message != "" && e.State != StatePassed {
		steps[at].Summary = x.Status.Message
	}
	for i := range steps {
		if steps[i].Summary == "" {
			steps[i].Summary = steps[i].summary()
		}
	}
	return e
}

// states are the states of an explanation that agree with a health, the usual one first.
var states = map[workload.Health][]State{
	// Only what is suspended waits without harm.
	workload.HealthHealthy:      {StatePassed, StateWaiting},
	workload.HealthProgressing:  {StateWaiting},
	workload.HealthDegraded:     {StateFailed},
	workload.HealthUnscheduled:  {StateFailed, StateWaiting},
	workload.HealthUnpropagated: {StateFailed, StateWaiting},
	workload.HealthUnmanaged:    {StateFailed},
	workload.HealthUnknown:      {StateFailed},
}

// current is the step at which the propagation stands: the first that failed, else the first that
// waits, else the last.
func current(steps []Step) int {
	for _, state := range []State{StateFailed, StateWaiting} {
		if i := slices.IndexFunc(steps, func(s Step) bool { return s.State == state }); i >= 0 {
			return i
		}
	}
	return len(steps) - 1
}

// inputs are what an explanation is computed from.
type inputs struct {
	*workload.Explainable
	*workload.Facts
	// object is the template as Karmada's functions match it.
	object *unstructured.Unstructured
}

func inputsOf(x *workload.Explainable) *inputs {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(x.Facts.Kind.GVK())
	if x.Facts.Kind.Custom() {
		u.SetAPIVersion(x.Facts.Template.APIVersion) // A custom kind may have several versions.
	}
	u.SetNamespace(x.Facts.Template.Namespace)
	u.SetName(x.Facts.Template.Name)
	u.SetLabels(x.Facts.Template.Labels)
	return &inputs{x, x.Facts, u}
}

// summary is the message of the workload's health, and where there is none a sentence of the same.
func (in *inputs) summary() string {
	if in.Status.Message != "" {
		return in.Status.Message
	}
	var clusters []string
	for i := range in.Status.Placements {
		if p := &in.Status.Placements[i]; p.Scheduled {
			clusters = append(clusters, p.Cluster)
		}
	}
	text := strings.ToLower(string(in.Status.Health))
	if len(clusters) > 0 {
		text += " in " + strings.Join(clusters, ", ")
	}
	return text
}

func notReached(stage Stage) Step {
	return Step{Stage: stage, State: StateNotReached, Reasons: []Reason{}}
}

// passed are the summaries of steps that passed.
var passed = map[Stage]string{
	StagePolicy: "a propagation policy claims it", StageScheduling: "the scheduler chose its clusters",
	StageOverride: "the override policies are applied", StageDispatch: "it was sent to its clusters",
	StageApply: "its clusters have taken it", StageRun: "it runs as it should",
}

// summary is that of a step which the health says nothing about.
func (s *Step) summary() string {
	switch s.State {
	case StateNotReached:
		return "an earlier stage has to pass first"
	case StatePassed:
		return passed[s.Stage]
	case StateWaiting, StateFailed:
	}
	var notes []string
	for i := range s.Reasons {
		r := &s.Reasons[i]
		note := r.Message
		if r.ClusterName != nil {
			note = *r.ClusterName + ": " + note
		}
		if r.Pod == nil && !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
	}
	return strings.Join(notes, "; ")
}

// add adds a reason to a step.
func (s *Step) add(state State, r Reason) {
	s.Reasons = append(s.Reasons, r)
	s.reach(state)
}

// reach makes the state of a step what it is with one more part of it: the worst of the parts that
// reached the stage.
func (s *Step) reach(state State) {
	order := []State{StateNotReached, StatePassed, StateWaiting, StateFailed}
	if slices.Index(order, state) > slices.Index(order, s.State) {
		s.State = state
	}
}

// began notes since when something of the step is so: the earliest moment.
func (s *Step) began(at *time.Time) {
	if at != nil && (s.Since == nil || at.Before(*s.Since)) {
		s.Since = at
	}
}

// in is a reason about a cluster.
func inCluster(code Code, cluster, message string) Reason {
	return Reason{Code: code, ClusterName: &cluster, Message: message}
}

// described names a policy for a person.
func described(p interface{ Common() *policy.Policy }) string {
	common := p.Common()
	name := common.Name()
	if common.Namespace() != "" {
		name = common.Namespace() + "/" + name
	}
	return common.ObjectKind() + " " + name
}

// isClusterPolicy reports whether a policy is a ClusterPropagationPolicy.
func isClusterPolicy(p policy.PropagationPolicyLike) bool {
	return p.Common().ObjectKind() == policyv1alpha1.ResourceKindClusterPropagationPolicy
}
