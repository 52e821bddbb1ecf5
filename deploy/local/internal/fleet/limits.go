package fleet

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// inotifyLimit is how many inotify instances a user may have. Every component watches its
// certificates with some; a machine's default of 128 is enough for one fleet but not for two.
const inotifyLimit = "/proc/sys/fs/inotify/max_user_instances"

// What a process needs on average, rounded up (a kube-apiserver has six, most have one), and what
// the limit is raised to.
const (
	inotifyPerProcess = 3
	inotifyRaised     = 1024
)

// ensureInotify raises the limit where it is too low for the processes about to start and may be
// raised, and says how to where it may not. Without that, components fail with "too many open files".
func (f *Fleet) ensureInotify(starting int) error {
	content, err := os.ReadFile(inotifyLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // not a kernel that has the limit
	}
	if err != nil {
		return err
	}
	limit, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		return fmt.Errorf("%s: %w", inotifyLimit, err)
	}
	used := inotifyInstances()
	if enoughInotify(limit, used, starting) {
		return nil
	}
	if err := os.WriteFile(inotifyLimit, []byte(strconv.Itoa(inotifyRaised)), 0o644); err == nil {
		f.report.Sayf("raised fs.inotify.max_user_instances from %d to %d: %d are in use", limit, inotifyRaised, used)
		return nil
	}
	return fmt.Errorf("fs.inotify.max_user_instances is %d and %d are in use, too few for %d processes more; raise it with `sudo sysctl fs.inotify.max_user_instances=%d` and run this again",
		limit, used, starting, inotifyRaised)
}

func enoughInotify(limit, used, starting int) bool {
	return used+starting*inotifyPerProcess <= limit
}

// inotifyInstances counts the instances of all processes that this user may look into.
func inotifyInstances() int {
	fds, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		return 0
	}
	count := 0
	for _, fd := range fds {
		if target, err := os.Readlink(fd); err == nil && target == "anon_inode:inotify" {
			count++
		}
	}
	return count
}
