package proc

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseStat(t *testing.T) {
	// 52 fields, as proc(5) numbers them: the third is the state, the 22nd the start time, the 24th
	// the resident pages.
	tail := " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 987654 20 4321 22 23"
	for name, tc := range map[string]struct {
		line string
		want stat
		err  string
	}{
		"an ordinary name":          {"12 (etcd)" + tail, stat{'S', 987654, 4321}, ""},
		"a name with spaces":        {"12 (tmux: server)" + tail, stat{'S', 987654, 4321}, ""},
		"a name with a parenthesis": {"12 (a) R (b)" + tail, stat{'S', 987654, 4321}, ""},
		"a zombie":                  {"12 (etcd)" + strings.Replace(tail, "S", "Z", 1), stat{'Z', 987654, 4321}, ""},
		"not a stat line":           {"etcd", stat{}, "no program name"},
		"cut off":                   {"12 (etcd) S 1 2", stat{}, "3 fields"},
		"no number":                 {"12 (etcd)" + strings.Replace(tail, "987654", "x", 1), stat{}, "start time"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseStat(tc.line)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("error %v, want one that says %q", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(stat{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSame(t *testing.T) {
	record := Record{PID: 12, StartTicks: 100, Program: "/bin/etcd"}
	for _, tc := range []struct {
		reason string
		stat   stat
		args   []string
		want   bool
	}{
		{"it is the process", stat{state: 'S', startTicks: 100}, []string{"/bin/etcd", "--x"}, true},
		{"the pid was given to a later process", stat{state: 'S', startTicks: 101}, []string{"/bin/etcd"}, false},
		{"a zombie has ended, whatever its entry says", stat{state: 'Z', startTicks: 100}, []string{"/bin/etcd"}, false},
		{"another program at the same tick, after a reboot", stat{state: 'S', startTicks: 100}, []string{"/bin/sh"}, false},
		{"no arguments can be read: a kernel thread, or just gone", stat{state: 'S', startTicks: 100}, nil, false},
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
		t.Errorf("nobody listens on 80, yet there are %v", got)
	}
}

func TestPortHolderIsFound(t *testing.T) {
	port, release := listen(t)
	if free, err := PortFree(port); err != nil || free {
		t.Fatalf("PortFree = %t, %v while somebody listens", free, err)
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
