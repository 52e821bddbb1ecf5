package podlog

import (
	"time"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
)

// The limits of one answer.
const (
	// mostContainers is how many containers are read or followed for one field.
	mostContainers = 50
	// mostPods is how many pods of an object in a member are looked at.
	mostPods = 500
	// defaultTail and mostTail are how many lines of a container are read.
	defaultTail, mostTail = 100, 1000
	// longestLine is how many bytes of a line are shown.
	longestLine = 16 << 10
	// answerBytes is how many bytes of text an answer has, divided among its containers.
	answerBytes = 1 << 20
	// readBytes is how many bytes of a container are read for an answer, which keeps the last ones.
	readBytes = 8 << 20
)

// Container names a container of a pod in a member cluster of an instance.
type Container struct {
	Cluster, Namespace, Pod, Name string
}

// ClusterName is the member cluster's name in the instance.
func (c *Container) ClusterName() string { return c.Cluster }

// PodName is the name of the pod.
func (c *Container) PodName() string { return c.Pod }

// ContainerName is the name of the container.
func (c *Container) ContainerName() string { return c.Name }

// Line is a line of a container's log.
type Line struct {
	Container
	// Time is when it was written; nil where the node does not say.
	Time *time.Time
	Text string
	// Truncated: the line is longer.
	Truncated bool

	// at is Time, or that of the line before.
	at time.Time
}

// Omission is a container of which lines are missing.
type Omission struct {
	Container
	Message string
}

// Logs are lines of some containers.
type Logs struct {
	Lines   []Line
	Omitted []Omission
	// Freshness is that of the list of the pods.
	Freshness freshness.Freshness
	// Errors has one error for each member cluster that refused or did not answer.
	Errors []error
}

// Args are the arguments of the fields that read logs.
type Args struct {
	// Clusters narrow the member clusters; nil for all.
	Clusters []string
	// Container is the name of the only container wanted; nil for all.
	Container *string
	// Tail is how many lines of each container are wanted; nil for defaultTail.
	Tail *int
	// Since is the time of the first lines wanted; nil for any.
	Since *time.Time
	// Previous: of the runs before the last restarts.
	Previous bool
}

// tail is how many lines of each container are wanted.
func (a Args) tail() (int, error) {
	if a.Tail == nil {
		return defaultTail, nil
	}
	if *a.Tail < 1 || *a.Tail > mostTail {
		return 0, apierror.Invalid("tail", "tail must be between 1 and %d", mostTail)
	}
	return *a.Tail, nil
}
