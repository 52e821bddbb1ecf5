package build

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// State is how far a binary's build has come.
type State string

// The states in the order in which a binary goes through them.
const (
	Waiting     State = "waiting"
	Preparing   State = "preparing"
	Downloading State = "downloading" // Done counts the modules so far; their total is unknown
	Compiling   State = "compiling"
	Linking     State = "linking"
	Done        State = "done"
	Cached      State = "cached"
	Failed      State = "failed"
)

func (s State) final() bool { return s == Done || s == Cached || s == Failed }

// Row is what is known of one binary's build.
type Row struct {
	State State
	// Done and Total count packages.
	Done, Total int
}

// Progress is told what the build does.
type Progress interface {
	// Add announces a binary that will be built.
	Add(name string)
	// Set replaces what is known of a binary.
	Set(name string, row Row)
	// Say prints one line.
	Say(text string)
	// Close leaves the last state on the screen.
	Close()
}

// heartbeat is how often a build without a terminal reports that it is alive.
const heartbeat = 15 * time.Second

// display implements Progress: on a terminal a table that is drawn over itself, elsewhere one line
// per binary begun and finished, and a heartbeat.
type display struct {
	out      io.Writer
	terminal bool
	now      func() time.Time

	mu       sync.Mutex
	begun    time.Time
	names    []string
	rows     map[string]*timedRow
	drawn    int // lines of the table on the screen
	lastDraw time.Time
	lastBeat time.Time
	stop     func()
}

type timedRow struct {
	Row
	begun, ended time.Time
}

// NewDisplay shows progress on out.
func NewDisplay(out *os.File) Progress {
	d := newDisplay(out, term.IsTerminal(int(out.Fd())), time.Now)
	d.stop = every(time.Second, d.tick)
	return d
}

func newDisplay(out io.Writer, terminal bool, now func() time.Time) *display {
	return &display{out: out, terminal: terminal, now: now, begun: now(), lastBeat: now(), rows: map[string]*timedRow{}, stop: func() {}}
}

func (d *display) Add(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.names = append(d.names, name)
	d.rows[name] = &timedRow{Row: Row{State: Waiting}}
}

func (d *display) Set(name string, row Row) {
	d.mu.Lock()
	defer d.mu.Unlock()
	old, ok := d.rows[name]
	if !ok || old.State.final() {
		return
	}
	before := old.State
	if row.State == Done && row.Total == 0 {
		row.Done, row.Total = old.Total, old.Total // all of it, as far as it was counted
	}
	old.Row = row
	now := d.now()
	if old.begun.IsZero() {
		old.begun = now
	}
	if row.State.final() {
		old.ended = now
	}
	if d.terminal {
		if before != row.State || now.Sub(d.lastDraw) > 100*time.Millisecond {
			d.draw()
		}
		return
	}
	if before == row.State {
		return
	}
	switch {
	case row.State == Compiling:
		d.println(fmt.Sprintf("%s: compiling up to %d packages", name, row.Total))
	case row.State.final():
		d.println(fmt.Sprintf("%s: %s after %s", name, row.State, seconds(old.ended.Sub(old.begun))))
	}
}

func (d *display) Say(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.erase()
	d.println(text)
	if d.terminal {
		d.draw()
	}
}

func (d *display) Close() {
	d.stop()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.terminal {
		d.draw()
		d.drawn = 0
	}
}

// tick keeps the clock of the table going, or the heartbeat.
func (d *display) tick() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.terminal {
		d.draw()
		return
	}
	if now := d.now(); now.Sub(d.lastBeat) >= heartbeat {
		if text := d.summary(); text != "" {
			d.println(text)
		}
	}
}

// println prints a line with the time since the beginning in front, and counts as a heartbeat.
func (d *display) println(text string) {
	now := d.now()
	d.lastBeat = now
	_, _ = fmt.Fprintf(d.out, "%6s  %s\n", seconds(now.Sub(d.begun)), text)
}

// summary is the heartbeat's line: what is being done, and how far it has come.
func (d *display) summary() string {
	finished, busy := 0, []string{}
	for _, name := range d.names {
		row := d.rows[name]
		switch {
		case row.State.final():
			finished++
		case row.State == Compiling:
			busy = append(busy, fmt.Sprintf("%s %d/%d", name, row.Done, row.Total))
		case row.State == Downloading:
			busy = append(busy, fmt.Sprintf("%s: %d modules downloaded", name, row.Done))
		case row.State != Waiting:
			busy = append(busy, fmt.Sprintf("%s %s", name, row.State))
		}
	}
	if len(busy) == 0 {
		return ""
	}
	if len(busy) > 4 {
		busy = append(busy[:4], fmt.Sprintf("and %d more", len(busy)-4))
	}
	return fmt.Sprintf("%d of %d built; %s", finished, len(d.names), strings.Join(busy, ", "))
}

// erase removes the table from the screen.
func (d *display) erase() {
	if d.terminal && d.drawn > 0 {
		_, _ = fmt.Fprintf(d.out, "\x1b[%dA\x1b[J", d.drawn)
		d.drawn = 0
	}
}

// draw replaces the table on the screen.
func (d *display) draw() {
	if len(d.names) == 0 {
		return
	}
	d.lastDraw = d.now()
	table := d.table()
	d.erase()
	_, _ = io.WriteString(d.out, table)
	d.drawn = strings.Count(table, "\n")
}

// table formats all rows, with the total at the end.
func (d *display) table() string {
	var b strings.Builder
	now := d.now()
	finished := 0
	fmt.Fprintf(&b, "%-34s %-12s %-22s %9s %8s\n", "COMPONENT", "STATE", "", "PACKAGES", "ELAPSED")
	for _, name := range d.names {
		row := d.rows[name]
		packages, elapsed := "", ""
		switch {
		case row.State == Downloading:
			packages = fmt.Sprintf("%d mods", row.Done)
		case row.Total > 0:
			packages = fmt.Sprintf("%d/%d", row.Done, row.Total)
		}
		if !row.begun.IsZero() {
			end := row.ended
			if end.IsZero() {
				end = now
			}
			elapsed = seconds(end.Sub(row.begun))
		}
		if row.State.final() {
			finished++
		}
		fmt.Fprintf(&b, "%-34s %-12s %-22s %9s %8s\n", name, row.State, bar(row.Row, 20), packages, elapsed)
	}
	fmt.Fprintf(&b, "%d of %d built, %s\n", finished, len(d.names), seconds(now.Sub(d.begun)))
	return b.String()
}

// bar draws how far a row has come, width characters between its brackets.
func bar(row Row, width int) string {
	filled := 0
	switch {
	case row.State == Done || row.State == Cached:
		filled = width
	case row.Total > 0:
		filled = width * row.Done / row.Total
	}
	return "[" + strings.Repeat("#", filled) + strings.Repeat(".", width-filled) + "]"
}

// seconds formats a duration for people: 7s, 2m05s.
func seconds(d time.Duration) string {
	s := int(d.Round(time.Second).Seconds())
	if s < 60 {
		return fmt.Sprintf("%ds", s)
	}
	return fmt.Sprintf("%dm%02ds", s/60, s%60)
}
