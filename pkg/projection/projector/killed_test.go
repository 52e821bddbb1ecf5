package projector

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"

	"github.com/kairship-io/kairship/pkg/projection"
	"github.com/kairship-io/kairship/pkg/projection/projectiontest"
)

// asProcess is the variable with the DSN for which this program is a projector.
const asProcess = "KAIRSHIP_TEST_PROJECTOR"

func TestMain(m *testing.M) {
	if dsn := os.Getenv(asProcess); dsn != "" {
		db, err := projection.Open(dsn)
		if err == nil {
			err = (&Projector{DB: db, Log: logr.Discard(), Metrics: NewMetrics(), CheckInterval: time.Hour}).Run(context.Background())
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	projectiontest.Main(m)
}

// process starts a projector in a process of its own.
func process(t *testing.T, index *projectiontest.Database) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asProcess+"="+index.DSN)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// kill ends a process as the machine's failure would.
func kill(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// copy is the template under another name, with images that say which version it is.
func (c *captured) copy(n, version int) projectiontest.Object {
	o := c.objects["template"]
	o.Name, o.ResourceVersion = fmt.Sprintf("web-%d", n), fmt.Sprint(version)
	o.Text = strings.ReplaceAll(o.Text, `"name": "frontend"`, fmt.Sprintf(`"name": %q`, o.Name))
	o.Text = strings.ReplaceAll(o.Text, "registry.example.com/shop/frontend:", fmt.Sprintf("registry.example.com/v%d:", version))
	return o
}

// hasCopies checks that the rows of so many copies are those of a version.
func (w *world) hasCopies(t *testing.T, c *captured, copies, version int) {
	t.Helper()
	want := fmt.Sprintf("registry.example.com/v%d:", version)
	for n := range copies {
		key := c.key
		key.Name = fmt.Sprintf("web-%d", n)
		if row := w.row(t, key); row == nil || !strings.HasPrefix(row.Images[0], want) {
			t.Fatalf("%s: the row is %+v, want version %d", key.Name, row, version)
		}
	}
}

// TestKilled checks that two concurrent projectors, of which one after the other is killed while
// the collector writes, lose nothing and leave no row that differs. The collector gets no error.
func TestKilled(t *testing.T) {
	const (
		workloads = 60
		kills     = 6
	)
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		w := newWorld(t, index)
		c := load(t, "frontend")
		w.save(t, c)
		first, second := process(t, index), process(t, index)
		stop, done := make(chan struct{}), make(chan error, 1)
		versions := 0
		go func() {
			for version := 1; ; version++ {
				for n := range workloads {
					if err := index.TrySave(context.Background(), c.copy(n, version)); err != nil {
						done <- err
						return
					}
				}
				versions = version
				select {
				case <-stop:
					done <- nil
					return
				default:
				}
			}
		}()
		for range kills {
			time.Sleep(300 * time.Millisecond)
			kill(first)
			first, second = second, process(t, index)
		}
		close(stop)
		err := <-done
		kill(first)
		kill(second)
		if err != nil {
			t.Fatalf("the collector: %v", err)
		}
		w.drain(t)
		w.hasCopies(t, c, workloads, versions)
		if n := index.Number(t, "SELECT count(*) FROM kairship.outbox"); n != 0 {
			t.Errorf("%d changes are left", n)
		}
		w.agrees(t, "after all kills", 0)
	})
}

// TestRestarted: a database that goes while the collector writes and the projector works
// loses nothing, and both go on.
func TestRestarted(t *testing.T) {
	const (
		workloads = 40
		restarts  = 3
	)
	index := projectiontest.Postgres(t)
	w := newWorld(t, index)
	c := load(t, "frontend")
	w.save(t, c)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan int)
	go func() {
		failures := 0
		for ; ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
			if err := w.Run(ctx); err != nil && ctx.Err() == nil {
				failures++
			}
		}
		ended <- failures
	}()
	for version := range restarts + 1 {
		for n := range workloads {
			if version < restarts && n == workloads/2 {
				projectiontest.Restart(t)
			}
			until(t, "the collector can write", func() bool { return index.TrySave(ctx, c.copy(n, version)) == nil })
		}
	}
	cancel()
	if failures := <-ended; failures == 0 {
		t.Error("the projector has noticed nothing")
	}
	w.drain(t)
	w.hasCopies(t, c, workloads, restarts)
	w.agrees(t, "after all restarts", 0)
}

// TestRun checks that a projector keeps the projection, creates a dropped trigger again and
// rebuilds, and ends with its context.
func TestRun(t *testing.T) {
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		c := load(t, "frontend")
		p := open(t, index)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		p.CheckInterval = 200 * time.Millisecond
		go func() { ended <- p.Run(ctx) }()
		state := func(want string) func() bool {
			return func() bool {
				got, _, err := p.DB.State(ctx)
				return err == nil && got == want
			}
		}
		until(t, "the projection is complete", state(projection.Complete))
		w := &world{p, index}
		on := ""
		if index.Postgres {
			on = " ON resources"
		}
		index.Exec(t, "DROP TRIGGER kairship_inserted"+on)
		if err := p.DB.SetCollections(ctx, c.members); err != nil {
			t.Fatal(err)
		}
		for _, o := range c.objects {
			index.Save(t, o)
		}
		until(t, "what no trigger recorded is projected", func() bool {
			if len(ended) > 0 {
				t.Fatalf("the projector ended: %v", <-ended)
			}
			return w.differs(t, c) == "" && index.Number(t, "SELECT count(*) FROM kairship.outbox") == 0
		})
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		w.drain(t)
		w.is(t, "in the end", c)
	})
}

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !is(); {
		if time.Now().After(deadline) {
			t.Fatalf("it is never true that %s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
