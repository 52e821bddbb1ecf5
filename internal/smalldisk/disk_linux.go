// Package smalldisk makes file systems that tests fill.
package smalldisk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// New mounts a file system of some megabytes for the length of a test, and returns its folder and an empty folder
// in it. A test that may not mount one is skipped.
func New(t testing.TB, megabytes int) (disk, folder string) {
	t.Helper()
	disk, err := os.MkdirTemp("/var/tmp", "kairship-disk-") //nolint:usetesting // Other users have no way into the test's own folder.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(disk) })
	err = syscall.Mount("tmpfs", disk, "tmpfs", 0, fmt.Sprintf("size=%dm,mode=755", megabytes))
	if errors.Is(err, syscall.EPERM) {
		t.Skip("a small disk takes the right to mount one: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// A server closes its files a moment later.
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	folder = filepath.Join(disk, "data")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	return disk, folder
}

// Fill leaves no room on a disk until what it returns is called.
func Fill(t testing.TB, disk string) (empty func()) {
	t.Helper()
	f, err := os.Create(filepath.Join(disk, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	for page := make([]byte, 4096); err == nil; {
		_, err = f.Write(page)
	}
	_ = f.Close()
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(f.Name()); err != nil {
			t.Fatal(err)
		}
	}
}
