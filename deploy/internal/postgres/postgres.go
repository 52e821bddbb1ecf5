// Package postgres finds PostgreSQL's programs on this machine, and installs them where they are missing.
package postgres

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"

	"github.com/kairship-io/kairship/deploy/internal/build"
)

// Find returns the folder with the programs of the newest installed server; Debian does not put them on
// the PATH.
func Find() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil {
		return "", err
	}
	if onPath, err := exec.LookPath("postgres"); err == nil {
		found = append(found, onPath)
	}
	if len(found) == 0 {
		return "", errors.New("no PostgreSQL server is installed")
	}
	sort.Slice(found, func(i, j int) bool { return majorOf(found[i]) > majorOf(found[j]) })
	return filepath.Dir(found[0]), nil
}

// majorOf reads the major version out of a Debian path; 0 for any other.
func majorOf(path string) int {
	major, err := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
	if err != nil {
		return 0
	}
	return major
}

// Ensure returns what Find does, and installs the server first when there is none.
func Ensure(ctx context.Context, progress build.Progress) (string, error) {
	if bin, err := Find(); err == nil {
		return bin, nil
	}
	if err := install(ctx, progress); err != nil {
		return "", err
	}
	return Find()
}

// install installs the server. Debian's package would also create and start a cluster on port 5432;
// a drop-in keeps it from doing so, and is removed again.
func install(ctx context.Context, progress build.Progress) error {
	if err := build.Install(ctx, progress, "PostgreSQL's common files", "postgresql-common"); err != nil {
		return err
	}
	const folder = "/etc/postgresql-common/createcluster.d"
	dropIn := filepath.Join(folder, "kairship-local.conf")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(dropIn, []byte("create_main_cluster = false\n"), 0o644); err != nil {
		return err
	}
	defer func() { _ = os.Remove(dropIn) }()
	return build.Install(ctx, progress, "PostgreSQL", "postgresql")
}
