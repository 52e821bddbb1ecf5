package proc

import (
	"path/filepath"
	"time"

	"github.com/prometheus/procfs"
)

// stat reads what the kernel shows of a process.
func stat(pid int) (procfs.ProcStat, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return procfs.ProcStat{}, err
	}
	return p.Stat()
}

// cmdline returns the arguments of a process; none for a kernel thread or a zombie.
func cmdline(pid int) []string {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return nil
	}
	args, err := p.CmdLine()
	if err != nil {
		return nil
	}
	return args
}

// same decides whether what the kernel shows under a pid is the recorded process.
func same(record Record, s procfs.ProcStat, args []string) bool {
	return s.State != "Z" && s.State != "X" && s.Starttime == record.StartTicks && len(args) > 0 && args[0] == record.Program
}

// Alive reports whether the recorded process runs.
func Alive(record Record) bool {
	s, err := stat(record.PID)
	return err == nil && same(record, s, cmdline(record.PID))
}

// Usage is what a running process costs.
type Usage struct {
	RSS    uint64 // bytes
	Uptime time.Duration
	// Outdated reports whether the program's file was replaced since the process started.
	Outdated bool
}

// UsageOf measures a recorded process.
func UsageOf(record Record) (Usage, error) {
	s, err := stat(record.PID)
	if err != nil {
		return Usage{}, err
	}
	return Usage{
		RSS:      uint64(s.ResidentMemory()), //nolint:gosec // No process has less than nothing.
		Uptime:   time.Since(record.Started),
		Outdated: outdated(record),
	}, nil
}

// outdated compares the file that a process runs with the one that a start would run now.
func outdated(record Record) bool {
	p, err := procfs.NewProc(record.PID)
	if err != nil {
		return false // The process has ended.
	}
	runs, err := p.Executable()
	if err != nil || runs == "" {
		return false // another user's process
	}
	would, err := filepath.EvalSymlinks(record.Program)
	return err == nil && runs != would // a file that was replaced is shown as "... (deleted)"
}

// Args returns the program and the arguments of a recorded process.
func Args(record Record) []string { return cmdline(record.PID) }
