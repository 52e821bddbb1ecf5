package operation

import (
	"slices"
	"time"
)

// patience is how long the same trouble has to last until it counts as failure:
// schedulers and controllers run into passing trouble while they begin.
const patience = 20 * time.Second

// longest is how long an operation may take before it counts as failed for a client that
// waits for it.
const longest = 30 * time.Minute

// settling is how long an operation that wrote override policies has to stay done. What a cluster reports says
// which version of the template it runs, and not with which overrides: until the cluster got these, it reports
// the state of before them.
const settling = 2 * time.Second

// judge decides about one operation, finding after finding, whether it is over.
type judge struct {
	id string
	op Operation
	// since is when the trouble that is seen now was seen first.
	since  time.Time
	reason string
	// done is when it was seen done, without a break since.
	done time.Time
}

// next makes the progress of a finding. It looks again after wait, when only time
// can change the progress; zero for never.
func (j *judge) next(f finding, now time.Time) (p Progress, wait time.Duration) {
	p = Progress{Operation: j.id, Kind: j.op.Kind, InstanceName: j.op.Instance, State: Running, Steps: slices.Clone(f.steps), Clusters: f.clusters}
	if f.waits != "" {
		p.Message = &f.waits
	}
	left := j.op.Began.Add(longest).Sub(now)
	if !f.done() || f.trouble != nil {
		j.done = time.Time{}
	} else if j.done.IsZero() {
		j.done = now
	}
	if f.trouble == nil {
		j.reason = ""
		unsettled := settling - now.Sub(j.done)
		switch {
		case f.done() && j.op.overrides() && unsettled > 0:
			return p, unsettled
		case f.done():
			p.State, p.Message = Succeeded, nil
			return p, 0
		case left <= 0:
			j.fail(&p, trouble{reason: ReasonTimedOut, message: "it is not done after " + longest.String()})
			return p, 0
		}
		return p, left
	}
	t := *f.trouble
	if t.reason != j.reason {
		j.reason, j.since = t.reason, now
	}
	p.Message = &t.message
	rest := min(j.since.Add(patience).Sub(now), left)
	if t.final || rest <= 0 {
		j.fail(&p, t)
		return p, 0
	}
	return p, rest
}

// fail ends an operation. The first step that is not done is the one that failed.
func (j *judge) fail(p *Progress, t trouble) {
	p.State, p.Reason, p.Message = Failed, &t.reason, &t.message
	for i := range p.Steps {
		if p.Steps[i].State != StepDone {
			p.Steps[i].State, p.Steps[i].Message = StepFailed, &t.message
			return
		}
	}
}
