package proc

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"
)

// pollInterval is how often a stopping process is looked at.
const pollInterval = 20 * time.Millisecond

// Stop ends a recorded process: the signal first, and after the grace period SIGKILL. It signals
// nothing when the pid no longer belongs to the recorded process. killed reports whether the grace period
// was not enough.
func Stop(ctx context.Context, record Record, signal syscall.Signal, grace time.Duration) (killed bool, err error) {
	if err := Signal(record, signal); err != nil {
		return false, err
	}
	if waitGone(ctx, record, grace) {
		return false, nil
	}
	if err := Signal(record, syscall.SIGKILL); err != nil {
		return true, err
	}
	if waitGone(context.WithoutCancel(ctx), record, 5*time.Second) {
		return true, nil
	}
	return true, fmt.Errorf("%s (pid %d) did not end on SIGKILL within 5s", record.Name, record.PID)
}

// Signal sends a signal to the recorded process, nothing when it has ended.
func Signal(record Record, signal syscall.Signal) error {
	if !Alive(record) {
		return nil
	}
	if err := syscall.Kill(record.PID, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("sending %s to %s (pid %d): %w", signal, record.Name, record.PID, err)
	}
	return nil
}

func waitGone(ctx context.Context, record Record, timeout time.Duration) bool {
	deadline := time.Now().Add(timeout)
	for Alive(record) {
		if time.Now().After(deadline) || ctx.Err() != nil {
			return false
		}
		time.Sleep(pollInterval)
	}
	return true
}
