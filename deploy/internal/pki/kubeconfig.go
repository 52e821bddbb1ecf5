package pki

import (
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Kubeconfig is a kubeconfig of one cluster and one user. The context has the cluster's name.
func Kubeconfig(cluster, server string, ca []byte, user string, auth clientcmdapi.AuthInfo) *clientcmdapi.Config {
	config := clientcmdapi.NewConfig()
	config.Clusters[cluster] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca}
	config.AuthInfos[user] = &auth
	config.Contexts[cluster] = &clientcmdapi.Context{Cluster: cluster, AuthInfo: user}
	config.CurrentContext = cluster
	return config
}

// WriteClientKubeconfig writes a kubeconfig with the client certificate of the given name. The
// certificates are in the file itself, so that it can be copied elsewhere.
func (c Cluster) WriteClientKubeconfig(path, cluster, server, client string) error {
	ca, err := c.CA()
	if err != nil {
		return err
	}
	crtPath, keyPath := c.Client(client)
	crt, err := os.ReadFile(crtPath)
	if err != nil {
		return err
	}
	key, err := os.ReadFile(keyPath)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	config := Kubeconfig(cluster, server, ca, client, clientcmdapi.AuthInfo{ClientCertificateData: crt, ClientKeyData: key})
	return clientcmd.WriteToFile(*config, path)
}
