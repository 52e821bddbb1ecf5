package fleet

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// Leader is the name of the controller manager that leads, and what its metrics
// say now. Only the leader has instances at all.
func (f *Fleet) Leader(t testing.TB) (process, metrics string) {
	t.Helper()
	for _, process := range []string{"kairship-controller-manager-0", "kairship-controller-manager-1"} {
		for _, arg := range f.Args(t, process) {
			address, found := strings.CutPrefix(arg, "--metrics-bind-address=")
			if !found {
				continue
			}
			response, err := http.Get("http://" + address + "/metrics")
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(response.Body)
			_ = response.Body.Close()
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(body), "kairship_instance_state{") {
				return process, string(body)
			}
		}
	}
	t.Fatal("no replica of the controller manager serves metrics of instances")
	return "", ""
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
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	// Fields 14, 15 and 24 of the file, counted after the name.
	const afterName, ticksPerSecond = 3, 100
	fields := bytes.Fields(raw[bytes.LastIndexByte(raw, ')')+1:])
	var user, system, pages int64
	for index, into := range map[int]*int64{14: &user, 15: &system, 24: &pages} {
		if _, err := fmt.Sscan(string(fields[index-afterName]), into); err != nil {
			t.Fatal(err)
		}
	}
	return time.Duration(user+system) * time.Second / ticksPerSecond, pages * int64(os.Getpagesize())
}
