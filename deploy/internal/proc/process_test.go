package proc

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kairship-io/kairship/internal/poll"
)

func listen(t *testing.T) (port int, release func()) {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener.Addr().(*net.TCPAddr).Port, func() { _ = listener.Close() }
}

// shell starts a shell with a script and returns it once it has printed "up".
func shell(t *testing.T, records Records, script string) *Process {
	t.Helper()
	log := filepath.Join(t.TempDir(), "sub", "sh.log")
	p, err := Start(Command{Name: "sh", Path: "/bin/sh", Args: []string{"-c", script}, Env: os.Environ(), Dir: "/", Log: log}, records)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = Signal(p.Record, syscall.SIGKILL); <-p.Exited })
	for !strings.HasSuffix(LogTail(log, 1), "up") {
		select {
		case <-p.Exited:
			t.Fatalf("the shell ended: %v", p.err)
		case <-t.Context().Done():
			t.Fatal("the shell does not come up")
		case <-time.After(5 * time.Millisecond):
		}
	}
	return p
}

// What another program becomes is known by its own name, or nothing would find it again.
func TestThroughAnotherProgram(t *testing.T) {
	records := Records{Dir: t.TempDir()}
	p, err := Start(Command{
		Name: "sleep", Through: []string{"/bin/sh", "-c", `exec "$@"`, "sh"}, Path: "/bin/sleep", Args: []string{"60"}, Log: filepath.Join(t.TempDir(), "log"),
	}, records)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = Signal(p.Record, syscall.SIGKILL); <-p.Exited })
	poll.Until(t, 10*time.Second, "the process is found", func(context.Context) error {
		record, running, err := records.Running("sleep")
		if err != nil {
			return poll.Stop(err)
		}
		if !running {
			return errors.New("it is not running")
		}
		if got, want := Args(record), []string{"/bin/sleep", "60"}; !slices.Equal(got, want) {
			t.Errorf("its arguments are %q, want %q", got, want)
		}
		return nil
	})
}

func TestStopIsGentleFirst(t *testing.T) {
	records := Records{Dir: t.TempDir()}
	p := shell(t, records, `trap 'exit 7' TERM; echo up; while :; do sleep 0.01; done`)
	record, running, err := records.Running("sh")
	if err != nil || !running || record.PID != p.PID {
		t.Fatalf("Running = %+v, %t, %v, want the started process", record, running, err)
	}
	killed, err := Stop(t.Context(), record, syscall.SIGTERM, 10*time.Second)
	if err != nil || killed {
		t.Fatalf("Stop: killed %t, %v; want it to end on SIGTERM", killed, err)
	}
	<-p.Exited
	if code := p.err.(interface{ ExitCode() int }).ExitCode(); code != 7 {
		t.Errorf("exit code %d: the process's own handler did not run", code)
	}
	if _, running, err := records.Running("sh"); err != nil || running {
		t.Errorf("a stopped process counts as running (%v)", err)
	}
}

func TestStopKillsWhatDoesNotListen(t *testing.T) {
	records := Records{Dir: t.TempDir()}
	p := shell(t, records, `trap '' TERM; echo up; while :; do sleep 0.01; done`)
	killed, err := Stop(t.Context(), p.Record, syscall.SIGTERM, 50*time.Millisecond)
	if err != nil || !killed {
		t.Errorf("Stop: killed %t, %v; want SIGKILL after the grace period", killed, err)
	}
}

func TestAnotherProcessIsNeverSignalled(t *testing.T) {
	records := Records{Dir: t.TempDir()}
	p := shell(t, records, `echo up; while :; do sleep 0.01; done`)
	stale := p.Record
	stale.StartTicks-- // an earlier process that had the same pid
	if _, err := Stop(t.Context(), stale, syscall.SIGKILL, time.Second); err != nil {
		t.Fatal(err)
	}
	if !Alive(p.Record) {
		t.Fatal("a process was killed by the record of another one")
	}
}

func TestRecords(t *testing.T) {
	records := Records{Dir: filepath.Join(t.TempDir(), "pids")}
	if names, err := records.Names(); err != nil || names != nil {
		t.Errorf("a fleet that never ran has the processes %v (%v)", names, err)
	}
	if _, ok, err := records.Load("etcd"); ok || err != nil {
		t.Errorf("Load without a record: %t, %v", ok, err)
	}
	for _, name := range []string{"m1-kcm", "etcd"} {
		if err := records.save(Record{Name: name, PID: 1, StartTicks: 2, Program: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	if names, err := records.Names(); err != nil || strings.Join(names, " ") != "etcd m1-kcm" {
		t.Errorf("Names = %v, %v", names, err)
	}
	if err := os.WriteFile(filepath.Join(records.Dir, "etcd"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := records.Running("etcd"); err == nil || !strings.Contains(err.Error(), records.Dir) {
		t.Errorf("a damaged record gives %v, want an error that names the file: the process may still run", err)
	}
	for range 2 {
		if err := records.Remove("etcd"); err != nil {
			t.Errorf("Remove: %v", err)
		}
	}
}

func TestALargeLogIsSetAside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.log")
	file, err := openLog(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Truncate(maxLog + 1); err != nil {
		t.Fatal(err)
	}
	_ = file.Close()
	file, err = openLog(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	if info, err := file.Stat(); err != nil || info.Size() != 0 {
		t.Errorf("the log is %d bytes long (%v), want a new one", info.Size(), err)
	}
	if info, err := os.Stat(path + ".1"); err != nil || info.Size() != maxLog+1 {
		t.Errorf("the old log was not kept: %v", err)
	}
}

func TestOutdated(t *testing.T) {
	dir := t.TempDir()
	program, err := os.ReadFile("/bin/sleep")
	if err != nil {
		t.Skip("no /bin/sleep to copy")
	}
	first, second, link := filepath.Join(dir, "first"), filepath.Join(dir, "second"), filepath.Join(dir, "link")
	for _, path := range []string{first, second} {
		if err := os.WriteFile(path, program, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(first, link); err != nil {
		t.Fatal(err)
	}
	p, err := Start(Command{Name: "sleep", Path: link, Args: []string{"60"}, Log: filepath.Join(dir, "log")}, Records{Dir: filepath.Join(dir, "pids")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = Signal(p.Record, syscall.SIGKILL); <-p.Exited })
	if outdated(p.Record) {
		t.Error("a program that was just started is called outdated")
	}
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(second, link); err != nil {
		t.Fatal(err)
	}
	if !outdated(p.Record) {
		t.Error("the link leads to another build, and no message says so")
	}
}
