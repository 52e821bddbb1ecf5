// Package bulk implements the mutation that changes many workloads at once.
package bulk

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/fleet/write"
	"github.com/kairship-io/kairship/pkg/fleet/write/workloads"
)

// Action is what is done with each workload. The values are those of the schema's enum.
type Action string

// The actions.
const (
	ActionScale    Action = "SCALE"
	ActionRestart  Action = "RESTART"
	ActionSetImage Action = "SET_IMAGE"
	ActionPause    Action = "PAUSE"
	ActionResume   Action = "RESUME"
	ActionDelete   Action = "DELETE"
	ActionLabel    Action = "LABEL"
)

// Outcome is what became of one workload. The values are those of the schema's enum.
type Outcome string

// The outcomes.
const (
	OutcomeChanged Outcome = "CHANGED"
	OutcomeFailed  Outcome = "FAILED"
	OutcomeSkipped Outcome = "SKIPPED"
)

// Most is how many workloads one call changes.
const Most = 500

// Input is the input of changeWorkloads.
type Input struct {
	Filter workload.Filter
	Action Action
	// Replicas is for ActionScale, Images for ActionSetImage, Labels and RemoveLabels for ActionLabel.
	Replicas     *int
	Images       []workloads.Image
	Labels       []object.Pair
	RemoveLabels []string
	// MaxFailedPercent is the share of the workloads, in percent, that may fail before no more are begun.
	MaxFailedPercent int
	// Expect is the fingerprint of the workloads that are to be changed.
	Expect *string
	DryRun bool
}

// Payload is what became of all workloads.
type Payload struct {
	Action      Action
	Fingerprint string
	// Total is how many workloads the filter hits; the others are parts of it.
	Total, Changed, Failed, Skipped int
	Results                         []Result
	Freshness                       freshness.Freshness
	ConsistencyToken                *string
}

// Result is what became of one workload.
type Result struct {
	InstanceName    string
	Kind            workload.Kind
	Namespace, Name string
	Outcome         Outcome
	// Workload is what the instance stored; nil where nothing was, or it was deleted.
	Workload workload.Any
	Error    *write.Problem
}

// kinds are the kinds that an action takes, and those that it takes where the filter names none: a Job
// that is restarted runs again, which is seldom meant by restarting an application.
func kinds(a Action) (all, unless []workload.Kind) {
	switch a {
	case ActionScale:
		all = workloads.Scalable()
	case ActionRestart:
		all = workloads.Restartable()
		return all, slices.DeleteFunc(slices.Clone(all), func(k workload.Kind) bool { return k == workload.KindJob })
	case ActionSetImage:
		all = workloads.WithImages()
	case ActionPause, ActionResume:
		all = workloads.Pausable()
	case ActionDelete, ActionLabel:
		all = workload.Kinds()
	}
	return all, all
}

// check refuses inputs that belong to another action, or are missing, and returns the filter with the
// kinds that the action takes.
func (in *Input) check() (workload.Filter, error) {
	f := in.Filter
	all, unless := kinds(in.Action)
	if f.CustomKinds != nil {
		return f, apierror.Invalid("input.filter.customKinds", "custom workloads cannot be changed here, because nothing is known of their specs: use patchResource")
	}
	for i, k := range f.Kinds {
		if !slices.Contains(all, k) {
			return f, apierror.Invalid(fmt.Sprintf("input.filter.kinds[%d]", i), "the action %s does not take the kind %s; it takes %v", in.Action, k, all)
		}
	}
	if f.Kinds == nil {
		f.Kinds = unless
	}
	for _, of := range []struct {
		argument string
		action   Action
		given    bool
	}{
		{"input.replicas", ActionScale, in.Replicas != nil},
		{"input.images", ActionSetImage, len(in.Images) > 0},
		{"input.labels", ActionLabel, len(in.Labels)+len(in.RemoveLabels) > 0},
	} {
		switch {
		case of.action == in.Action && !of.given:
			return f, apierror.Invalid(of.argument, "the action %s needs it", in.Action)
		case of.action != in.Action && of.given:
			return f, apierror.Invalid(of.argument, "it is for the action %s, and the action is %s: leave it out", of.action, in.Action)
		}
	}
	if in.MaxFailedPercent < 0 || in.MaxFailedPercent > 100 {
		return f, apierror.Invalid("input.maxFailedPercent", "%d is out of range; give 0 to 100", in.MaxFailedPercent)
	}
	return f, nil
}

// target is one workload that the filter hits.
type target struct {
	Instance        string
	Kind            workload.Kind
	Namespace, Name string
	UID             string
}

// fingerprint is the same for the same action with the same values on the same workloads.
func (in *Input) fingerprint(targets []target) string {
	h := sha256.New()
	say := func(values ...any) { _, _ = fmt.Fprintf(h, "%q\n", values) } // A hash takes everything.
	say(string(in.Action))
	if in.Replicas != nil {
		say(strconv.Itoa(*in.Replicas))
	}
	for _, i := range in.Images {
		say("image", i.Container, i.Image)
	}
	for _, l := range in.Labels {
		say("label", l.Key, l.Value)
	}
	for _, key := range in.RemoveLabels {
		say("remove", key)
	}
	for _, t := range targets {
		say("workload", t.Instance, string(t.Kind), t.Namespace, t.Name, t.UID)
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:18])
}

// expected returns nil when the call brings the fingerprint of what it hits.
func (in *Input) expected(fingerprint string, total int) error {
	switch {
	case in.DryRun && in.Expect == nil:
		return nil
	case in.Expect == nil:
		return apierror.Invalid("input.expect", "send it with dryRun first, look at what it hits, and repeat it with the fingerprint of that")
	case *in.Expect != fingerprint:
		return apierror.At(apierror.New(apierror.CodeConflict,
			"it is not what was tried any more: the filter hits other workloads (%d now), or the action is another one; send it with dryRun again, and repeat it with that fingerprint", total), "input.expect")
	}
	return nil
}

// tooMany reports whether so many of the workloads failed that no more are to be begun.
func tooMany(failed, total, maxPercent int) bool { return failed*100 > total*maxPercent }
