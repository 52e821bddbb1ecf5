package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
)

// cpuMeter returns how much CPU time the processes between a client and the
// database have used. At 50 clients the machine is full, and then CPU time per
// operation is what throughput is made of.
type cpuMeter struct {
	kairship, index, global int
}

// cpuTimes is CPU time by process.
type cpuTimes struct {
	client, kairship, index, global time.Duration
}

// newCPUMeter finds the processes. One that is not found has no CPU time.
func newCPUMeter(f *fleet, kairship int) cpuMeter {
	if kairship == 0 {
		kairship = f.pid("kairship-apiserver")
	}
	return cpuMeter{kairship: kairship, index: f.pid("clusterpedia-apiserver"), global: f.pid("global-apiserver")}
}

// pid is the ID of a process of the fleet; 0 where it does not run.
func (f *fleet) pid(process string) int {
	raw, err := os.ReadFile(filepath.Join(f.PIDs, process))
	if err != nil {
		return 0
	}
	var record struct {
		PID        int    `json:"pid"`
		StartTicks uint64 `json:"startTicks"`
	}
	// Another process may have the ID by now.
	if json.Unmarshal(raw, &record) != nil || record.StartTicks != statOf(record.PID).Starttime {
		return 0
	}
	return record.PID
}

// statOf reads what the kernel shows of a process; the zero value where there is none.
func statOf(pid int) procfs.ProcStat {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return procfs.ProcStat{}
	}
	s, err := p.Stat()
	if err != nil {
		return procfs.ProcStat{}
	}
	return s
}

func (m cpuMeter) read() cpuTimes {
	var own syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &own)
	return cpuTimes{
		client:   time.Duration(own.Utime.Nano() + own.Stime.Nano()),
		kairship: cpuTimeOf(m.kairship), index: cpuTimeOf(m.index), global: cpuTimeOf(m.global),
	}
}

// cpuTimeOf reads the user and system time of a process; 0 where there is none.
func cpuTimeOf(pid int) time.Duration {
	return time.Duration(statOf(pid).CPUTime() * float64(time.Second))
}

func (t cpuTimes) minus(o cpuTimes) cpuTimes {
	return cpuTimes{client: t.client - o.client, kairship: t.kairship - o.kairship, index: t.index - o.index, global: t.global - o.global}
}

func (t cpuTimes) plus(o cpuTimes) cpuTimes {
	return cpuTimes{client: t.client + o.client, kairship: t.kairship + o.kairship, index: t.index + o.index, global: t.global + o.global}
}

// cpuFigures is CPU time for one operation, in milliseconds, by process.
type cpuFigures struct {
	Client   float64 `json:"clientMillis"`
	Kairship float64 `json:"kairshipMillis"`
	Index    float64 `json:"indexMillis"`
	Global   float64 `json:"globalApiserverMillis"`
}

func (t cpuTimes) each(ops int) cpuFigures {
	one := func(d time.Duration) float64 { return millis(d) / float64(ops) }
	return cpuFigures{Client: one(t.client), Kairship: one(t.kairship), Index: one(t.index), Global: one(t.global)}
}
