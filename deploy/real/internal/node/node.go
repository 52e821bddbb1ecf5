package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/deploy/internal/build"
	"github.com/kairship-io/kairship/deploy/internal/kube"
	"github.com/kairship-io/kairship/deploy/internal/proc"
	"github.com/kairship-io/kairship/deploy/internal/report"
)

// Node is one real node with its control plane.
type Node struct {
	Paths   Paths
	Network Network
	// Repository is the root of the clone.
	Repository string
	Report     *report.Report
}

// process is the name of the node's first process in records and logs.
const process = "node"

// superviseCommand is the command of this program that is the node's first process.
const superviseCommand = "supervise"

// namespaces are those that the node has of its own.
const namespaces = syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC

// readyPatience is how long the node may take to become Ready.
const readyPatience = 3 * time.Minute

// cgroup is the name of the node's cgroup in every hierarchy.
func (n *Node) cgroup() string { return "kairship-" + n.Paths.hash() }

// tool is the path of a program of this machine. Its absence was reported before.
func (n *Node) tool(name string) string {
	path, err := exec.LookPath(name)
	if err != nil {
		return name
	}
	return path
}

// Exists reports whether the folder holds a node.
func (n *Node) Exists() bool {
	_, err := os.Stat(n.Paths.Config())
	return err == nil
}

// Running returns the process id of the node's first process; ok is false where it does not run.
func (n *Node) Running() (pid int, ok bool, err error) {
	record, ok, err := n.Paths.records().Running(process)
	return record.PID, ok, err
}

// Variable names the folder of the node that a command of `with` runs against.
const Variable = "KAIRSHIP_REAL"

// Lock keeps others from changing the node. A command that runs against the node may change it meanwhile.
func (n *Node) Lock(ctx context.Context) (unlock func(), err error) {
	if os.Getenv(Variable) == n.Paths.Root {
		return func() {}, nil
	}
	return build.Lock(ctx, filepath.Join(os.TempDir(), "kairship-real-"+n.Paths.hash()+".lock"), func() {
		n.Report.Sayf("another command is changing the node in %s; waiting for it", n.Paths.Root)
	})
}

// Start starts the node unless it runs, and waits until its API server answers. The programs have to be
// in the folder Bin.
func (n *Node) Start(ctx context.Context) error {
	if _, running, err := n.Running(); err != nil || running {
		return err
	}
	// What a killed node left.
	if err := n.clean(ctx); err != nil {
		return err
	}
	if err := n.Network.free(); err != nil {
		return err
	}
	begun := time.Now()
	if err := n.writeFiles(); err != nil {
		return err
	}
	plan, err := json.MarshalIndent(Plan{
		Hostname: Name, Var: n.Paths.Var(), Kernel: n.Paths.Config("kernel"), Address: n.Network.Node.String(), Programs: n.programs(),
	}, "", "  ")
	if err != nil {
		return err
	}
	if err := writeFile(n.Paths.Config("plan.json"), plan, 0o644); err != nil {
		return err
	}
	if err := makeCgroups(n.cgroup()); err != nil {
		return err
	}
	program, err := n.ownProgram()
	if err != nil {
		return err
	}
	first, err := proc.Start(proc.Command{
		Name: process, Path: program, Args: []string{superviseCommand, n.Paths.Config("plan.json")},
		Env: os.Environ(), Dir: "/", Log: n.Paths.Log(process), Namespaces: namespaces,
	}, n.Paths.records())
	if err != nil {
		return fmt.Errorf("%w: making namespaces takes root with CAP_SYS_ADMIN", err)
	}
	if err := n.connect(ctx, first.PID); err != nil {
		return errors.Join(err, n.explain(first))
	}
	if err := n.awaitAPI(ctx, first); err != nil {
		return err
	}
	n.Report.Step("node", "started", time.Since(begun))
	return nil
}

// ownProgram copies this program beside the node's others, because `go run` removes it when it ends.
func (n *Node) ownProgram() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	content, err := os.ReadFile(self)
	if err != nil {
		return "", err
	}
	target := n.Paths.Binary("kairship-real")
	if err := writeFile(target+".new", content, 0o755); err != nil {
		return "", err
	}
	return target, os.Rename(target+".new", target)
}

// explain returns the end of the first process's log where that process has ended.
func (n *Node) explain(first *proc.Process) error {
	select {
	case <-first.Exited:
		return fmt.Errorf("the node's first process ended; the end of its log %s:\n%s", n.Paths.Log(process), proc.LogTail(n.Paths.Log(process), 5))
	case <-time.After(200 * time.Millisecond):
		return nil
	}
}

// awaitAPI waits until the API server is ready.
func (n *Node) awaitAPI(ctx context.Context, first *proc.Process) error {
	ctx, cancel := context.WithTimeout(ctx, readyPatience)
	defer cancel()
	client, err := n.Client()
	if err != nil {
		return err
	}
	err = kube.Until(ctx, func() error {
		if err := n.explain(first); err != nil {
			return kube.Final(err)
		}
		_, err := client.List(ctx, schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, "", "")
		return err
	})
	if err != nil {
		return fmt.Errorf("the node's API server is not ready: %w\nthe end of its log %s:\n%s",
			err, n.Paths.Log("kube-apiserver"), proc.LogTail(n.Paths.Log("kube-apiserver"), 5))
	}
	return nil
}

// AwaitReady waits until the cluster has the node as Ready.
func (n *Node) AwaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyPatience)
	defer cancel()
	client, err := n.Client()
	if err != nil {
		return err
	}
	err = client.WaitFor(ctx, schema.GroupVersionKind{Version: "v1", Kind: "Node"}, "", Name, func(o *unstructured.Unstructured) string {
		return kube.ConditionIs(o, "Ready", "True")
	})
	if err != nil {
		return fmt.Errorf("%w\nthe end of the kubelet's log %s:\n%s", err, n.Paths.Log(kubelet), proc.LogTail(n.Paths.Log(kubelet), 5))
	}
	return nil
}

// Client is the administrator's client of the cluster.
func (n *Node) Client() (*kube.Client, error) { return kube.New(clusterName, n.Paths.Kubeconfig()) }

// Inside is a command in the namespaces of the running node.
func (n *Node) Inside(ctx context.Context, args ...string) (*exec.Cmd, error) {
	pid, running, err := n.Running()
	if err != nil {
		return nil, err
	}
	if !running {
		return nil, fmt.Errorf("the node in %s does not run; `up` starts it", n.Paths.Root)
	}
	cmd := exec.CommandContext(ctx, "nsenter", append([]string{"-t", strconv.Itoa(pid), "-m", "-p", "-n", "-u", "-i", "--"}, args...)...)
	cmd.Env = environment
	cmd.Dir = "/"
	return cmd, nil
}

// Kill ends the whole node at once, as a power cut would.
func (n *Node) Kill(ctx context.Context) error {
	record, ok, err := n.Paths.records().Running(process)
	if err != nil || !ok {
		return err
	}
	if _, err := proc.Stop(ctx, record, syscall.SIGKILL, 10*time.Second); err != nil {
		return err
	}
	return n.Paths.records().Remove(process)
}

// Stop ends the node and removes what is outside of its namespaces. Its folder stays.
func (n *Node) Stop(ctx context.Context) error {
	if err := n.stopForwarder(ctx); err != nil {
		return err
	}
	if err := n.Kill(ctx); err != nil {
		return err
	}
	return n.clean(ctx)
}

// clean removes what a node that has ended leaves on this machine.
func (n *Node) clean(ctx context.Context) error {
	return errors.Join(n.disconnect(ctx), removeCgroups(n.cgroup()))
}

// Purge removes the node's folder.
func (n *Node) Purge() error {
	if err := os.RemoveAll(n.Paths.Root); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing the node's folder: %w", err)
	}
	return nil
}
