package node

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	_ "embed"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/kairship-io/kairship/deploy/internal/pki"
)

// clusterName is the cluster's name in kubeconfigs.
const clusterName = "real"

// Admin is the person who administers Kairship on the node's cluster, and AdminGroup the group that
// docs/operations.md gives all rights in Kairship.
const (
	Admin      = "admin"
	AdminGroup = "platform-admins"
)

//go:embed config/containerd.toml
var containerdConfig string

//go:embed config/kubelet.yaml
var kubeletConfig string

//go:embed config/kube-proxy.yaml
var proxyConfig string

//go:embed config/pods.conflist
var podNetworkConfig string

// writeFiles writes what the processes read: certificates, kubeconfigs, settings.
func (n *Node) writeFiles() error {
	p := n.Paths
	for _, dir := range []string{p.Var(), p.Data(), filepath.Dir(p.Log("x")), p.Config("cni")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if err := n.writeIdentities(); err != nil {
		return err
	}
	crt, key := p.PKI().Server(kubelet)
	values := map[string]any{
		"CA": p.PKI().File("ca.crt"), "ServingCertificate": crt, "ServingKey": key,
		"Socket": containerdSocket, "PauseImage": pauseImage, "Plugins": cniFolder(), "PluginConfig": p.Config("cni"),
		"Cgroup": n.cgroup(), "DNS": DNSAddress, "Domain": Domain, "Resolver": p.Config("resolv.conf"),
		"ProxyKubeconfig": p.component(proxy), "PodNetwork": podNetwork, "Name": Name,
	}
	for path, text := range map[string]string{
		p.Config("containerd.toml"):         containerdConfig,
		p.Config("kubelet.yaml"):            kubeletConfig,
		p.Config("kube-proxy.yaml"):         proxyConfig,
		p.Config("cni", "10-pods.conflist"): podNetworkConfig,
		p.Config("resolv.conf"):             "", // The node has no other DNS than its cluster's.
	} {
		if err := writeTemplate(path, text, values); err != nil {
			return err
		}
	}
	for _, s := range kernelSettings {
		if err := writeFile(p.Config("kernel", s.name), []byte(s.value+"\n"), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// writeIdentities makes the certificates, the kubeconfigs and the administrator's token.
func (n *Node) writeIdentities() error {
	p := n.Paths
	names := []string{
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc." + Domain, Name, serviceIP, n.Network.Node.String(),
	}
	if err := p.PKI().Ensure(clusterName, names); err != nil {
		return err
	}
	if err := p.PKI().EnsureServer(kubelet, []string{Name, n.Network.Node.String()}); err != nil {
		return err
	}
	for name, identity := range map[string]pki.Identity{
		"cluster-admin":   {User: "cluster-admin", Groups: []string{"system:masters"}},
		kubeletClient:     {User: kubeletClient, Groups: []string{"system:masters"}},
		controllerManager: {User: "system:kube-controller-manager"},
		scheduler:         {User: "system:kube-scheduler"},
		proxy:             {User: "system:kube-proxy"},
		kubelet:           {User: "system:node:" + Name, Groups: []string{"system:nodes"}},
	} {
		if err := p.PKI().EnsureClient(name, identity); err != nil {
			return err
		}
		path := p.component(name)
		if name == "cluster-admin" {
			path = p.Kubeconfig()
		}
		if err := p.PKI().WriteClientKubeconfig(path, clusterName, n.Network.URL(), name); err != nil {
			return err
		}
	}
	return n.writeToken()
}

// writeToken makes the administrator's bearer token, unless there is one.
func (n *Node) writeToken() error {
	path := n.Paths.Token(Admin)
	token, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		random := make([]byte, 32)
		if _, err := rand.Read(random); err != nil {
			return err
		}
		token = []byte(hex.EncodeToString(random))
		err = writeFile(path, token, 0o600)
	}
	if err != nil {
		return err
	}
	line := fmt.Sprintf("%s,%s,%s,%q\n", strings.TrimSpace(string(token)), Admin, Admin, AdminGroup)
	return writeFile(n.Paths.tokenTable(), []byte(line), 0o600)
}

// MemberKubeconfig returns the administrator's kubeconfig as text, to register the node's cluster with.
func (n *Node) MemberKubeconfig() (string, error) {
	config, err := clientcmd.LoadFromFile(n.Paths.Kubeconfig())
	if err != nil {
		return "", err
	}
	text, err := clientcmd.Write(*config)
	return string(text), err
}

func writeTemplate(path, text string, values map[string]any) error {
	t, err := template.New(filepath.Base(path)).Option("missingkey=error").Parse(text)
	if err != nil {
		return err
	}
	var out strings.Builder
	if err := t.Execute(&out, values); err != nil {
		return err
	}
	return writeFile(path, []byte(out.String()), 0o644)
}

func writeFile(path string, content []byte, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, content, mode)
}
