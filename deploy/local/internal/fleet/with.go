package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/kairship-io/kairship/deploy/internal/build"
)

// With brings a new fleet up, runs a command against it, and takes the fleet down again whatever
// happened. The command finds the fleet by the variable KAIRSHIP_FLEET. The folder is removed when
// the command succeeded; otherwise it stays, for its logs.
func (f *Fleet) With(ctx context.Context, repository string, command []string, out io.Writer) error {
	unlock, err := build.Lock(ctx, f.paths.Lock("with"), func() {
		f.report.Sayf("another run is using the fleet in %s; waiting for its end", f.paths.Root)
	})
	if err != nil {
		return err
	}
	defer unlock()
	if f.Exists() {
		f.report.Sayf("removing what an earlier run left in %s", f.paths.Root)
		if err := f.Purge(ctx); err != nil {
			return err
		}
		// What was remembered of it is removed; the flags alone decide again.
		if err := f.load(); err != nil {
			return err
		}
	}
	if err = f.Up(ctx, repository); err != nil {
		err = fmt.Errorf("bringing the fleet up: %w", err)
	} else {
		err = f.command(ctx, command, out)
	}
	// The context may have ended; taking the fleet down needs one of its own.
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Minute)
	defer cancel()
	if err != nil {
		f.report.Sayf("the fleet's logs are kept in %s", f.paths.Logs())
		return errors.Join(err, f.Down(stopping))
	}
	return f.Purge(stopping)
}

// command runs the command in the foreground.
func (f *Fleet) command(ctx context.Context, command []string, out io.Writer) error {
	text := strings.Join(command, " ")
	f.report.Sayf("running %s", text)
	begun := time.Now()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	// Ctrl-C reaches the command directly; it is killed only when it does not end.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 20 * time.Second
	cmd.Env = append(os.Environ(), "KAIRSHIP_FLEET="+f.paths.Root)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, out, os.Stderr
	err := cmd.Run()
	took := time.Since(begun).Round(100 * time.Millisecond)
	if err != nil {
		f.report.Sayf("failed after %s", took)
		return fmt.Errorf("%s: %w", text, err)
	}
	f.report.Sayf("passed after %s", took)
	return nil
}
