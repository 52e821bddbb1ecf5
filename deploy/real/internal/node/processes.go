package node

import (
	"fmt"
	"strconv"
)

// Name is the node's name in its cluster.
const Name = "real"

const (
	etcdAddress       = "127.0.0.1:2379"
	containerdSocket  = "/run/containerd/containerd.sock"
	pauseImage        = "localhost/pause:1"
	kubeletRoot       = "/var/lib/kubelet"
	controllerManager = "kube-controller-manager"
	scheduler         = "kube-scheduler"
	proxy             = "kube-proxy"
	kubelet           = "kubelet"
	kubeletClient     = "kube-apiserver-kubelet-client"
)

// programs lists the processes of the node. Comments say why where a flag is not plumbing.
func (n *Node) programs() []Program {
	p := n.Paths
	apiserver := n.Network.Node.String() + ":" + strconv.Itoa(apiPort)
	kubeconfig := func(name string) []string {
		return []string{"--kubeconfig=" + p.component(name), "--authentication-kubeconfig=" + p.component(name), "--authorization-kubeconfig=" + p.component(name)}
	}
	program := func(name, path string, after []string, args ...string) Program {
		return Program{Name: name, Argv: append([]string{path}, args...), Log: p.Log(name), After: after}
	}
	afterAPI := []string{"tcp", apiserver}
	return []Program{
		program("etcd", p.Binary("etcd"), nil,
			"--name=real",
			"--data-dir="+p.Data(),
			"--listen-client-urls=http://"+etcdAddress,
			"--advertise-client-urls=http://"+etcdAddress,
			"--listen-peer-urls=http://127.0.0.1:2380",
			"--initial-advertise-peer-urls=http://127.0.0.1:2380",
			"--initial-cluster=real=http://127.0.0.1:2380",
			"--unsafe-no-fsync", // The data need not survive a power cut.
			"--log-level=warn",
			"--watch-progress-notify-interval=5s",
		),
		program("containerd", n.tool("containerd"), nil, "--config="+p.Config("containerd.toml")),
		program("kube-apiserver", p.Binary("kube-apiserver"), []string{"tcp", etcdAddress}, n.apiserverFlags()...),
		program(controllerManager, p.Binary(controllerManager), afterAPI, append(kubeconfig(controllerManager),
			"--bind-address=127.0.0.1",
			"--client-ca-file="+p.PKI().File("ca.crt"),
			"--root-ca-file="+p.PKI().File("ca.crt"),
			"--cluster-signing-cert-file="+p.PKI().File("ca.crt"),
			"--cluster-signing-key-file="+p.PKI().File("ca.key"),
			"--service-account-private-key-file="+p.PKI().File("sa.key"),
			"--use-service-account-credentials=true",
			"--service-cluster-ip-range="+serviceNetwork,
			"--leader-elect=false",
			"--v=1",
		)...),
		program(scheduler, p.Binary(scheduler), afterAPI, append(kubeconfig(scheduler),
			"--bind-address=127.0.0.1",
			"--leader-elect=false",
			"--v=1",
		)...),
		program(kubelet, p.Binary(kubelet), []string{"unix", containerdSocket},
			"--kubeconfig="+p.component(kubelet),
			"--config="+p.Config("kubelet.yaml"),
			"--root-dir="+kubeletRoot,
			"--hostname-override="+Name,
			"--node-ip="+n.Network.Node.String(),
			"--v=1",
		),
		program(proxy, p.Binary(proxy), afterAPI, "--config="+p.Config("kube-proxy.yaml"), "--v=1"),
	}
}

func (n *Node) apiserverFlags() []string {
	pki := n.Paths.PKI()
	client, key := pki.Client(kubeletClient)
	return []string{
		"--etcd-servers=http://" + etcdAddress,
		"--bind-address=0.0.0.0",
		"--advertise-address=" + n.Network.Node.String(),
		fmt.Sprintf("--secure-port=%d", apiPort),
		"--tls-cert-file=" + pki.File("serving/tls.crt"),
		"--tls-private-key-file=" + pki.File("serving/tls.key"),
		"--client-ca-file=" + pki.File("ca.crt"),
		"--token-auth-file=" + n.Paths.tokenTable(),
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--allow-privileged=true",
		"--kubelet-certificate-authority=" + pki.File("ca.crt"),
		"--kubelet-client-certificate=" + client,
		"--kubelet-client-key=" + key,
		"--kubelet-preferred-address-types=InternalIP", // The node's name is in no DNS.
		"--service-account-issuer=https://kubernetes.default.svc." + Domain,
		"--service-account-key-file=" + pki.File("sa.pub"),
		"--service-account-signing-key-file=" + pki.File("sa.key"),
		"--service-cluster-ip-range=" + serviceNetwork,
		"--requestheader-client-ca-file=" + pki.File("front-proxy-ca.crt"),
		"--requestheader-allowed-names=front-proxy-client",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-username-headers=X-Remote-User",
		"--proxy-client-cert-file=" + pki.File("front-proxy-client.crt"),
		"--proxy-client-key-file=" + pki.File("front-proxy-client.key"),
		"--enable-aggregator-routing=true", // Aggregated API servers are pods, which this process reaches itself.
		"--profiling=false",
		"--v=1",
	}
}
