package reload

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/kairship-io/kairship/internal/poll"
)

func parse(raw []byte) (string, error) {
	if bytes.Contains(raw, []byte("bad")) {
		return "", errors.New("it is bad")
	}
	return strings.TrimSpace(string(raw)), nil
}

// replace does what the kubelet does with a mounted Secret: what a path shows changes at
// once, by a symbolic link of a folder.
func replace(t *testing.T, dir, content string) {
	t.Helper()
	version := t.TempDir()
	link := filepath.Join(dir, "next")
	for _, err := range []error{
		os.WriteFile(filepath.Join(version, "file"), []byte(content), 0o600),
		os.Symlink(version, link), os.Rename(link, filepath.Join(dir, "data")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// failing is what the metric reports about the one file of the tests.
func failing(t *testing.T) float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(Collectors()...)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == "kairship_file_reload_failing" {
			return family.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatal("the metric is missing")
	return 0
}

func TestFile(t *testing.T) {
	dir := t.TempDir()
	replace(t, dir, "first")
	var log bytes.Buffer
	var reported []string
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		f, err := Watch(ctx, Options[string]{
			Setting: "test-file", Path: filepath.Join(dir, "data", "file"), Parse: parse,
			Changed: func(s string) { reported = append(reported, s) }, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct {
			reason  string
			change  func()
			want    string
			failing float64
		}{
			{"what was read first", func() {}, "first", 0},
			{"a new version", func() { replace(t, dir, "second") }, "second", 0},
			{"the same again is no change", func() { replace(t, dir, "second") }, "second", 0},
			{"what cannot be parsed changes nothing", func() { replace(t, dir, "bad: password") }, "second", 1},
			{"nor does a file that is gone", func() { _ = os.Remove(filepath.Join(dir, "data")) }, "second", 1},
			{"what can be used is used again", func() { replace(t, dir, "third") }, "third", 0},
		} {
			step.change()
			time.Sleep(2 * pollInterval)
			synctest.Wait()
			if got := f.Get(); got != step.want {
				t.Errorf("%s: got %q, want %q", step.reason, got, step.want)
			}
			if got := failing(t); got != step.failing {
				t.Errorf("%s: the metric says %v, want %v", step.reason, got, step.failing)
			}
		}
	})
	if diff := cmp.Diff([]string{"second", "third"}, reported); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	if got := strings.Count(log.String(), "level=ERROR"); got != 2 || strings.Contains(log.String(), "password") {
		t.Errorf("%d errors in the log, want one for each cause and nothing of the content:\n%s", got, log.String())
	}
}

func TestWhatCannotBeUsedAtFirst(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(bad, []byte("bad"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, says := range map[string]string{bad: "--test-file: " + bad + ": it is bad", "/does/not/exist": "--test-file: open /does/not/exist"} {
		if _, err := Watch(t.Context(), Options[string]{Setting: "test-file", Path: path, Parse: parse}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v, want %q", path, err, says)
		}
	}
}

// TestGetWhileItChanges is for the race detector.
func TestGetWhileItChanges(t *testing.T) {
	dir := t.TempDir()
	replace(t, dir, "0")
	f, err := Watch(t.Context(), Options[string]{Setting: "test-file", Path: filepath.Join(dir, "data", "file"), Parse: parse, Interval: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			if err := poll.Try(t.Context(), time.Minute, func(context.Context) error {
				if got := f.Get(); got != "5" {
					return fmt.Errorf("got %q, want 5", got)
				}
				return nil
			}); err != nil {
				t.Error(err)
			}
		})
	}
	for _, content := range []string{"1", "2", "3", "4", "5"} {
		replace(t, dir, content)
	}
	wait.Wait()
}
