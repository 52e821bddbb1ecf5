package debounce_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/internal/debounce"
	"github.com/kairship-io/kairship/pkg/controllers/internal/status"
)

// scene plays looks at one object, at times that the test chooses.
type scene struct {
	judge  *debounce.Debouncer
	now    time.Time
	stored []metav1.Condition
}

func newScene(stored ...metav1.Condition) *scene {
	s := &scene{now: time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)}
	s.judge = &debounce.Debouncer{Limits: debounce.Default, Now: func() time.Time { return s.now }}
	for i := range stored {
		stored[i].LastTransitionTime = metav1.NewTime(s.now.Add(-time.Hour))
	}
	s.stored = stored
	return s
}

// look is one look that lasted no time, after a pause.
func (s *scene) look(after time.Duration, shown metav1.Condition) (word string, pending bool) {
	s.now = s.now.Add(after)
	debounced, pending := s.judge.Debounce("alpha", s.now, s.stored, shown)
	s.stored = status.Conditions(s.stored, 1, debounced...)
	return string(s.stored[0].Status) + "/" + s.stored[0].Reason, pending
}

var (
	well    = v1alpha1.Reachable("It answers.")
	failing = v1alpha1.Unreachable(v1alpha1.ReasonNotAnswering, "Nothing.")
	refused = v1alpha1.Unreachable(v1alpha1.ReasonRefused, "No.")
	unknown = v1alpha1.ReachableUnknown(v1alpha1.ReasonCredentialsMissing, "No Secret.")
)

func TestDebounce(t *testing.T) {
	type step struct {
		after   time.Duration
		shown   metav1.Condition
		want    string
		pending bool
	}
	const (
		isWell, isFailing = "True/Answering", "False/NotAnswering"
		second            = time.Second
	)
	for _, c := range []struct {
		reason string
		stored []metav1.Condition
		steps  []step
	}{
		{"the first look at an object is believed", nil, []step{{0, failing, isFailing, false}}},
		{"one look in vain changes nothing", []metav1.Condition{well}, []step{{5 * second, failing, isWell, true}, {second, well, isWell, false}}},
		{
			"six seconds in vain are believed",
			[]metav1.Condition{well},
			[]step{{5 * second, failing, isWell, true}, {second, failing, isWell, true}, {4 * second, failing, isWell, true}, {second, failing, isFailing, false}},
		},
		{"a long pause is not two looks", []metav1.Condition{well}, []step{{time.Hour, failing, isWell, true}}},
		{"three seconds that are well end it", []metav1.Condition{failing}, []step{{2 * second, well, isFailing, true}, {second, well, isFailing, true}, {2 * second, well, isWell, false}}},
		{
			"a success in between begins the count anew",
			[]metav1.Condition{well},
			[]step{{second, failing, isWell, true}, {5 * second, failing, isWell, true}, {second, well, isWell, false}, {second, failing, isWell, true}, {5 * second, failing, isWell, true}},
		},
		{"another cause takes two looks", []metav1.Condition{failing}, []step{{second, refused, isFailing, false}, {second, refused, "False/Refused", false}}},
		{"causes that alternate are not told", []metav1.Condition{failing}, []step{{second, refused, isFailing, false}, {second, failing, isFailing, false}, {second, refused, isFailing, false}}},
		{"that it cannot be checked is told at once", []metav1.Condition{well}, []step{{second, unknown, "Unknown/CredentialsMissing", false}, {second, failing, isFailing, false}}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s := newScene(c.stored...)
			for i, step := range c.steps {
				word, pending := s.look(step.after, step.shown)
				if word != step.want || pending != step.pending {
					t.Errorf("step %d: got %s (pending: %v), want %s (%v)", i, word, pending, step.want, step.pending)
				}
			}
		})
	}
}

// TestFlappingIsNotReported has an endpoint come and go for an hour.
func TestFlappingIsNotReported(t *testing.T) {
	for _, begin := range []metav1.Condition{well, failing} {
		s := newScene(begin)
		before := append([]metav1.Condition(nil), s.stored...)
		for i := range 1800 {
			shown := well
			if i%2 == 0 {
				shown = failing
			}
			s.look(2*time.Second, shown)
		}
		if diff := cmp.Diff(before[0].LastTransitionTime, s.stored[0].LastTransitionTime); diff != "" || s.stored[0].Status != begin.Status {
			t.Errorf("%s turned to %s: %s", begin.Reason, s.stored[0].Reason, diff)
		}
	}
}

func TestForget(t *testing.T) {
	s := newScene(well)
	s.look(0, failing)
	s.judge.Forget("alpha")
	if word, pending := s.look(7*time.Second, failing); word != "True/Answering" || !pending {
		t.Errorf("what was forgotten counts: %s", word)
	}
	s.judge.Forget("alpha", v1alpha1.ConditionReachable)
	if word, _ := s.look(7*time.Second, failing); word != "True/Answering" {
		t.Errorf("the condition that was forgotten counts: %s", word)
	}
}
