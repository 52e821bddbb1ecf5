package proc

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Holder is who listens on a port.
type Holder struct {
	PID  int // 0 when it could not be found: another user's process, or another network namespace
	Args []string
}

// Known reports whether the holder is a process that lives and can be named. One that is being taken
// apart by the kernel has no arguments any more.
func (h Holder) Known() bool { return h.PID != 0 && len(h.Args) > 0 }

func (h Holder) String() string {
	if !h.Known() {
		return "a process that this user may not inspect"
	}
	command := strings.Join(h.Args, " ")
	if len(command) > 120 {
		command = command[:117] + "..."
	}
	return fmt.Sprintf("pid %d (%s)", h.PID, command)
}

// PortFree reports whether a TCP port of 127.0.0.1 can be listened on.
func PortFree(port int) (bool, error) {
	listener, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err == nil {
		return true, listener.Close()
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		return false, nil
	}
	return false, fmt.Errorf("checking port %d: %w", port, err)
}

// PortHolder finds the process that listens on a TCP port.
func PortHolder(port int) Holder {
	inodes := map[string]bool{}
	for _, table := range []string{"tcp", "tcp6"} {
		content, err := os.ReadFile("/proc/net/" + table)
		if err == nil {
			for _, inode := range listeningInodes(string(content), port) {
				inodes[inode] = true
			}
		}
	}
	if len(inodes) == 0 {
		return Holder{}
	}
	sockets, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, fd := range sockets {
		target, err := os.Readlink(fd)
		if err != nil {
			continue
		}
		inode, ok := strings.CutPrefix(target, "socket:[")
		if !ok || !inodes[strings.TrimSuffix(inode, "]")] {
			continue
		}
		pid, err := strconv.Atoi(strings.Split(fd, "/")[2])
		if err == nil {
			return Holder{PID: pid, Args: cmdline(pid)}
		}
	}
	return Holder{}
}

// listeningInodes finds the sockets that listen on a port in the text of /proc/net/tcp or tcp6:
// per line a number, the local address as hex:hex, the remote one, the state (0A is LISTEN), and in
// the tenth column the socket's inode.
func listeningInodes(table string, port int) []string {
	suffix := fmt.Sprintf(":%04X", port)
	var inodes []string
	for line := range strings.SplitSeq(table, "\n") {
		fields := strings.Fields(line)
		if len(fields) >= 10 && strings.HasSuffix(fields[1], suffix) && fields[3] == "0A" {
			inodes = append(inodes, fields[9])
		}
	}
	return inodes
}
