package fleet

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kairship-io/kairship/internal/poll"
)

// Leader is the name of the controller manager that leads, and what its metrics
// say now. Only the leader has instances at all.
func (f *Fleet) Leader(t testing.TB) (process, metrics string) {
	t.Helper()
	// It may be handed over just now, and one that has lost the lead ends.
	poll.Until(t, time.Minute, "a replica of the controller manager works", func(ctx context.Context) (err error) {
		process, metrics, err = f.worker(ctx, t)
		return err
	})
	return process, metrics
}

func (f *Fleet) worker(ctx context.Context, t testing.TB) (process, metrics string, err error) {
	t.Helper()
	err = errors.New("none serves metrics of instances")
	for _, process := range []string{"kairship-controller-manager-0", "kairship-controller-manager-1"} {
		if _, ended := f.running(process); ended != nil {
			err = errors.Join(err, ended)
			continue
		}
		for _, arg := range f.Args(t, process) {
			address, found := strings.CutPrefix(arg, "--metrics-bind-address=")
			if !found {
				continue
			}
			metrics, failed := Metrics(ctx, address)
			switch {
			case failed != nil:
				err = errors.Join(err, failed)
			case Works(metrics):
				return process, metrics, nil
			}
		}
	}
	return "", "", err
}

// Works tells from its metrics whether a controller manager works: only one that does
// knows the state of instances.
func Works(metrics string) bool { return strings.Contains(metrics, "kairship_instance_state{") }

// Metrics is what a process that listens there says at /metrics.
func Metrics(ctx context.Context, address string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", http.NoBody)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

// Metric is the value of a series, named as in the text format; empty when there is
// none.
func Metric(metrics, series string) string {
	for line := range strings.Lines(metrics) {
		if value, found := strings.CutPrefix(line, series+" "); found {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// Usage is how much CPU time one of the fleet's processes has used, and how much
// memory it holds, in bytes.
func (f *Fleet) Usage(t testing.TB, process string) (cpu time.Duration, memory int64) {
	t.Helper()
	return UsageOf(t, f.PID(t, process))
}

// UsageOf is the same of any process.
func UsageOf(t testing.TB, pid int) (cpu time.Duration, memory int64) {
	t.Helper()
	stat, err := statOf(pid)
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(stat.CPUTime() * float64(time.Second)), int64(stat.ResidentMemory())
}
