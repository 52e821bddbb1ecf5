package fleet

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/kairship-io/kairship/deploy/local/internal/topology"
)

// openAddresses has Kairship connect to this machine, where the whole fleet is.
const openAddresses = "--open-address-ranges=127.0.0.0/8"

// karmada lists what makes an apiserver a Karmada control plane. The probe intervals and thresholds
// of member clusters are short, so that a dead member is noticed in seconds.
func (f *Fleet) karmada(name string) []process {
	kubeconfig := f.paths.ComponentKubeconfig(name, componentIdentity)
	pki := f.pki(name)
	return []process{
		f.kubeControllerManager(name, instanceControllers),
		{
			name:   name + "-aggregated-apiserver",
			binary: f.paths.Binary("karmada-aggregated-apiserver"),
			ports:  []string{name + "/agg"},
			needs:  []string{name + "-apiserver"},
			ready:  probe{url: f.ports.URL(name+"/agg") + "/readyz", cluster: name},
			args: []string{
				"--kubeconfig=" + kubeconfig,
				"--authentication-kubeconfig=" + kubeconfig,
				"--authorization-kubeconfig=" + kubeconfig,
				"--etcd-servers=http://" + f.ports.Addr("etcd/client"),
				"--etcd-prefix=/" + name,
				"--tls-cert-file=" + pki.File("serving/tls.crt"),
				"--tls-private-key-file=" + pki.File("serving/tls.key"),
				"--bind-address=127.0.0.1",
				fmt.Sprintf("--secure-port=%d", f.ports.Of(name+"/agg")),
			},
		},
		{
			name:   name + "-webhook",
			binary: f.paths.Binary("karmada-webhook"),
			ports:  []string{name + "/webhook", name + "/webhook-metrics", name + "/webhook-health"},
			needs:  []string{name + "/setup"},
			// The health port has no checks; this one answers once the webhooks are served.
			ready: probe{url: f.ports.URL(name+"/webhook") + "/readyz/", cluster: name},
			args: []string{
				"--kubeconfig=" + kubeconfig,
				"--bind-address=127.0.0.1",
				fmt.Sprintf("--secure-port=%d", f.ports.Of(name+"/webhook")),
				"--metrics-bind-address=" + f.ports.Addr(name+"/webhook-metrics"),
				"--health-probe-bind-address=" + f.ports.Addr(name+"/webhook-health"),
				"--cert-dir=" + pki.File("serving"),
				"--allow-no-execute-taint-policy=true",
			},
		},
		{
			name:   name + "-controller-manager",
			binary: f.paths.Binary("karmada-controller-manager"),
			ports:  []string{name + "/karmada-metrics", name + "/karmada-health"},
			needs:  []string{name + "/api"},
			ready:  probe{url: "http://" + f.ports.Addr(name+"/karmada-health") + "/healthz"},
			args: []string{
				"--kubeconfig=" + kubeconfig,
				"--leader-elect=false",
				"--metrics-bind-address=" + f.ports.Addr(name+"/karmada-metrics"),
				"--health-probe-bind-address=" + f.ports.Addr(name+"/karmada-health"),
				// Karmada reports about a Work that it could not be applied, tries again, and reports that it was.
				// After its own pause of 5 ms its cache may not have the former yet; then it does not say
				// the latter, and never again (https://github.com/karmada-io/karmada/issues/6858).
				"--rate-limiter-base-delay=100ms",
				// Each failure doubles the pause, up to 16m40s: after an outage of twelve seconds what a
				// member runs was not sent or removed for a quarter of an hour.
				"--rate-limiter-max-delay=5s",
				"--cluster-status-update-frequency=2s",
				"--cluster-failure-threshold=4s",
				"--cluster-success-threshold=2s",
				"--cluster-monitor-period=2s",
				"--cluster-monitor-grace-period=10s",
				"--rate-limiter-qps=1000",
				"--rate-limiter-bucket-size=2000",
				"--concurrent-work-syncs=10",
				"--concurrent-resourcebinding-syncs=10",
				"--concurrent-resource-template-syncs=10",
				"--cluster-api-qps=500",
				"--cluster-api-burst=1000",
				"--kube-api-qps=500",
				"--kube-api-burst=1000",
				"--v=0",
			},
		},
		{
			name:   name + "-scheduler",
			binary: f.paths.Binary("karmada-scheduler"),
			ports:  []string{name + "/scheduler-metrics", name + "/scheduler-health"},
			needs:  []string{name + "/api"},
			ready:  probe{url: "http://" + f.ports.Addr(name+"/scheduler-health") + "/healthz"},
			args: []string{
				"--kubeconfig=" + kubeconfig,
				"--leader-elect=false",
				"--metrics-bind-address=" + f.ports.Addr(name+"/scheduler-metrics"),
				"--health-probe-bind-address=" + f.ports.Addr(name+"/scheduler-health"),
				"--enable-scheduler-estimator=false",
				"--rate-limiter-max-delay=5s",
				"--rate-limiter-qps=1000",
				"--rate-limiter-bucket-size=2000",
				"--kube-api-qps=500",
				"--kube-api-burst=1000",
				"--v=0",
			},
		},
	}
}

// index lists Clusterpedia's processes and, where the settings ask for it, their database.
func (f *Fleet) index() []process {
	kubeconfig := f.paths.ComponentKubeconfig("global", componentIdentity)
	pki := f.pki("global")
	needs := []string{"global/setup"}
	var all []process
	if f.settings.DB == Postgres {
		all = append(all, f.postgres.process())
		needs = append(needs, "postgres/database")
	}
	return append(all,
		process{
			name:   "clusterpedia-apiserver",
			binary: f.paths.Binary("clusterpedia-apiserver"),
			ports:  []string{"clusterpedia/api"},
			needs:  needs,
			ready:  probe{url: f.ports.URL("clusterpedia/api") + "/readyz", cluster: "global"},
			args: []string{
				"--kubeconfig=" + kubeconfig,
				"--authentication-kubeconfig=" + kubeconfig,
				"--authorization-kubeconfig=" + kubeconfig,
				"--bind-address=127.0.0.1",
				fmt.Sprintf("--secure-port=%d", f.ports.Of("clusterpedia/api")),
				"--tls-cert-file=" + pki.File("serving/tls.crt"),
				"--tls-private-key-file=" + pki.File("serving/tls.key"),
				"--storage-config=" + f.storageConfig(),
				"--feature-gates=AllowParameterizedSQLQuery=true",
				"-v=1",
			},
		},
		process{
			name:   "clustersynchro-manager",
			binary: f.paths.Binary("clusterpedia-clustersynchro-manager"),
			ports:  []string{"clusterpedia/metrics"},
			// Both create the tables when they are missing; at the same time, one of them fails.
			needs: []string{"clusterpedia-apiserver"},
			ready: probe{tcp: f.ports.Addr("clusterpedia/metrics")},
			args: []string{
				"--kubeconfig=" + kubeconfig,
				"--storage-config=" + f.storageConfig(),
				// There is one, and it leads; but its Lease is its heartbeat, by which Kairship sees that it ended. The
				// times let a new one take over soon, and this one outlive a short outage of the global cluster.
				"--leader-elect=true",
				"--leader-elect-lease-duration=8s",
				"--leader-elect-renew-deadline=7s",
				"--leader-elect-retry-period=1s",
				// The first two prune what Kairship does not show; managedFields alone are half of a list's
				// bytes. With the third it reads the credentials from the Secrets that Kairship stores.
				"--feature-gates=PruneManagedFields=true,PruneLastAppliedConfiguration=true,ClusterAuthenticationFromSecret=true",
				"--kube-api-qps=100",
				"--kube-api-burst=200",
				"--metrics-host=127.0.0.1",
				fmt.Sprintf("--metrics-port=%d", f.ports.Of("clusterpedia/metrics")),
				// With fewer labels it adds figures up in a map that it does not lock when it stops to
				// collect from a cluster, and dies of that now and then ("concurrent map writes").
				"--resource-synchro-metrics-labels=cluster,gvr",
			},
		},
	)
}

// controllerReplicas is the number of Kairship's controller managers; one leads, the others wait.
const controllerReplicas = 2

// apiserverFlags is the variable with more flags for Kairship's API server: benchmarks
// send more as one user than one user may.
const apiserverFlags = "KAIRSHIP_APISERVER_FLAGS"

func (f *Fleet) kairship() []process {
	ownCert, ownKey := f.pki("global").Server(kairshipServer)
	all := []process{{
		name:   "kairship-apiserver",
		binary: f.paths.Binary("kairship-apiserver"),
		ports:  []string{"kairship/api", "kairship/tls", "kairship/pprof"},
		needs:  []string{"global/accounts"},
		ready:  probe{url: "http://" + f.ports.Addr("kairship/api") + "/readyz"},
		args: slices.Concat([]string{
			"--kubeconfig=" + f.paths.ComponentKubeconfig("global", apiserverIdentity),
			"--listen-address=" + f.ports.Addr("kairship/api"),
			// kubectl sends no token over plain HTTP.
			"--tls-listen-address=" + f.ports.Addr("kairship/tls"),
			"--tls-cert-file=" + ownCert,
			"--tls-private-key-file=" + ownKey,
			"--index-database-file=" + f.paths.IndexDatabase(f.settings.DB),
			"--external-url=" + f.ports.URL("kairship/tls"),
			"--external-ca-file=" + f.pki("global").File("ca.crt"),
			"--pprof-address=" + f.ports.Addr("kairship/pprof"),
			openAddresses,
			"--mcp-writes",
			// The operator of the fleet runs no images, so it takes every version: its own, and those that tests try upgrades to.
			"--karmada-versions=v1.18.2,v1.19.0,v1.20.0",
		}, f.signsIn(), strings.Fields(os.Getenv(apiserverFlags))),
	}}
	cert, key := f.pki("global").Server(webhookIdentity)
	for i := range controllerReplicas {
		name := fmt.Sprintf("kairship-%d", i)
		all = append(all, process{
			name:   fmt.Sprintf("kairship-controller-manager-%d", i),
			binary: f.paths.Binary("kairship-controller-manager"),
			ports:  []string{name + "/metrics", name + "/health", name + "/webhook"},
			needs:  []string{"global/accounts"},
			ready:  probe{url: "http://" + f.ports.Addr(name+"/health") + "/readyz"},
			args: []string{
				"--kubeconfig=" + f.paths.ComponentKubeconfig("global", controllerIdentity),
				"--leader-elect=true",
				"--leader-election-namespace=" + topology.SystemNamespace,
				// A leader that gives up is not started again here, and the global cluster of a busy machine answers late.
				"--leader-election-renew-deadline=14s",
				"--metrics-bind-address=" + f.ports.Addr(name+"/metrics"),
				"--health-probe-bind-address=" + f.ports.Addr(name+"/health"),
				"--webhook-bind-address=" + f.ports.Addr(name+"/webhook"),
				"--webhook-cert-file=" + cert,
				"--webhook-key-file=" + key,
				"--webhook-secret=" + topology.SystemNamespace + "/" + webhookSecret,
				"--index-database-file=" + f.paths.IndexDatabase(f.settings.DB),
				openAddresses,
				// A few small instances are looked at more often than many large ones, so that what changes is seen at once.
				"--statistics-interval=2s",
				"--import-interval=5s",
				"--access-interval=5s",
				"--retry-longest-pause=10s",
				// The tests serve Karmada's CRDs on this machine.
				"--allowed-crd-hosts=http://127.0.0.1",
			},
		})
	}
	return all
}
