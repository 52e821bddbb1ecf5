// Package reload keeps what was read from a file in step with it, so that nothing has
// to be restarted when an administrator, or the kubelet, replaces the file.
package reload

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// pollInterval is the time between two looks at a file. It is read as a whole each time:
// the files are small, and a modification time says nothing of a file that the kubelet
// replaces through a symbolic link, nor of one on some network file systems.
const pollInterval = 2 * time.Second

// metrics of all files of the process. The label is the name of a setting, of which
// there are a few.
type metrics struct {
	reloads *prometheus.CounterVec
	failing *prometheus.GaugeVec
}

var shared = metrics{
	reloads: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "kairship_file_reloads_total",
		Help: "How often the file of a setting had changed and was read again, by whether it could be used (result: success, failure).",
	}, []string{"setting", "result"}),
	failing: prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "kairship_file_reload_failing",
		Help: "1 while the file of a setting cannot be used as it is, and what it held before is in effect; else 0.",
	}, []string{"setting"}),
}

// Collectors are the metrics about all files, to be registered once in a process.
func Collectors() []prometheus.Collector {
	return []prometheus.Collector{shared.reloads, shared.failing}
}

// File is what a file holds, as it was read last. A file that cannot be read or parsed
// any more changes nothing: what it held before stays in effect, and the log and the
// metrics say so.
type File[T any] struct {
	setting, path string
	parse         func([]byte) (T, error)
	changed       func(T)
	logger        *slog.Logger

	value atomic.Pointer[T]
	// Only the loop uses these.
	sum    [sha256.Size]byte
	failed string
}

// Options say how a file is watched.
type Options[T any] struct {
	// Setting is the name of the setting that names the file, for log and metrics.
	Setting string
	// Path of the file.
	Path string
	// Parse makes of the content what it means. Its errors must not show the content.
	Parse func([]byte) (T, error)
	// Changed is called with a new content that could be parsed, after Get returns it; it may be
	// nil. It is not called for the first one.
	Changed func(T)
	// Logger receives reloads and failures; nil means slog's default.
	Logger *slog.Logger
	// pollInterval is the time between two looks; zero means the constant.
	Interval time.Duration
}

// Watch reads a file, and reads it again whenever it changes until the context ends. Its
// error says why it cannot be used now.
func Watch[T any](ctx context.Context, o Options[T]) (*File[T], error) {
	f := &File[T]{setting: o.Setting, path: o.Path, parse: o.Parse, changed: o.Changed, logger: o.Logger}
	if f.logger == nil {
		f.logger = slog.Default()
	}
	raw, value, err := f.read()
	if err != nil {
		return nil, err
	}
	f.sum = sha256.Sum256(raw)
	f.value.Store(&value)
	shared.failing.WithLabelValues(f.setting).Set(0)
	interval := o.Interval
	if interval <= 0 {
		interval = pollInterval
	}
	go f.keep(ctx, interval)
	return f, nil
}

// Get is what the file holds.
func (f *File[T]) Get() T { return *f.value.Load() }

func (f *File[T]) read() (raw []byte, value T, err error) {
	if raw, err = os.ReadFile(f.path); err != nil {
		return nil, value, fmt.Errorf("--%s: %w", f.setting, err)
	}
	if value, err = f.parse(raw); err != nil {
		return raw, value, fmt.Errorf("--%s: %s: %w", f.setting, f.path, err)
	}
	return raw, value, nil
}

func (f *File[T]) keep(ctx context.Context, interval time.Duration) {
	ticks := time.NewTicker(interval)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
			f.look()
		}
	}
}

// look reads the file again. It logs an error once.
func (f *File[T]) look() {
	raw, value, err := f.read()
	if err != nil {
		if text := err.Error(); text != f.failed {
			f.failed = text
			shared.reloads.WithLabelValues(f.setting, "failure").Inc()
			shared.failing.WithLabelValues(f.setting).Set(1)
			f.logger.Error("a file has changed and cannot be used: what it held before stays in effect", "setting", f.setting, "error", err)
		}
		return
	}
	sum := sha256.Sum256(raw)
	if f.failed != "" {
		f.failed = ""
		shared.failing.WithLabelValues(f.setting).Set(0)
	} else if sum == f.sum {
		return
	}
	f.sum = sum
	f.value.Store(&value)
	shared.reloads.WithLabelValues(f.setting, "success").Inc()
	f.logger.Info("a file has changed and was read again", "setting", f.setting, "path", f.path)
	if f.changed != nil {
		f.changed(value)
	}
}
