package build

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestLockKeepsASecondHolderOut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := Lock(t.Context(), path, func() { t.Error("a free lock was waited for") })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	waited := false
	_, err = Lock(ctx, path, func() { waited = true; cancel() })
	if !errors.Is(err, context.Canceled) || !waited {
		t.Fatalf("the second lock gave %v (waited: %t), want it to wait until its context ends", err, waited)
	}
	unlock()
	again, err := Lock(t.Context(), path, func() {})
	if err != nil {
		t.Fatalf("the lock is not free after unlock: %v", err)
	}
	again()
}

func TestLinkReplacesWhatPointsElsewhere(t *testing.T) {
	bin, cache := t.TempDir(), t.TempDir()
	old, current := filepath.Join(cache, "old"), filepath.Join(cache, "current")
	if err := os.Symlink(old, filepath.Join(bin, "etcd")); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time there is nothing to do
		if err := Link(Result{Binaries: map[string]string{"etcd": current}}, bin); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.Readlink(filepath.Join(bin, "etcd")); err != nil || got != current {
		t.Errorf("the link points to %s (%v), want %s", got, err, current)
	}
}

func TestReplaceKeepsAnEqualFile(t *testing.T) {
	dir := t.TempDir()
	source, target := filepath.Join(dir, "source"), filepath.Join(dir, "target")
	inode := func() os.FileInfo {
		info, err := os.Stat(target)
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	write := func(text string) {
		if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := replace(source, target); err != nil {
			t.Fatal(err)
		}
	}
	write("one")
	first := inode()
	if first.Mode().Perm()&0o111 == 0 {
		t.Error("the program cannot be executed")
	}
	write("one")
	if !os.SameFile(first, inode()) {
		t.Error("an equal program was replaced: a running process would be called outdated")
	}
	write("two")
	if os.SameFile(first, inode()) {
		t.Error("the file was overwritten in place: that fails while the program runs")
	}
}
