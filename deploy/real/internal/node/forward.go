package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/kairship-io/kairship/deploy/internal/proc"
)

// forwarder is the name of the process that lets pods reach what listens on this machine's loopback address.
const forwarder = "forwarder"

// forwardCommand is the command of this program that is that process.
const forwardCommand = "forward"

// forwardPatience is how long the process may take to listen, and how long it may take to end.
const forwardPatience = 5 * time.Second

// EnsureForwarder has the given ports of 127.0.0.1 also at the address that this machine has for the node.
func (n *Node) EnsureForwarder(ctx context.Context, ports []int) error {
	texts := make([]string, len(ports))
	for i, p := range ports {
		texts[i] = strconv.Itoa(p)
	}
	args := []string{forwardCommand, n.Network.Host.String(), strings.Join(texts, ",")}
	record, running, err := n.Paths.records().Running(forwarder)
	if err != nil {
		return err
	}
	if running && slices.Equal(proc.Args(record)[1:], args) {
		return nil
	}
	if err := n.stopForwarder(ctx); err != nil {
		return err
	}
	started, err := proc.Start(proc.Command{
		Name: forwarder, Path: n.Paths.Binary("kairship-real"), Args: args, Env: os.Environ(), Dir: "/", Log: n.Paths.Log(forwarder),
	}, n.Paths.records())
	if err != nil {
		return err
	}
	for deadline := time.Now().Add(forwardPatience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		connection, err := net.DialTimeout("tcp", net.JoinHostPort(n.Network.Host.String(), texts[0]), time.Second)
		if err == nil {
			return connection.Close()
		}
		select {
		case <-started.Exited:
			return fmt.Errorf("the forwarder ended; the end of its log %s:\n%s", n.Paths.Log(forwarder), proc.LogTail(n.Paths.Log(forwarder), 5))
		default:
		}
	}
	return fmt.Errorf("the forwarder does not listen; its log is %s", n.Paths.Log(forwarder))
}

func (n *Node) stopForwarder(ctx context.Context) error {
	record, running, err := n.Paths.records().Running(forwarder)
	if err != nil || !running {
		return err
	}
	if _, err := proc.Stop(ctx, record, syscall.SIGTERM, forwardPatience); err != nil {
		return err
	}
	return n.Paths.records().Remove(forwarder)
}

// Forward forwards connections from the ports of an address to those of 127.0.0.1, until it is told to end.
func Forward(ctx context.Context, address, ports string) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, os.Interrupt)
	defer stop()
	for port := range strings.SplitSeq(ports, ",") {
		var config net.ListenConfig
		listener, err := config.Listen(ctx, "tcp", net.JoinHostPort(address, port))
		if err != nil {
			return err
		}
		context.AfterFunc(ctx, func() { _ = listener.Close() })
		go accept(ctx, listener, net.JoinHostPort("127.0.0.1", port))
	}
	<-ctx.Done()
	return nil
}

func accept(ctx context.Context, listener net.Listener, to string) {
	for {
		from, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			continue
		}
		go func() {
			defer func() { _ = from.Close() }()
			var dialer net.Dialer
			target, err := dialer.DialContext(ctx, "tcp", to)
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				return
			}
			defer func() { _ = target.Close() }()
			ended := make(chan struct{}, 2)
			copyTo := func(a, b net.Conn) {
				_, _ = io.Copy(a, b)
				ended <- struct{}{}
			}
			go copyTo(from, target)
			go copyTo(target, from)
			<-ended
		}()
	}
}
