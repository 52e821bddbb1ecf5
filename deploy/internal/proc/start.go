package proc

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Command is what is run.
type Command struct {
	Name string
	// Through is a program with arguments that becomes the command: it calls exec with
	// what follows.
	Through []string
	Path    string
	Args    []string
	Env     []string
	Dir     string
	// Log receives what the process prints, appended.
	Log string
	// Credential makes the process run as another user; nil keeps the caller's.
	Credential *syscall.Credential
	// Namespaces are the flags of clone(2) for the namespaces that the process gets of its own.
	Namespaces uintptr
}

// maxLog is the size at which a log is set aside before a start; its predecessor is dropped.
const maxLog = 64 << 20

// Process is a process that was started by this program.
type Process struct {
	Record
	// Exited is closed when the process has ended; Err then says how.
	Exited chan struct{}
	err    error
}

// Start runs the command in a session of its own, so that neither a closed terminal nor Ctrl-C
// reaches it, and records it.
func Start(command Command, records Records) (*Process, error) {
	log, err := openLog(command.Log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	_, _ = fmt.Fprintf(log, "==== %s starting %s\n", time.Now().Format(time.RFC3339), command.Name)

	argv := slices.Concat(command.Through, []string{command.Path}, command.Args)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Dir = command.Env, command.Dir
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: command.Credential, Cloneflags: command.Namespaces}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", command.Name, err)
	}
	// The child is not waited for yet, so its entry in /proc exists even when it has died already.
	s, err := stat(cmd.Process.Pid)
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return nil, fmt.Errorf("recording %s: %w", command.Name, err)
	}
	p := &Process{
		Record: Record{Name: command.Name, PID: cmd.Process.Pid, StartTicks: s.Starttime, Program: command.Path, Started: time.Now()},
		Exited: make(chan struct{}),
	}
	if err := records.save(p.Record); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return nil, err
	}
	go func() {
		p.err = cmd.Wait()
		close(p.Exited)
	}()
	return p, nil
}

func openLog(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	if info, err := os.Stat(path); err == nil && info.Size() > maxLog {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, err
		}
	}
	return os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
}

// LogTail returns the last n lines of a log, for error messages.
func LogTail(path string, n int) string {
	const window = 64 << 10
	file, err := os.Open(path)
	if err != nil {
		return fmt.Sprintf("(no log: %v)", err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return fmt.Sprintf("(no log: %v)", err)
	}
	offset := max(0, info.Size()-window)
	content := make([]byte, info.Size()-offset)
	read, _ := file.ReadAt(content, offset)
	lines := strings.Split(strings.TrimRight(string(content[:read]), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
