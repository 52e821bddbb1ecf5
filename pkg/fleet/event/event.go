// Package event answers queries about Kubernetes events.
package event

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/index"
)

// Connection is a page of them.
type Connection = page.Connection[*Event]

// Edge is one of them with its place in the list.
type Edge = page.Edge[*Event]

// Event is something that happened to an object.
type Event struct {
	event *corev1.Event
}

// New makes an Event.
func New(o *index.Object) (*Event, error) {
	e, err := index.Decode[corev1.Event](o)
	if err != nil {
		return nil, err
	}
	return &Event{event: e}, nil
}

// Namespace of the event.
func (e *Event) Namespace() string { return e.event.Namespace }

// Name of the event.
func (e *Event) Name() string { return e.event.Name }

// Type is Normal or Warning.
func (e *Event) Type() string { return e.event.Type }

// Reason for programs.
func (e *Event) Reason() string { return e.event.Reason }

// Message for a person.
func (e *Event) Message() string { return e.event.Message }

// Count is how often it happened. Reporters of the newer API count in a series.
func (e *Event) Count() int {
	if e.event.Series != nil {
		return int(e.event.Series.Count)
	}
	return max(1, int(e.event.Count))
}

// InvolvedKind is the kind of the object it is about.
func (e *Event) InvolvedKind() string { return e.event.InvolvedObject.Kind }

// InvolvedNamespace is the namespace of the object it is about.
func (e *Event) InvolvedNamespace() *string {
	return object.Optional(e.event.InvolvedObject.Namespace)
}

// InvolvedName is the name of the object it is about.
func (e *Event) InvolvedName() string { return e.event.InvolvedObject.Name }

// Source is the component that reported it.
func (e *Event) Source() string {
	if e.event.ReportingController != "" {
		return e.event.ReportingController
	}
	return e.event.Source.Component
}

// FirstSeen is when it first happened.
func (e *Event) FirstSeen() *time.Time {
	if !e.event.FirstTimestamp.IsZero() {
		return object.Time(e.event.FirstTimestamp)
	}
	return e.eventTime()
}

// LastSeen is when it last happened.
func (e *Event) LastSeen() *time.Time {
	switch {
	case e.event.Series != nil:
		t := e.event.Series.LastObservedTime.UTC()
		return &t
	case !e.event.LastTimestamp.IsZero():
		return object.Time(e.event.LastTimestamp)
	}
	return e.eventTime()
}

func (e *Event) eventTime() *time.Time {
	if e.event.EventTime.IsZero() {
		return nil
	}
	t := e.event.EventTime.UTC()
	return &t
}
