package build

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// clock is a time that tests move.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time          { return c.now }
func (c *clock) advance(d time.Duration) { c.now = c.now.Add(d) }

func TestPlainProgress(t *testing.T) {
	var out bytes.Buffer
	time0 := &clock{now: time.Unix(1000, 0)}
	d := newDisplay(&out, false, time0.Now)
	d.Add("etcd")
	d.Add("kubectl")
	d.Set("etcd", Row{State: Preparing})
	d.Set("etcd", Row{State: Compiling, Total: 125})
	time0.advance(10 * time.Second)
	d.tick()
	d.Set("etcd", Row{State: Compiling, Done: 40, Total: 125})
	time0.advance(6 * time.Second)
	d.tick()
	time0.advance(time.Second)
	d.tick()
	d.Set("etcd", Row{State: Done, Done: 125, Total: 125})
	d.Set("etcd", Row{State: Compiling, Done: 1, Total: 125}) // a late line of the go tool
	time0.advance(70 * time.Second)
	d.Set("kubectl", Row{State: Failed})
	d.Close()

	want := []string{
		"    0s  etcd: compiling up to 125 packages",
		"   16s  0 of 2 built; etcd 40/125", // one heartbeat, not one per tick, and none before 15 s
		"   17s  etcd: done after 17s",
		" 1m27s  kubectl: failed after 0s",
	}
	if diff := cmp.Diff(want, strings.Split(strings.TrimRight(out.String(), "\n"), "\n")); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

func TestTerminalProgressDrawsOverItself(t *testing.T) {
	var out bytes.Buffer
	time0 := &clock{now: time.Unix(1000, 0)}
	d := newDisplay(&out, true, time0.Now)
	d.Add("etcd")
	d.Set("etcd", Row{State: Compiling, Done: 50, Total: 100})
	first := out.String()
	if lines := strings.Count(first, "\n"); lines != 3 { // heading, one row, total
		t.Fatalf("the table has %d lines:\n%s", lines, first)
	}
	for _, want := range []string{"etcd", "compiling", "[##########..........]", "50/100", "0 of 1 built"} {
		if !strings.Contains(first, want) {
			t.Errorf("the table lacks %q:\n%s", want, first)
		}
	}
	out.Reset()
	d.Set("etcd", Row{State: Done, Done: 100, Total: 100})
	if !strings.HasPrefix(out.String(), "\x1b[3A\x1b[J") {
		t.Errorf("the second table does not begin by moving up over the first: %q", out.String())
	}
	out.Reset()
	d.Say("a line")
	if text := out.String(); strings.Index(text, "a line") > strings.Index(text, "COMPONENT") {
		t.Errorf("the line is not above the table, where it would stay: %q", text)
	}
	out.Reset()
	for range 50 {
		d.Set("etcd", Row{State: Done})
	}
	if out.Len() > 0 {
		t.Error("a finished row was drawn again and again")
	}
}

func TestSeconds(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                        "0s",
		59400 * time.Millisecond: "59s",
		60 * time.Second:         "1m00s",
		725 * time.Second:        "12m05s",
	} {
		if got := seconds(d); got != want {
			t.Errorf("seconds(%v) = %s, want %s", d, got, want)
		}
	}
}

func TestBar(t *testing.T) {
	for _, tc := range []struct {
		row  Row
		want string
	}{
		{Row{State: Waiting}, "[....]"},
		{Row{State: Compiling, Done: 1, Total: 3}, "[#...]"},
		{Row{State: Linking, Done: 3, Total: 3}, "[####]"},
		{Row{State: Cached}, "[####]"},                    // nothing was counted, all is there
		{Row{State: Failed, Done: 2, Total: 4}, "[##..]"}, // where it stopped
		{Row{State: Downloading, Done: 7}, "[....]"},      // the total is not known
	} {
		if got := bar(tc.row, 4); got != tc.want {
			t.Errorf("bar(%+v) = %s, want %s", tc.row, got, tc.want)
		}
	}
}
