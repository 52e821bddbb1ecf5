package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kairship-io/kairship/deploy/internal/proc"
)

// Logs writes the last lines of a process's log, and with follow what is added until the context
// ends.
func (f *Fleet) Logs(ctx context.Context, out io.Writer, name string, lines int, follow bool) error {
	path := f.paths.Log(name)
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("there is no log of %q; there are: %s", name, strings.Join(f.LogNames(), ", "))
	}
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	offset, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(out, proc.LogTail(path, lines)); err != nil {
		return err
	}
	for follow {
		info, err := os.Stat(path)
		if err == nil && info.Size() < offset {
			// A start set the old log aside: go on with the new one.
			_ = file.Close()
			if file, err = os.Open(path); err != nil {
				return err
			}
			offset = 0
		}
		n, err := io.Copy(out, file)
		if err != nil {
			return err
		}
		offset += n
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(200 * time.Millisecond):
		}
	}
	return nil
}

// LogNames lists the processes that have a log.
func (f *Fleet) LogNames() []string {
	files, err := filepath.Glob(filepath.Join(f.paths.Logs(), "*.log"))
	if err != nil {
		return nil
	}
	var names []string
	for _, file := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(file), ".log"))
	}
	return names
}
