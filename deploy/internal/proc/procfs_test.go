package proc

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/procfs"

	"github.com/kairship-io/kairship/internal/poll"
)

func TestStatOfAnyName(t *testing.T) {
	program, err := os.ReadFile("/bin/sleep")
	if err != nil {
		t.Skip("no /bin/sleep to copy")
	}
	for name, reason := range map[string]string{
		"etcd":         "an ordinary name",
		"tmux: server": "a name with spaces",
		"a) R (b":      "a name with parentheses, which stand around it in the kernel's line",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, program, 0o755); err != nil {
				t.Fatal(err)
			}
			records := Records{Dir: filepath.Join(dir, "pids")}
			p, err := Start(Command{Name: "sleep", Path: path, Args: []string{"60"}, Log: filepath.Join(dir, "log")}, records)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = Signal(p.Record, syscall.SIGKILL); <-p.Exited })
			// Its arguments are there a moment after it was started.
			poll.True(t, 10*time.Second, "the process is found again: "+reason, func() bool { return Alive(p.Record) })
		})
	}
}

func TestUsage(t *testing.T) {
	usage, err := UsageOf(Record{PID: os.Getpid()})
	if err != nil || usage.RSS == 0 || usage.RSS%uint64(os.Getpagesize()) != 0 {
		t.Errorf("UsageOf this test = %+v, %v; want whole pages of memory", usage, err)
	}
}

func TestSame(t *testing.T) {
	record := Record{PID: 12, StartTicks: 100, Program: "/bin/etcd"}
	for _, tc := range []struct {
		reason string
		stat   procfs.ProcStat
		args   []string
		want   bool
	}{
		{"it is the process", procfs.ProcStat{State: "S", Starttime: 100}, []string{"/bin/etcd", "--x"}, true},
		{"the pid was given to a later process", procfs.ProcStat{State: "S", Starttime: 101}, []string{"/bin/etcd"}, false},
		{"a zombie has ended, whatever its entry says", procfs.ProcStat{State: "Z", Starttime: 100}, []string{"/bin/etcd"}, false},
		{"another program at the same tick, after a reboot", procfs.ProcStat{State: "S", Starttime: 100}, []string{"/bin/sh"}, false},
		{"no arguments can be read: a kernel thread, or just gone", procfs.ProcStat{State: "S", Starttime: 100}, nil, false},
	} {
		if got := same(record, tc.stat, tc.args); got != tc.want {
			t.Errorf("same = %t, want %t: %s", got, tc.want, tc.reason)
		}
	}
}

func TestListeningInodes(t *testing.T) {
	table := `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:403B 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4242 1 0000000000000000 100 0 0 10 0
   1: 00000000:403B 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4243 1 0000000000000000 100 0 0 10 0
   2: 0100007F:403B 0100007F:D4B4 01 00000000:00000000 00:00000000 00000000     0        0 4244 1 0000000000000000 100 0 0 10 0
   3: 0100007F:D4B4 0100007F:403B 06 00000000:00000000 00:00000000 00000000     0        0 0 1 0000000000000000 100 0 0 10 0
   4: 0100007F:403C 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4245 1 0000000000000000 100 0 0 10 0
`
	got := listeningInodes(table, 16443)
	want := []string{"4242", "4243"} // every address counts, a connection does not
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := listeningInodes(table, 80); got != nil {
		t.Errorf("no process listens on 80, yet there are %v", got)
	}
}

func TestPortHolderIsFound(t *testing.T) {
	port, release := listen(t)
	if free, err := PortFree(port); err != nil || free {
		t.Fatalf("PortFree = %t, %v while a process listens", free, err)
	}
	holder := PortHolder(port)
	if len(holder.Args) == 0 || !strings.Contains(holder.String(), holder.Args[0]) {
		t.Errorf("the holder is %q, want this test with its command", holder)
	}
	release()
	if free, err := PortFree(port); err != nil || !free {
		t.Errorf("PortFree = %t, %v after the listener has closed", free, err)
	}
}
