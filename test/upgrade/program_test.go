package upgrade

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kairship-io/kairship/internal/poll"
)

// program is a process of Kairship that is replaced by another release's.
type program struct {
	name, binary string
	args         []string
	// address is where it listens, ready a URL that answers 200 once it serves.
	address, ready string
	log            *os.File
	cmd            *exec.Cmd
	ended          chan struct{}
}

// start starts the program of the release in a folder, and waits until it is ready.
func (p *program) start(t *testing.T, folder string) {
	t.Helper()
	p.cmd = exec.CommandContext(context.Background(), filepath.Join(folder, p.binary), p.args...)
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("starting %s: %v", p.name, err)
	}
	p.ended = make(chan struct{})
	go func(cmd *exec.Cmd, ended chan struct{}) { _ = cmd.Wait(); close(ended) }(p.cmd, p.ended)
	poll.Until(t, time.Minute, p.name+" is ready", func(ctx context.Context) error {
		select {
		case <-p.ended:
			return poll.Stop(fmt.Errorf("it ended; see %s", p.log.Name()))
		default:
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.ready, http.NoBody)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		defer func() { _ = resp.Body.Close() }()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("HTTP %d", resp.StatusCode)
		}
		return nil
	})
}

// stop ends it as a rollout does.
func (p *program) stop(t *testing.T) {
	t.Helper()
	if p.cmd == nil {
		return
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(time.Minute):
		_ = p.cmd.Process.Kill()
		<-p.ended
		t.Errorf("%s did not end within a minute of SIGTERM", p.name)
	}
	p.cmd = nil
}

// flag returns the value of a flag of a command line.
func flag(args []string, name string) string {
	for _, arg := range args {
		if value, found := strings.CutPrefix(arg, "--"+name+"="); found {
			return value
		}
	}
	return ""
}

// freeAddress returns an address of this machine that nothing listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// programs takes Kairship's processes over from the fleet, with one API server more: two of each. All
// run the fleet's release afterwards.
func (s *scene) programs(t *testing.T) {
	t.Helper()
	const apiserver, manager = "kairship-apiserver", "kairship-controller-manager"
	for _, of := range []struct{ name, binary string }{{apiserver, apiserver}, {"", apiserver}, {manager + "-0", manager}, {manager + "-1", manager}} {
		p := &program{name: of.name, binary: of.binary}
		if p.name == "" {
			p.name = apiserver + "-1"
			for _, arg := range s.apiservers[0].args {
				switch name, _, _ := strings.Cut(arg, "="); name {
				case "--listen-address", "--tls-listen-address", "--pprof-address", "--metrics-bind-address":
				default:
					p.args = append(p.args, arg)
				}
			}
			p.args = append(p.args, "--listen-address="+freeAddress(t), "--tls-listen-address="+freeAddress(t))
		} else {
			p.args = s.Args(t, of.name)[1:]
			s.End(t, of.name, syscall.SIGTERM)
		}
		log, err := os.Create(filepath.Join(s.Logs, "upgrade-"+p.name+".log"))
		if err != nil {
			t.Fatal(err)
		}
		p.log = log
		t.Cleanup(func() { p.stop(t); _ = log.Close() })
		if of.binary == apiserver {
			p.address = flag(p.args, "tls-listen-address")
			p.ready = "http://" + flag(p.args, "listen-address") + "/readyz"
			s.apiservers = append(s.apiservers, p)
		} else {
			p.address = flag(p.args, "metrics-bind-address")
			p.ready = "http://" + flag(p.args, "health-probe-bind-address") + "/readyz"
			s.managers = append(s.managers, p)
		}
		p.start(t, s.Bin)
	}
}

// roll replaces all programs by those of a release, one by one, the leading controller manager last
// but one, so that programs of both releases run beside each other in every combination.
func (s *scene) roll(t *testing.T, folder string) {
	t.Helper()
	leading := s.leader(t)
	waiting := s.managers[0]
	if waiting == leading {
		waiting = s.managers[1]
	}
	for _, p := range []*program{s.apiservers[1], waiting, leading, s.apiservers[0]} {
		begun := time.Now()
		p.stop(t)
		p.start(t, folder)
		t.Logf("%s runs the other release after %s", p.name, time.Since(begun).Round(100*time.Millisecond))
	}
}
