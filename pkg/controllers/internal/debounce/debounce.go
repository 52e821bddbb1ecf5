// Package debounce keeps conditions from flapping. A probe is a sample: the status of a
// condition changes only when several probes in a row, over some time, had the same result.
// Until then the condition stays as it is, with its transition time.
package debounce

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Limits are how long a state must last before a condition changes.
type Limits struct {
	// Fail is how long a true condition must be seen failing before it becomes false.
	Fail time.Duration
	// Recover is how long a false condition must be seen well before it becomes true.
	Recover time.Duration
	// Samples is how many looks in a row must agree, whatever the time.
	Samples int
}

// Default are the limits for API servers: with the interval of the looks they make an instance
// Unavailable within 15 seconds, and Running again within 10.
var Default = Limits{Fail: 6 * time.Second, Recover: 3 * time.Second, Samples: 2}

// Debouncer keeps what the last looks at objects showed. It may be lost, because the decisions are
// in the objects' conditions.
type Debouncer struct {
	Limits Limits
	// Now returns the time; time.Now when it is nil.
	Now func() time.Time

	mu      sync.Mutex
	samples map[string]map[string]streak // by object and type of condition
}

// streak is how long the looks have shown the same.
type streak struct {
	status metav1.ConditionStatus
	// since is when the first of these looks began.
	since   time.Time
	samples int
	// words is the reason and the message of the last look, and said how many looks
	// in a row had them.
	words string
	said  int
}

// Debounce says what to believe of an object, from what is stored and what a look
// that began at the given time has shown. It is pending when the look contradicts
// what is stored and more looks have to decide: the next one should be soon.
func (d *Debouncer) Debounce(object string, began time.Time, stored []metav1.Condition, shown ...metav1.Condition) (result []metav1.Condition, pending bool) {
	now := d.Time()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.samples == nil {
		d.samples = map[string]map[string]streak{}
	}
	if d.samples[object] == nil {
		d.samples[object] = map[string]streak{}
	}
	for _, condition := range shown {
		next := d.samples[object][condition.Type].follow(condition, began)
		d.samples[object][condition.Type] = next
		believed, waits := debounced(meta.FindStatusCondition(stored, condition.Type), condition, next, now, d.Limits)
		result = append(result, believed)
		pending = pending || waits
	}
	return result, pending
}

// Time is the present time.
func (d *Debouncer) Time() time.Time {
	if d.Now == nil {
		return time.Now()
	}
	return d.Now()
}

// Forget drops what is remembered of an object, or of some of its conditions.
func (d *Debouncer) Forget(object string, conditions ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(conditions) == 0 {
		delete(d.samples, object)
		return
	}
	for _, condition := range conditions {
		delete(d.samples[object], condition)
	}
}

// follow is the streak after one more look.
func (s streak) follow(shown metav1.Condition, began time.Time) streak {
	if s.status != shown.Status {
		s.status, s.since, s.samples = shown.Status, began, 0
	}
	words := shown.Reason + "\n" + shown.Message
	if s.words != words {
		s.words, s.said = words, 0
	}
	s.samples++
	s.said++
	return s
}

// debounced decides between what is stored and what is shown.
func debounced(stored *metav1.Condition, shown metav1.Condition, s streak, now time.Time, limits Limits) (believed metav1.Condition, pending bool) {
	switch {
	case stored == nil, stored.Status == metav1.ConditionUnknown, shown.Status == metav1.ConditionUnknown:
		return shown, false // Nothing contradicts it, or it could not be checked.
	case stored.Status == shown.Status:
		if stored.Reason+"\n"+stored.Message == s.words || s.said < limits.Samples {
			return *stored, false // Words that alternate are not worth a write each time.
		}
		return shown, false
	}
	lasting := limits.Recover
	if shown.Status == metav1.ConditionFalse {
		lasting = limits.Fail
	}
	if s.samples < limits.Samples || now.Sub(s.since) < lasting {
		return *stored, true
	}
	return shown, false
}
