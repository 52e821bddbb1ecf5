package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// Plan is what the first process of a node does.
type Plan struct {
	Hostname string `json:"hostname"`
	// Var is the folder that becomes /var.
	Var string `json:"var"`
	// Kernel is the folder with what is shown at settings of the kernel, by their paths below /proc/sys.
	Kernel string `json:"kernel"`
	// Address is the node's; nothing starts before an interface has it.
	Address string `json:"address"`
	// Programs are started and restarted.
	Programs []Program `json:"programs"`
}

// Program is a process of the node.
type Program struct {
	Name string   `json:"name"`
	Argv []string `json:"argv"`
	Log  string   `json:"log"`
	// After is the address of a listener that has to be there first, as network and address.
	After []string `json:"after,omitempty"`
}

// restartPause is the time between the end of a program and its next start.
const restartPause = time.Second

// startPatience is how long a program waits for the listener that it is started after.
const startPatience = time.Minute

// addressPatience is how long the first process waits for its network.
const addressPatience = 30 * time.Second

// environment is that of all processes of the node: the programs that they call are in these folders.
var environment = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root"}

// supervisor is the first process of the node's PID namespace.
type supervisor struct {
	mu      sync.Mutex
	running map[int]Program
}

// Supervise prepares the namespaces that this process was started in, runs the programs of the plan, and
// returns only when it cannot begin. It starts a program again that ends, and takes over orphans, as
// the first process of a machine does.
func Supervise(planFile string) error {
	if os.Getpid() != 1 {
		return errors.New("this command is the first process of a node: `up` starts it")
	}
	content, err := os.ReadFile(planFile)
	if err != nil {
		return err
	}
	var plan Plan
	if err := json.Unmarshal(content, &plan); err != nil {
		return fmt.Errorf("%s: %w", planFile, err)
	}
	if err := plan.prepare(); err != nil {
		return err
	}
	if err := awaitAddress(plan.Address); err != nil {
		return err
	}
	s := &supervisor{running: map[int]Program{}}
	for _, p := range plan.Programs {
		go s.start(p)
	}
	s.reap()
	return nil
}

// prepare makes the mounts of the node. They end with its mount namespace.
func (p Plan) prepare() error {
	steps := []struct {
		what           string
		source, target string
		kind           string
		flags          uintptr
	}{
		// What is mounted here must not appear on the machine.
		{"separate its mounts", "", "/", "", syscall.MS_REC | syscall.MS_PRIVATE},
		// Volumes of containers are passed on to containers.
		{"share its mounts", "", "/", "", syscall.MS_REC | syscall.MS_SHARED},
		{"mount /proc", "proc", "/proc", "proc", 0},
		{"mount /run", "tmpfs", "/run", "tmpfs", 0},
		{"mount /var", p.Var, "/var", "", syscall.MS_BIND},
	}
	for _, s := range steps {
		if err := syscall.Mount(s.source, s.target, s.kind, s.flags, ""); err != nil {
			return fmt.Errorf("the node cannot %s: %w", s.what, err)
		}
	}
	if err := os.Symlink("/run", "/var/run"); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	if err := syscall.Sethostname([]byte(p.Hostname)); err != nil {
		return fmt.Errorf("the node cannot have its name: %w", err)
	}
	// This setting belongs to the network namespace.
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644); err != nil {
		return fmt.Errorf("the node cannot forward packets of its pods: %w", err)
	}
	for _, setting := range kernelSettings {
		shown := filepath.Join(p.Kernel, setting.name)
		if err := syscall.Mount(shown, "/proc/sys/"+setting.name, "", syscall.MS_BIND, ""); err != nil {
			return fmt.Errorf("the node cannot show its kubelet the setting %s: %w", setting.name, err)
		}
	}
	return nil
}

// kernelSettings are what the kubelet wants of the kernel. They are the machine's, so they are shown to the
// kubelet in the node and not changed.
var kernelSettings = []struct{ name, value string }{
	{"vm/overcommit_memory", "1"},
	{"vm/panic_on_oom", "0"},
	{"kernel/panic", "10"},
	{"kernel/panic_on_oops", "1"},
	{"kernel/keys/root_maxkeys", "1000000"},
	{"kernel/keys/root_maxbytes", "25000000"},
}

// awaitAddress waits until an interface has the address.
func awaitAddress(address string) error {
	for deadline := time.Now().Add(addressPatience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		addresses, err := net.InterfaceAddrs()
		if err != nil {
			return err
		}
		for _, a := range addresses {
			if n, ok := a.(*net.IPNet); ok && n.IP.String() == address {
				return nil
			}
		}
	}
	return fmt.Errorf("no interface of the node got the address %s within %s", address, addressPatience)
}

// start runs a program once what it needs listens.
func (s *supervisor) start(p Program) {
	if len(p.After) == 2 {
		for deadline := time.Now().Add(startPatience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
			connection, err := net.DialTimeout(p.After[0], p.After[1], time.Second)
			if err == nil {
				_ = connection.Close()
				break
			}
		}
	}
	log, err := os.OpenFile(p.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", p.Name, err)
		return
	}
	defer func() { _ = log.Close() }()
	_, _ = fmt.Fprintf(log, "==== %s starting %s\n", time.Now().Format(time.RFC3339), p.Name)
	s.mu.Lock() // The program may end before its number is known here.
	defer s.mu.Unlock()
	pid, err := syscall.ForkExec(p.Argv[0], p.Argv, &syscall.ProcAttr{
		Dir: "/", Env: environment, Files: []uintptr{0, log.Fd(), log.Fd()}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		_, _ = fmt.Fprintf(log, "==== cannot be started: %v\n", err)
		return
	}
	s.running[pid] = p
}

// reap waits for every process that ends, and starts the programs again.
func (s *supervisor) reap() {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		if errors.Is(err, syscall.ECHILD) { // Nothing runs yet, or a program pauses.
			time.Sleep(100 * time.Millisecond)
			continue
		}
		if err != nil {
			continue // interrupted by a signal
		}
		s.mu.Lock()
		p, known := s.running[pid]
		delete(s.running, pid)
		s.mu.Unlock()
		if !known {
			continue
		}
		fmt.Fprintf(os.Stderr, "%s %s ended with %v; starting it again\n", time.Now().Format(time.RFC3339), p.Name, describeEnd(status))
		go func() {
			time.Sleep(restartPause)
			s.start(p)
		}()
	}
}

func describeEnd(status syscall.WaitStatus) string {
	if status.Signaled() {
		return "signal " + status.Signal().String()
	}
	return fmt.Sprintf("code %d", status.ExitStatus())
}
