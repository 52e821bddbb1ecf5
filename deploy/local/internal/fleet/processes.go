package fleet

import (
	"fmt"
	"strings"

	"github.com/kairship-io/kairship/deploy/local/internal/topology"
)

// The process arguments. Flags that are the same for every cluster come from the functions here;
// comments say why where a flag is not plumbing.

// processes lists every process of the fleet with these settings.
func (f *Fleet) processes() []process {
	all := append([]process{f.etcd()}, f.identityProvider()...)
	for _, c := range topology.Clusters() {
		all = append(all, f.apiserver(c))
	}
	all = append(all, f.kubeControllerManager("global", globalControllers))
	for _, c := range topology.WithRole(topology.Instance) {
		all = append(all, f.karmada(c.Name)...)
	}
	for _, c := range topology.WithRole(topology.Member) {
		all = append(all, f.member(c)...)
	}
	all = append(all, f.index()...)
	if !f.settings.WithoutKairship {
		all = append(all, f.kairship()...)
	}
	if f.settings.Operator {
		all = append(all, f.operator())
	}
	return all
}

func (f *Fleet) etcd() process {
	return process{
		name:   "etcd",
		binary: f.paths.Binary("etcd"),
		ports:  []string{"etcd/client", "etcd/peer"},
		ready:  probe{url: "http://" + f.ports.Addr("etcd/client") + "/health"},
		args: []string{
			"--name=fleet",
			"--data-dir=" + f.paths.Data("etcd"),
			"--listen-client-urls=http://" + f.ports.Addr("etcd/client"),
			"--advertise-client-urls=http://" + f.ports.Addr("etcd/client"),
			"--listen-peer-urls=http://" + f.ports.Addr("etcd/peer"),
			"--initial-advertise-peer-urls=http://" + f.ports.Addr("etcd/peer"),
			"--initial-cluster=fleet=http://" + f.ports.Addr("etcd/peer"),
			// The data need not survive a power cut, and six clusters write to one disk.
			"--unsafe-no-fsync",
			"--quota-backend-bytes=4294967296",
			"--log-level=warn",
			// Each is told to hundreds of watches, and nothing waits for it: who wants to know asks. It has to come
			// before a compaction, which the API servers do every five minutes.
			"--watch-progress-notify-interval=1m",
		},
	}
}

// apiserver is a kube-apiserver. All of them share one etcd, each under a prefix of its own.
func (f *Fleet) apiserver(c topology.Cluster) process {
	purpose := c.Name + "/api"
	pki := f.pki(c.Name)
	args := []string{
		"--etcd-servers=http://" + f.ports.Addr("etcd/client"),
		"--etcd-prefix=/" + c.Name,
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", f.ports.Of(purpose)),
		"--endpoint-reconciler-type=none",
		"--tls-cert-file=" + pki.File("serving/tls.crt"),
		"--tls-private-key-file=" + pki.File("serving/tls.key"),
		"--client-ca-file=" + pki.File("ca.crt"),
		"--authorization-mode=RBAC",
		"--allow-privileged=true",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + pki.File("sa.pub"),
		"--service-account-signing-key-file=" + pki.File("sa.key"),
		"--service-cluster-ip-range=10.96.0.0/16",
		"--requestheader-client-ca-file=" + pki.File("front-proxy-ca.crt"),
		"--requestheader-allowed-names=front-proxy-client",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-username-headers=X-Remote-User",
		"--proxy-client-cert-file=" + pki.File("front-proxy-client.crt"),
		"--proxy-client-key-file=" + pki.File("front-proxy-client.key"),
		// Aggregated apiservers are ExternalName services on loopback, which have no endpoints.
		"--enable-aggregator-routing=false",
		"--profiling=false",
		"--v=1",
	}
	switch c.Role {
	case topology.Global:
		args = append(args, "--disable-admission-plugins=ServiceAccount", "--token-auth-file="+f.paths.TokenTable(),
			// As some distributions have it: who reports that an object goes with its owner needs rights to the owner.
			"--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
			"--audit-policy-file="+f.paths.Config("audit-policy.yaml"),
			"--audit-log-path="+f.paths.AuditLog(),
			fmt.Sprintf("--audit-log-maxsize=%d", auditFileMiB),
			fmt.Sprintf("--audit-log-maxbackup=%d", auditFiles-1))
		args = append(args, f.trustsProvider()...)
	case topology.Instance:
		// No pods run in an instance; templates must not be given a service account's volume.
		args = append(args, "--disable-admission-plugins=StorageObjectInUseProtection,ServiceAccount")
	case topology.Member:
		// As any cluster that runs pods. The nodes' names are in no DNS.
		args = append(args, "--kubelet-preferred-address-types=InternalIP")
	}
	needs := []string{"etcd"}
	if c.Role == topology.Global && f.settings.Provider != "" {
		needs = append(needs, identityProvider) // It asks again after ten seconds only.
	}
	return process{
		name:   c.Name + "-apiserver",
		binary: f.paths.Binary("kube-apiserver"),
		args:   args,
		ports:  []string{purpose},
		needs:  needs,
		ready:  probe{url: f.ports.URL(purpose) + "/readyz", cluster: c.Name},
	}
}

// The controllers that each kind of cluster needs.
var (
	globalControllers = []string{
		"namespace", "garbage-collector", "serviceaccount", "serviceaccount-token", "clusterrole-aggregation", "root-ca-certificate-publisher",
	}
	instanceControllers = []string{
		"namespace", "garbage-collector", "serviceaccount-token", "ttl-after-finished", "bootstrap-signer", "token-cleaner",
		"certificatesigningrequest-cleaner", "certificatesigningrequest-signing", "clusterrole-aggregation",
	}
	memberControllers = []string{
		"deployment", "replicaset", "statefulset", "daemonset", "job", "cronjob", "namespace", "serviceaccount", "serviceaccount-token",
		"garbage-collector", "node-lifecycle", "taint-eviction", "pod-garbage-collector", "disruption", "endpointslice", "endpoints",
		"root-ca-certificate-publisher", "resourcequota", "ttl-after-finished", "clusterrole-aggregation", "persistentvolumeclaim-protection",
	}
)

func (f *Fleet) kubeControllerManager(cluster string, controllers []string) process {
	purpose := cluster + "/kcm"
	kubeconfig := f.paths.ComponentKubeconfig(cluster, componentIdentity)
	pki := f.pki(cluster)
	return process{
		name:   cluster + "-kcm",
		binary: f.paths.Binary("kube-controller-manager"),
		ports:  []string{purpose},
		needs:  []string{cluster + "-apiserver"},
		ready:  probe{url: f.ports.URL(purpose) + "/healthz", cluster: cluster},
		args: []string{
			"--kubeconfig=" + kubeconfig,
			"--authentication-kubeconfig=" + kubeconfig,
			"--authorization-kubeconfig=" + kubeconfig,
			"--bind-address=127.0.0.1",
			fmt.Sprintf("--secure-port=%d", f.ports.Of(purpose)),
			"--tls-cert-file=" + pki.File("serving/tls.crt"),
			"--tls-private-key-file=" + pki.File("serving/tls.key"),
			"--client-ca-file=" + pki.File("ca.crt"),
			"--root-ca-file=" + pki.File("ca.crt"),
			"--cluster-signing-cert-file=" + pki.File("ca.crt"),
			"--cluster-signing-key-file=" + pki.File("ca.key"),
			"--service-account-private-key-file=" + pki.File("sa.key"),
			"--use-service-account-credentials=false",
			"--leader-elect=false",
			"--controllers=" + strings.Join(controllers, "-controller,") + "-controller",
			"--kube-api-qps=200",
			"--kube-api-burst=400",
			"--profiling=false",
			"--v=1",
			"--cluster-name=" + cluster,
		},
	}
}

// member lists what runs beside a member's apiserver: controllers, the scheduler, kwok, which
// plays the kubelets of its nodes, and in some a metrics-server.
func (f *Fleet) member(c topology.Cluster) []process {
	name := c.Name
	kubeconfig := f.paths.ComponentKubeconfig(name, componentIdentity)
	pki := f.pki(name)
	all := []process{
		f.kubeControllerManager(name, memberControllers),
		{
			name:   name + "-scheduler",
			binary: f.paths.Binary("kube-scheduler"),
			ports:  []string{name + "/scheduler"},
			needs:  []string{name + "-apiserver"},
			ready:  probe{url: f.ports.URL(name+"/scheduler") + "/healthz", cluster: name},
			args: []string{
				"--kubeconfig=" + kubeconfig,
				"--authentication-kubeconfig=" + kubeconfig,
				"--authorization-kubeconfig=" + kubeconfig,
				"--bind-address=127.0.0.1",
				fmt.Sprintf("--secure-port=%d", f.ports.Of(name+"/scheduler")),
				"--leader-elect=false",
				"--tls-cert-file=" + pki.File("serving/tls.crt"),
				"--tls-private-key-file=" + pki.File("serving/tls.key"),
				"--profiling=false",
				"--v=1",
			},
		},
		{
			name:   name + "-kwok",
			binary: f.paths.Binary("kwok"),
			ports:  []string{name + "/kwok"},
			needs:  []string{name + "-apiserver"},
			ready:  probe{url: "http://" + f.ports.Addr(name+"/kwok") + "/healthz"},
			args: []string{
				"--kubeconfig=" + kubeconfig,
				"--config=" + f.paths.Config("kwok.yaml"),
				"--manage-all-nodes=true",
				"--cidr=10.244.0.0/16",
				// Where the apiserver finds the kubelet of every node: kwok plays it, for logs and attach.
				// Without both, kwok takes a node's addresses away each time that the node was
				// given up and comes back.
				"--node-ip=127.0.0.1",
				"--node-name=127.0.0.1",
				fmt.Sprintf("--node-port=%d", f.ports.Of(name+"/kwok")),
				"--server-address=" + f.ports.Addr(name+"/kwok"),
				"--tls-cert-file=" + pki.File("serving/tls.crt"),
				"--tls-private-key-file=" + pki.File("serving/tls.key"),
				"--node-lease-duration-seconds=40",
			},
		},
	}
	if c.Metrics {
		all = append(all, f.metricsServer(c))
	}
	return all
}
