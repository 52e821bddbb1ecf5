package fleet

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kairship-io/kairship/deploy/internal/kube"
	"github.com/kairship-io/kairship/deploy/internal/pki"
	"github.com/kairship-io/kairship/deploy/local/internal/topology"
)

const (
	metricsServer = "metrics-server"
	// metricsNamespace is where a metrics-server usually is.
	metricsNamespace = "kube-system"
	// metricsPath is the annotation of a node that says where its kubelet serves what a metrics-server reads.
	// kwok serves all nodes of a cluster on one port.
	metricsPath = "metrics.k8s.io/resource-metrics-path"
)

// metricsServer measures what the pods and nodes of a member use, every ten seconds, which is the least.
func (f *Fleet) metricsServer(c topology.Cluster) process {
	kubeconfig := f.paths.ComponentKubeconfig(c.Name, componentIdentity)
	purpose := c.Name + "/metrics"
	authority := f.pki(c.Name)
	crt, key := authority.Server(metricsServer)
	return process{
		name:   c.Name + "-" + metricsServer,
		binary: f.paths.Binary(metricsServer),
		ports:  []string{purpose},
		needs:  []string{c.Name + "-apiserver"},
		// Ready it is when it has measured twice.
		ready: probe{url: f.ports.URL(purpose) + "/livez", cluster: c.Name},
		args: []string{
			"--kubeconfig=" + kubeconfig,
			"--authentication-kubeconfig=" + kubeconfig,
			"--authorization-kubeconfig=" + kubeconfig,
			"--bind-address=127.0.0.1",
			fmt.Sprintf("--secure-port=%d", f.ports.Of(purpose)),
			"--tls-cert-file=" + crt,
			"--tls-private-key-file=" + key,
			"--metric-resolution=10s",
			"--kubelet-request-timeout=5s",
			"--kubelet-use-node-status-port",
			"--kubelet-preferred-address-types=InternalIP",
			"--kubelet-certificate-authority=" + authority.File("ca.crt"),
		},
	}
}

// prepareMetricsServer makes its serving certificate.
func prepareMetricsServer(authority pki.Cluster) error {
	return authority.EnsureServer(metricsServer, []string{metricsServer + "." + metricsNamespace + ".svc"})
}

// metricsTask registers the metrics API of a member.
func (f *Fleet) metricsTask(c topology.Cluster) task {
	return task{name: c.Name + "/metrics", needs: []string{c.Name + "-" + metricsServer}, run: func(ctx context.Context) error {
		ca, err := f.pki(c.Name).CA()
		if err != nil {
			return err
		}
		objects := append(metricsReader(), aggregated("metrics.k8s.io", "v1beta1", metricsServer, metricsNamespace, f.ports.Of(c.Name+"/metrics"), ca, 100)...)
		if err := f.applyOnce(ctx, c.Name+"/metrics", c.Name, objects); err != nil {
			return err
		}
		return f.awaitAPIService(ctx, c.Name, "v1beta1.metrics.k8s.io")
	}}
}

// metricsReader is the role that comes with every metrics-server, a part of Kubernetes' role view.
func metricsReader() []*unstructured.Unstructured {
	return kube.MustParse(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: system:aggregated-metrics-reader
  labels:
    rbac.authorization.k8s.io/aggregate-to-view: "true"
    rbac.authorization.k8s.io/aggregate-to-edit: "true"
    rbac.authorization.k8s.io/aggregate-to-admin: "true"
rules:
- {apiGroups: [metrics.k8s.io], resources: [pods, nodes], verbs: [get, list, watch]}
`)
}
