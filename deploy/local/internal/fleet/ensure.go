package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/kairship-io/kairship/deploy/internal/kube"
	"github.com/kairship-io/kairship/deploy/internal/proc"
)

// errGone is a process that ended while it was waited for.
var errGone = errors.New("it exited")

// ensure starts a process unless it runs, and waits until it is ready.
func (f *Fleet) ensure(ctx context.Context, p planned) error {
	if p.action == keep {
		err := f.awaitReady(ctx, p.process, func() bool { return !proc.Alive(p.record) })
		if !errors.Is(err, errGone) {
			return err
		}
		// It ran when the plan was made, and could not bear what was wrong with the fleet.
		f.report.Sayf("%-32s ended meanwhile; starting it again", p.name)
	}
	begun := time.Now()
	started, err := f.launch(p.process)
	if err != nil {
		return err
	}
	gone := func() bool {
		select {
		case <-started.Exited:
			return true
		default:
			return false
		}
	}
	if err := f.awaitReady(ctx, p.process, gone); err != nil {
		return err
	}
	f.report.Step(p.name, "started and ready", time.Since(begun))
	return nil
}

// launch starts a process and records it.
func (f *Fleet) launch(p process) (*proc.Process, error) {
	f.launched.Add(1)
	env := environment(f.paths.Root)
	// With a higher one the components take less of the processor, and more memory. Kairship is as it is elsewhere.
	if value, ok := os.LookupEnv("GOGC"); ok && !strings.HasPrefix(p.name, "kairship-") {
		env = append(env, "GOGC="+value)
	}
	return proc.Start(proc.Command{
		Name:       p.name,
		Through:    p.through,
		Path:       p.binary,
		Args:       p.args,
		Env:        env,
		Dir:        cmp.Or(p.dir, f.paths.Root),
		Log:        f.paths.Log(p.name),
		Credential: p.credential,
	}, f.records)
}

// environment is what the components see. Not the caller's: a proxy or a database setting in it
// (Clusterpedia reads DB_HOST and others) would lead them away from this machine.
func environment(home string) []string {
	env := []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8"}
	if temp, ok := os.LookupEnv("TMPDIR"); ok {
		env = append(env, "TMPDIR="+temp)
	}
	return env
}

// awaitReady waits until the process is ready, and fails early when it has ended.
func (f *Fleet) awaitReady(ctx context.Context, p process, gone func() bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyTimeout, fmt.Errorf("not ready after %s", readyTimeout))
	defer cancel()
	err := kube.Until(ctx, func() error {
		if gone() {
			return kube.Final(errGone)
		}
		return f.probe(ctx, p.ready)
	})
	if err == nil || errors.Is(err, context.Canceled) {
		return err // cancelled: something else failed, and that is what will be reported
	}
	return fmt.Errorf("%s: %w\nThe end of its log (%s):\n%s", p.name, err, f.paths.Log(p.name), indent(proc.LogTail(f.paths.Log(p.name), 15)))
}

// probe asks once whether a process is ready.
func (f *Fleet) probe(ctx context.Context, p probe) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if p.tcp != "" {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", p.tcp)
		if err != nil {
			return err
		}
		return conn.Close()
	}
	if len(p.command) > 0 {
		if out, err := exec.CommandContext(ctx, p.command[0], p.command[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", filepath.Base(p.command[0]), err, strings.TrimSpace(string(out)))
		}
		return nil
	}
	client := http.DefaultClient
	if p.cluster != "" {
		client = f.clients[p.cluster].HTTP()
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, 4096))
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s: %s", p.url, response.Status, firstFailure(string(body)))
	}
	return nil
}

// firstFailure picks the failed checks out of a verbose /readyz answer.
func firstFailure(body string) string {
	var failed []string
	for line := range strings.SplitSeq(body, "\n") {
		if check, ok := strings.CutPrefix(line, "[-]"); ok {
			failed = append(failed, check)
		}
	}
	if len(failed) > 0 {
		return strings.Join(failed, "; ")
	}
	return strings.TrimSpace(strings.SplitN(body, "\n", 2)[0])
}

// stop ends a process and forgets it.
func (f *Fleet) stop(ctx context.Context, record proc.Record, signal syscall.Signal) error {
	killed, err := proc.Stop(ctx, record, signal, stopGrace)
	if err != nil {
		return err
	}
	if killed {
		f.report.Sayf("%-32s did not stop within %s and was killed", record.Name, stopGrace)
	}
	return f.records.Remove(record.Name)
}

// stopSignalOf is the signal for a process of which only the name is known.
func stopSignalOf(name string) syscall.Signal {
	if name == postgresProcess {
		return syscall.SIGINT // its "fast" shutdown; SIGTERM waits for all clients to leave
	}
	return syscall.SIGTERM
}

func portsTaken(lines []string) error {
	if len(lines) == 0 {
		return nil
	}
	return fmt.Errorf("these ports of 127.0.0.1 are in use; nothing was started:\n%s\nStop what holds them, or give this fleet other ports with --port-base (and a folder of its own with --dir)",
		strings.Join(lines, "\n"))
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(text, "\n", "\n  ")
}
