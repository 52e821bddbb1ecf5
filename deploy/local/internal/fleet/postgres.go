package fleet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/kairship-io/kairship/deploy/internal/build"
	installed "github.com/kairship-io/kairship/deploy/internal/postgres"
)

// postgresProcess is the name of the database's process.
const postgresProcess = "postgres"

// postgres runs a PostgreSQL server of the fleet's own: own port, own data folder, own user. A
// server that the system runs is neither used nor touched.
type postgres struct {
	fleet *Fleet
	// bin is the folder of the server's programs; Debian does not put them on the PATH.
	bin string
	// data is the data folder.
	data string
	// credential is the user that the server runs as: it refuses to run as root.
	credential *syscall.Credential
}

// prepare finds or installs the server and makes its data folder.
func (p *postgres) prepare(ctx context.Context) error {
	display := build.NewDisplay(os.Stdout)
	bin, err := installed.Ensure(ctx, display)
	display.Close()
	if err != nil {
		return err
	}
	p.bin = bin
	if os.Geteuid() == 0 {
		var err error
		if p.credential, err = serverUser(); err != nil {
			return err
		}
	}
	p.data = p.dataFolder()
	if initialised(p.data) {
		return nil
	}
	if err := p.makeDataFolder(); err != nil {
		return err
	}
	p.fleet.report.Sayf("%-32s making its data folder %s", postgresProcess, p.data)
	cmd := p.command(ctx, "initdb", "--pgdata="+p.data, "--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, indent(strings.TrimSpace(string(out))))
	}
	return nil
}

// find looks for the newest installed server.
func (p *postgres) find() error {
	bin, err := installed.Find()
	p.bin = bin
	return err
}

// serverUser is the user postgres that Debian's package makes.
func serverUser() (*syscall.Credential, error) {
	account, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL does not run as root, and there is no user postgres to run it as: %w", err)
	}
	uid, err := strconv.ParseUint(account.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(account.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

// dataFolder is where the data is or will be: in the fleet's folder, unless the server's user cannot
// reach that, because a folder on the way is closed to it.
func (p *postgres) dataFolder() string {
	inside, outside := p.fleet.paths.Data(postgresProcess), p.outsideData()
	switch {
	case initialised(inside):
		return inside
	case initialised(outside):
		return outside
	case p.credential != nil && closedFolder(filepath.Dir(inside)) != "":
		return outside
	default:
		return inside
	}
}

func initialised(data string) bool {
	_, err := os.Stat(filepath.Join(data, "PG_VERSION"))
	return err == nil
}

// makeDataFolder makes the folder, for the server's user alone.
func (p *postgres) makeDataFolder() error {
	// The parents on their own: they must stay open to that user.
	if err := os.MkdirAll(filepath.Dir(p.data), 0o755); err != nil {
		return err
	}
	if err := os.MkdirAll(p.data, 0o700); err != nil {
		return err
	}
	if p.credential == nil {
		return nil
	}
	return os.Chown(p.data, int(p.credential.Uid), int(p.credential.Gid))
}

// outsideData is where the data goes that cannot be in the fleet's folder.
func (p *postgres) outsideData() string {
	return "/var/tmp/kairship-postgres-" + textHash(p.fleet.paths.Root)
}

// closedFolder returns the outermost folder on the way to path that others may not enter.
func closedFolder(path string) string {
	for prefix := "/"; ; {
		info, err := os.Stat(prefix)
		if errors.Is(err, fs.ErrNotExist) {
			return "" // made by the fleet, with open permissions
		}
		if err != nil || info.Mode().Perm()&0o001 == 0 {
			return prefix
		}
		rest, err := filepath.Rel(prefix, path)
		if err != nil || rest == "." {
			return ""
		}
		prefix = filepath.Join(prefix, strings.SplitN(rest, string(filepath.Separator), 2)[0])
	}
}

// command is one of the server's programs, run as the server's user.
func (p *postgres) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(p.bin, program), args...)
	cmd.Env = environment(p.data)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.credential}
	return cmd
}

// process is the server.
func (p *postgres) process() process {
	return process{
		name:       postgresProcess,
		binary:     filepath.Join(p.bin, "postgres"),
		ports:      []string{"postgres"},
		ready:      probe{command: []string{filepath.Join(p.bin, "pg_isready"), "--host=127.0.0.1", "--port=" + strconv.Itoa(p.fleet.ports.Of("postgres"))}},
		signal:     stopSignalOf(postgresProcess),
		credential: p.credential,
		dir:        p.data,
		args: []string{
			"-D", p.data,
			"-p", strconv.Itoa(p.fleet.ports.Of("postgres")),
			"-c", "listen_addresses=127.0.0.1",
			"-c", "unix_socket_directories=", // one listener is enough
			"-c", "max_connections=200",
			// The index can be collected again at any time.
			"-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off",
			"-c", "shared_buffers=64MB",
		},
	}
}

// createDatabase makes the index's role and database.
func (p *postgres) createDatabase(ctx context.Context) error {
	ctx, cancel := stepContext(ctx)
	defer cancel()
	return p.fleet.once("postgres/database", p.data, func() error {
		for _, statement := range []string{"CREATE ROLE clusterpedia LOGIN PASSWORD 'clusterpedia'", "CREATE DATABASE clusterpedia OWNER clusterpedia"} {
			cmd := p.command(ctx, "psql", "--no-psqlrc", "--quiet", "--host=127.0.0.1", "--port="+strconv.Itoa(p.fleet.ports.Of("postgres")),
				"--username=postgres", "--dbname=postgres", "--command="+statement)
			out, err := cmd.CombinedOutput()
			if err != nil && !strings.Contains(string(out), "already exists") {
				return fmt.Errorf("psql: %w: %s", err, strings.TrimSpace(string(out)))
			}
		}
		return nil
	})
}
