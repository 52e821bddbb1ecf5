package node

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
)

// The names of the interfaces on this machine and in the node; at most 15 characters.
func (n *Node) hostInterface() string { return "kr" + n.Paths.hash() + "h" }
func (n *Node) nodeInterface() string { return "kr" + n.Paths.hash() + "n" }

// connect makes the pair of interfaces between this machine and the node with the given first process.
func (n *Node) connect(ctx context.Context, pid int) error {
	host, inner, id := n.hostInterface(), n.nodeInterface(), strconv.Itoa(pid)
	bits := "/" + strconv.Itoa(n.Network.bits)
	for _, args := range [][]string{
		{"ip", "link", "add", host, "type", "veth", "peer", "name", inner, "netns", id},
		{"ip", "address", "add", n.Network.Host.String() + bits, "dev", host},
		{"ip", "link", "set", host, "up"},
		{"nsenter", "-t", id, "-n", "ip", "link", "set", "lo", "up"},
		{"nsenter", "-t", id, "-n", "ip", "link", "set", inner, "up"},
		{"nsenter", "-t", id, "-n", "ip", "route", "replace", "default", "dev", inner, "via", n.Network.Host.String(), "onlink"},
		// The address comes last: the supervisor waits for it.
		{"nsenter", "-t", id, "-n", "ip", "address", "add", n.Network.Node.String() + bits, "dev", inner},
	} {
		if out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("connecting the node: %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
		}
	}
	return nil
}

// disconnect removes the pair of interfaces. The kernel does it too, a moment after the node ended.
func (n *Node) disconnect(ctx context.Context) error {
	if !exists(n.hostInterface()) {
		return nil
	}
	out, err := exec.CommandContext(ctx, "ip", "link", "delete", n.hostInterface()).CombinedOutput()
	if err != nil && exists(n.hostInterface()) { // Otherwise the kernel was faster.
		return fmt.Errorf("removing the interface %s: %w: %s", n.hostInterface(), err, strings.TrimSpace(string(out)))
	}
	return nil
}

func exists(name string) bool {
	_, err := net.InterfaceByName(name)
	return err == nil
}
