// Package node runs a real Kubernetes cluster of one node on this machine: a control plane, containerd, the
// kubelet and kube-proxy, in mount, PID, network, UTS and IPC namespaces of its own.
//
// Its first process is this program (Supervise), which starts the others and ends with them: when it is
// killed, the kernel ends everything in its PID namespace and drops its mounts. Outside remain a pair of
// network interfaces and the cgroups, which Down removes.
package node
