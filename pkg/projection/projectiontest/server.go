package projectiontest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// server is a PostgreSQL server that the tests of a package share. It has no port.
type server struct {
	programs, folder string
	credential       *syscall.Credential
	databases        atomic.Int32
}

var errNotInstalled = errors.New("PostgreSQL is not installed")

// running is the server; nil until the first test needs it.
var running atomic.Pointer[server]

var started = sync.OnceValues(func() (*server, error) {
	s, err := start()
	if s != nil {
		running.Store(s)
	}
	return s, err
})

// Main runs the tests of a package and stops the server.
func Main(m *testing.M) {
	code := m.Run()
	if s := running.Load(); s != nil {
		if err := s.stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}
	os.Exit(code)
}

func start() (*server, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, errNotInstalled
	}
	slices.Sort(found)
	s := &server{programs: found[len(found)-1]}
	if s.folder, err = os.MkdirTemp("/var/tmp", "kairship-projection-"); err != nil {
		return nil, err
	}
	if err := errors.Join(s.identify(), s.own(s.folder)); err != nil {
		return s, err
	}
	if err := s.run("initdb", "--pgdata="+s.data(), "--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"); err != nil {
		return s, err
	}
	return s, s.run("pg_ctl", "start", "--wait", "--pgdata="+s.data(), s.options())
}

func (s *server) options() string {
	return "--options=-c listen_addresses= -c unix_socket_directories=" + s.folder + " -c fsync=off -c shared_buffers=16MB"
}

// Restart ends PostgreSQL as a failure of its process would, and starts it again.
func Restart(t testing.TB) {
	t.Helper()
	s := running.Load()
	if err := s.run("pg_ctl", "restart", "--wait", "--mode=immediate", "--pgdata="+s.data(), s.options()); err != nil {
		t.Fatal(err)
	}
}

func (s *server) stop() error {
	defer func() { _ = os.RemoveAll(s.folder) }()
	return s.run("pg_ctl", "stop", "--wait", "--mode=immediate", "--pgdata="+s.data())
}

func (s *server) data() string { return filepath.Join(s.folder, "data") }

func (s *server) dsn(database string) string {
	return "postgres:///" + database + "?user=postgres&host=" + s.folder
}

// identify finds the user postgres: the server refuses to run as root.
func (s *server) identify() error {
	if os.Geteuid() != 0 {
		return nil
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		return err
	}
	uid, errUID := strconv.ParseUint(account.Uid, 10, 32)
	gid, errGID := strconv.ParseUint(account.Gid, 10, 32)
	s.credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return errors.Join(errUID, errGID)
}

// own gives a folder to the server's user.
func (s *server) own(folder string) error {
	if s.credential == nil {
		return nil
	}
	return os.Chown(folder, int(s.credential.Uid), int(s.credential.Gid))
}

// run runs one of the server's programs. Its output goes to a file, because the server
// keeps it open.
func (s *server) run(program string, args ...string) error {
	log, err := os.OpenFile(filepath.Join(s.folder, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.CommandContext(context.Background(), filepath.Join(s.programs, program), args...) // It may outlive a test.
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.credential}
	if err := cmd.Run(); err != nil {
		text, _ := os.ReadFile(log.Name())
		return fmt.Errorf("%s: %w\n%s", program, err, text)
	}
	return nil
}
