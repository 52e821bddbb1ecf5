package fleet

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/procfs"
)

// stopsWithin bounds how long the threads of a process take to stop.
const stopsWithin = 10 * time.Second

// processRecord is what the fleet wrote down of a process.
type processRecord struct {
	PID        int    `json:"pid"`
	StartTicks uint64 `json:"startTicks"`
}

// PID is the process id of one of the fleet's processes, which must be running.
func (f *Fleet) PID(t testing.TB, name string) int {
	t.Helper()
	pid, err := f.running(name)
	if err != nil {
		t.Fatalf("%s does not run: %v", name, err)
	}
	return pid
}

// running is the process id of one of the fleet's processes; an error when it ended.
func (f *Fleet) running(name string) (pid int, err error) {
	raw, err := os.ReadFile(filepath.Join(f.PIDs, name))
	if err != nil {
		return 0, err
	}
	var r processRecord
	if err := json.Unmarshal(raw, &r); err != nil {
		return 0, fmt.Errorf("reading its record: %w", err)
	}
	stat, err := statOf(r.PID)
	switch {
	case err != nil:
		return 0, err
	case stat.Starttime != r.StartTicks:
		return 0, fmt.Errorf("process %d is another one", r.PID)
	case stat.State == "Z":
		return 0, fmt.Errorf("process %d has ended", r.PID)
	}
	return r.PID, nil
}

// Ended are the names of the fleet's processes that do not run: some end on
// their own, as when they lose the lead, and rely on being started again.
func (f *Fleet) Ended(t testing.TB) []string {
	t.Helper()
	ended, err := f.ended()
	if err != nil {
		t.Fatal(err)
	}
	return ended
}

func (f *Fleet) ended() ([]string, error) {
	records, err := os.ReadDir(f.PIDs)
	if err != nil {
		return nil, err
	}
	var ended []string
	for _, record := range records {
		if _, err := f.running(record.Name()); err != nil {
			ended = append(ended, record.Name())
		}
	}
	return ended, nil
}

// startEnded starts what the suite before left to end: who loses the lead on a busy
// machine goes on for some seconds, and ends after that suite.
func (f *Fleet) startEnded() error {
	ended, err := f.ended()
	if err != nil || len(ended) == 0 {
		return err
	}
	fmt.Fprintf(os.Stderr, "%q ended before this suite, and are started\n", ended)
	if out, err := f.control("start"); err != nil {
		return fmt.Errorf("starting what ended: %w\n%s", err, out)
	}
	return nil
}

// statOf reads what the kernel shows of a process.
func statOf(pid int) (procfs.ProcStat, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return procfs.ProcStat{}, err
	}
	return p.Stat()
}

// Args is the command line of one of the fleet's processes.
func (f *Fleet) Args(t testing.TB, name string) []string {
	t.Helper()
	p, err := procfs.NewProc(f.PID(t, name))
	if err != nil {
		t.Fatal(err)
	}
	args, err := p.CmdLine()
	if err != nil {
		t.Fatal(err)
	}
	return args
}

// Signal sends a signal to one of the fleet's processes.
func (f *Fleet) Signal(t testing.TB, name string, signal syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(f.PID(t, name), signal); err != nil {
		t.Fatalf("sending %s to %s: %v", signal, name, err)
	}
}

// Kill kills processes of the fleet, as kill -9 does, and waits until they have
// ended. The fleet is healed when the test ends.
func (f *Fleet) Kill(t testing.TB, names ...string) {
	t.Helper()
	t.Cleanup(func() { f.Heal(t) })
	for _, name := range names {
		f.End(t, name, syscall.SIGKILL)
	}
}

// endsWithin bounds how long a process may take to end: a little longer than any
// of them waits for its work in progress.
const endsWithin = 40 * time.Second

// End sends a signal to a process that ends it, and waits until it has ended. The
// fleet stays without it.
func (f *Fleet) End(t testing.TB, name string, signal syscall.Signal) {
	t.Helper()
	pid := f.PID(t, name)
	f.Signal(t, name, signal)
	f.Gone(t, name, pid, endsWithin)
}

// Gone waits until a process has ended, on its own or otherwise.
func (f *Fleet) Gone(t testing.TB, name string, pid int, within time.Duration) {
	t.Helper()
	for deadline := time.Now().Add(within); runs(pid); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s did not end within %s", name, within)
		}
	}
}

// runs reports whether a process has not ended.
func runs(pid int) bool {
	stat, err := statOf(pid)
	return err == nil && stat.State != "Z"
}

// Freeze stops a process without ending it: its port stays open, and nothing
// answers. It goes on when the test ends, or when thaw is called. Freeze waits for
// every thread: on a busy machine some serve requests for milliseconds after the signal.
func (f *Fleet) Freeze(t testing.TB, name string) (thaw func()) {
	t.Helper()
	pid := f.PID(t, name)
	f.Signal(t, name, syscall.SIGSTOP)
	thaw = sync.OnceFunc(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
	t.Cleanup(thaw)
	for deadline := time.Now().Add(stopsWithin); !stopped(pid); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s has threads that run %s after SIGSTOP", name, stopsWithin)
		}
	}
	return thaw
}

// stopped reports whether all threads of a process are stopped.
func stopped(pid int) bool {
	threads, err := procfs.AllThreads(pid)
	if err != nil || len(threads) == 0 {
		return false
	}
	for _, thread := range threads {
		if stat, err := thread.Stat(); err == nil && stat.State != "T" && stat.State != "Z" {
			return false
		}
	}
	return true
}

// program is what runs the fleet.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "kairship-suite-")
	if err != nil {
		return "", err
	}
	AtEnd(func() { _ = os.RemoveAll(dir) })
	root, err := Root()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "local")
	build := exec.Command("go", "build", "-o", path, "./deploy/local")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building deploy/local: %w\n%s", err, out)
	}
	return path, nil
})

// Root is the repository's folder.
func Root() (string, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("finding the repository: %w", err)
	}
	return filepath.Dir(strings.TrimSpace(string(out))), nil
}

// Heal starts what does not run and waits until all is ready.
func (f *Fleet) Heal(t testing.TB) {
	t.Helper()
	const attempts = 3
	for attempt := 1; ; attempt++ {
		out, err := f.control("start")
		ended := f.Ended(t)
		if err == nil && len(ended) == 0 {
			return
		}
		// One that has just lost the lead runs for some seconds yet, and is taken for well.
		if len(ended) == 0 || attempt == attempts {
			t.Fatalf("starting what ended: %v; %q do not run\n%s", err, ended, out)
		}
		t.Logf("%q ended while the fleet was healed, which is done again", ended)
	}
}

// Start starts one process that does not run, and waits until it is ready.
func (f *Fleet) Start(t testing.TB, name string) {
	t.Helper()
	f.run(t, "start", name)
}

// Restart ends one process as a rollout does, and waits until its successor is ready.
func (f *Fleet) Restart(t testing.TB, name string) {
	t.Helper()
	f.run(t, "restart", name)
}

func (f *Fleet) run(t testing.TB, args ...string) {
	t.Helper()
	if out, err := f.control(args...); err != nil {
		t.Fatalf("%s of the fleet: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// control runs a command of the program that runs the fleet.
func (f *Fleet) control(args ...string) (out []byte, err error) {
	path, err := program()
	if err != nil {
		return nil, err
	}
	root, err := Root()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path, append(args, "--dir", f.Dir)...)
	cmd.Dir = root
	return cmd.CombinedOutput()
}
