package fleet

import (
	"syscall"
	"time"
)

// process is one component of the fleet, as it should run.
type process struct {
	name   string
	binary string // path
	args   []string
	// ports are the purposes (topology.Ports) that it listens on.
	ports []string
	// needs are the tasks before which it is not started.
	needs []string
	ready probe
	// signal asks it to stop; SIGTERM where zero.
	signal syscall.Signal
	// credential is the user it runs as; nil is the caller's.
	credential *syscall.Credential
	// through is a program with arguments that becomes the process, by exec.
	through []string
	// dir is its working directory; the fleet's folder where empty.
	dir string
}

// How long a process may take to become ready, and to stop. Both are far beyond what they take on a
// busy machine: they end the wait for something that will not happen.
const (
	readyTimeout = 3 * time.Minute
	stopGrace    = 15 * time.Second
)

func (p process) stopSignal() syscall.Signal {
	if p.signal != 0 {
		return p.signal
	}
	return syscall.SIGTERM
}

// probe is how a process reports that it is ready.
type probe struct {
	// url answers 200 when the process is ready.
	url string
	// cluster is the one whose authority signed the process's certificate, where url is https.
	cluster string
	// tcp is an address that accepts connections when the process is ready; instead of url, for
	// those that have no health endpoint.
	tcp string
	// command ends without an error when the process is ready; instead of both, for those that accept connections before.
	command []string
}

// action is what `up` does about a process.
type action string

const (
	keep    action = "keep"
	start   action = "start"
	restart action = "restart"
)

// decide says what a process needs: one that runs is left alone unless its arguments are no longer
// those that the fleet's settings ask for.
func decide(running bool, have, want []string) action {
	switch {
	case !running:
		return start
	case !equal(have, want):
		return restart
	default:
		return keep
	}
}

func equal(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
