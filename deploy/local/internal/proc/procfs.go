package proc

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// procRoot is where the kernel shows its processes.
const procRoot = "/proc"

// stat is what the fleet needs of /proc/<pid>/stat.
type stat struct {
	state      byte // R, S, D, Z (a zombie: dead, not yet waited for), ...
	startTicks uint64
	rssPages   uint64
}

// parseStat reads the one line of /proc/<pid>/stat. The second field is the program's name in
// parentheses and may contain anything, so counting begins behind the last parenthesis.
func parseStat(line string) (stat, error) {
	end := strings.LastIndexByte(line, ')')
	if end < 0 {
		return stat{}, fmt.Errorf("no program name in %q", line)
	}
	fields := strings.Fields(line[end+1:]) // the first is field 3, the state
	if len(fields) < 22 {
		return stat{}, fmt.Errorf("%d fields behind the program name in %q, want at least 22", len(fields), line)
	}
	start, err := strconv.ParseUint(fields[19], 10, 64)
	if err != nil {
		return stat{}, fmt.Errorf("start time: %w", err)
	}
	rss, err := strconv.ParseUint(fields[21], 10, 64)
	if err != nil {
		return stat{}, fmt.Errorf("resident pages: %w", err)
	}
	return stat{state: fields[0][0], startTicks: start, rssPages: rss}, nil
}

func readStat(pid int) (stat, error) {
	line, err := os.ReadFile(fmt.Sprintf("%s/%d/stat", procRoot, pid))
	if err != nil {
		return stat{}, err
	}
	return parseStat(string(line))
}

// cmdline returns the arguments of a process; none for a kernel thread or a zombie.
func cmdline(pid int) []string {
	content, err := os.ReadFile(fmt.Sprintf("%s/%d/cmdline", procRoot, pid))
	if err != nil || len(content) == 0 {
		return nil
	}
	var args []string
	for arg := range bytes.SplitSeq(bytes.TrimRight(content, "\x00"), []byte{0}) {
		args = append(args, string(arg))
	}
	return args
}

// same decides whether what the kernel shows under a pid is the recorded process.
func same(record Record, s stat, args []string) bool {
	return s.state != 'Z' && s.state != 'X' && s.startTicks == record.StartTicks && len(args) > 0 && args[0] == record.Program
}

// Alive says whether the recorded process runs.
func Alive(record Record) bool {
	s, err := readStat(record.PID)
	return err == nil && same(record, s, cmdline(record.PID))
}

// Usage is what a running process costs.
type Usage struct {
	RSS    uint64 // bytes
	Uptime time.Duration
	// Outdated says that the program's file was replaced since the process started.
	Outdated bool
}

// UsageOf measures a recorded process.
func UsageOf(record Record) (Usage, error) {
	s, err := readStat(record.PID)
	if err != nil {
		return Usage{}, err
	}
	return Usage{
		RSS:      s.rssPages * uint64(os.Getpagesize()), //nolint:gosec // a page has a positive size
		Uptime:   time.Since(record.Started),
		Outdated: outdated(record),
	}, nil
}

// outdated compares the file that a process runs with the one that a start would run now.
func outdated(record Record) bool {
	runs, err := os.Readlink(fmt.Sprintf("%s/%d/exe", procRoot, record.PID))
	if err != nil {
		return false // another user's process
	}
	would, err := filepath.EvalSymlinks(record.Program)
	return err == nil && runs != would // a file that was replaced is shown as "... (deleted)"
}

// Args returns the program and the arguments of a recorded process.
func Args(record Record) []string { return cmdline(record.PID) }
