// Package eventnotes truncates the notes of events to the length that the API server
// accepts. The recorder of client-go does not: the API server rejects an event with a longer
// note, and the event is lost.
package eventnotes

import (
	"fmt"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
)

// maxNote is how many bytes the API server takes.
const maxNote = 1024

// ellipsis ends what was cut.
const ellipsis = "…"

// truncating is a manager whose recorders cut what is too long.
type truncating struct{ ctrl.Manager }

// Truncate has the controllers that are set up with a manager say no more in an event
// than is taken.
func Truncate(mgr ctrl.Manager) ctrl.Manager { return truncating{mgr} }

// GetEventRecorder implements ctrl.Manager.
func (b truncating) GetEventRecorder(name string) events.EventRecorder {
	return recorder{b.Manager.GetEventRecorder(name)}
}

type recorder struct{ inner events.EventRecorder }

// Eventf implements events.EventRecorder.
func (r recorder) Eventf(regarding, related runtime.Object, kind, reason, action, note string, args ...any) {
	r.inner.Eventf(regarding, related, kind, reason, action, "%s", truncate(fmt.Sprintf(note, args...)))
}

// truncate shortens a text to what is taken. No letter is torn.
func truncate(text string) string {
	if len(text) <= maxNote {
		return text
	}
	end := maxNote - len(ellipsis)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + ellipsis
}
