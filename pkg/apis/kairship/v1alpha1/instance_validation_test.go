package v1alpha1_test

import (
	"fmt"
	"strings"
	"testing"
)

func TestInstanceValidation(t *testing.T) {
	kube := newClient(t)
	const external = "mode: External\nkubeconfigSecretRef: {name: alpha}"
	const managed = "mode: Managed\nhostCluster: m1"
	for _, c := range []validationCase{
		{name: "alpha", reason: "the shortest External instance is accepted", spec: external},
		{name: "alpha", reason: "everything an External instance may say is accepted", spec: `
alias: Alpha (production)
mode: External
kubeconfigSecretRef: {namespace: elsewhere, name: alpha.creds, key: admin.conf}
karmadaVersion: v1.18.2-rc.1
deletionPolicy: Retain`},
		{name: "alpha", reason: "the shortest Managed instance is accepted", spec: managed},
		{name: "alpha", reason: "everything a Managed instance may say is accepted", spec: `
mode: Managed
hostCluster: m1
karmadaVersion: v1.18.2
deletionPolicy: Delete
components:
  failover: {enabled: true, clusterStatusUpdateFrequency: 10s, clusterMonitorPeriod: 5s, clusterMonitorGracePeriod: 1m30s,
    clusterStartupGracePeriod: 2m, clusterFailureThreshold: 30s, clusterSuccessThreshold: 30s, gracefulEvictionTimeout: 10m}
  descheduler: {enabled: true, replicas: 2, interval: 2m, unschedulableThreshold: 1.5m}
  metricsAdapter: {enabled: true, replicas: 2}
  etcd: {replicas: 3, storage: {size: 10Gi, storageClassName: fast.ssd}, resources: {requests: {cpu: 500m, memory: 1Gi}, limits: {cpu: 500m, memory: 2G}}}
  apiServer: {replicas: 2, serviceType: LoadBalancer, certSANs: [karmada.example.com, 10.0.0.1]}
  aggregatedAPIServer: {replicas: 2}
  kubeControllerManager: {replicas: 2}
  controllerManager: {replicas: 2}
  scheduler: {replicas: 2, extraArgs: {v: "4", kube-api-qps: "80"}, resources: {limits: {memory: 1Gi}}}
  webhook: {replicas: 2}
  featureGates: {PropagateDeps: false, CustomizedClusterResourceModeling: true}
  imageRegistry: registry.example.com:5000/mirror
  crdTarballURL: https://files.example.com/crds.tar.gz`},
		{name: "alpha", reason: "kinds of any group may be collected", spec: external + `
collect:
  ofInstance: [{group: argoproj.io, version: v1alpha1, resource: rollouts}, {version: v1, resource: endpoints}]
  ofMembers: [{group: secrets-store.csi.x-k8s.io, version: v1, resource: secretproviderclasses}]`},
		{
			name: "alpha", reason: "Secrets are not collected", spec: external + "\ncollect: {ofMembers: [{version: v1, resource: secrets}]}",
			want: []string{"spec.collect.ofMembers[0].resource", "Secrets are not collected"},
		},
		{
			name: "alpha", reason: "nor are they by another name", spec: external + "\ncollect: {ofInstance: [{version: v1, resource: Secrets}]}",
			want: []string{"spec.collect.ofInstance[0].resource", "plural name of a kind in lower case"},
		},
		{
			name: "alpha", reason: "not everything of a group is collected", spec: external + "\ncollect: {ofInstance: [{group: apps, version: v1, resource: '*'}]}",
			want: []string{"spec.collect.ofInstance[0].resource", "plural name of a kind in lower case"},
		},
		{
			name: "alpha", reason: "nor of all groups", spec: external + "\ncollect: {ofInstance: [{group: '*', version: v1, resource: secrets}]}",
			want: []string{"spec.collect.ofInstance[0].group", "must be an API group"},
		},
		{
			name: "alpha", reason: "a kind is collected in one version", spec: external + "\ncollect: {ofInstance: [{group: apps, version: v1, resource: x}, {group: apps, version: v2, resource: x}]}",
			want: []string{"spec.collect.ofInstance[1]", "Duplicate value"},
		},
		{name: strings.Repeat("a", 34), reason: "a Managed name of 34 characters is accepted", spec: managed},
		{
			name: strings.Repeat("a", 35), reason: "the operator makes longer names from a Managed one", spec: managed,
			want: []string{"metadata: Invalid value", "at most 34 characters"},
		},
		{
			name: "alpha", reason: "etcd needs a majority", spec: managed + "\ncomponents: {etcd: {replicas: 2}}",
			want: []string{"spec.components.etcd.replicas", `supported values: "1", "3", "5"`},
		},
		{
			name: "alpha", reason: "a volume has a size", spec: managed + "\ncomponents: {etcd: {storage: {size: 1Mi}}}",
			want: []string{"spec.components.etcd.storage.size", "must be a quantity of at least 100Mi"},
		},
		{
			name: "alpha", reason: "a Service has a known type", spec: managed + "\ncomponents: {apiServer: {serviceType: ExternalName}}",
			want: []string{"spec.components.apiServer.serviceType", "supported values"},
		},
		{
			name: "alpha", reason: "failover is switched in one place", spec: managed + "\ncomponents: {featureGates: {Failover: true}}",
			want: []string{"spec.components.featureGates", "components.failover.enabled"},
		},
		{
			name: "alpha", reason: "the name of a gate becomes part of an argument", spec: managed + "\ncomponents: {featureGates: {'A=true,B': true}}",
			want: []string{"spec.components.featureGates", "must be names of feature gates"},
		},
		{
			name: "alpha", reason: "a registry is no URL", spec: managed + "\ncomponents: {imageRegistry: 'https://registry.example.com'}",
			want: []string{"spec.components.imageRegistry", "must be a registry"},
		},
		{
			name: "alpha", reason: "the tarball's URL holds no credentials", spec: managed + "\ncomponents: {crdTarballURL: 'https://me:pw@files.example.com/crds.tar.gz'}",
			want: []string{"spec.components.crdTarballURL", "without credentials"},
		},
		{name: "k-alpha", reason: "the prefix k- is free for instances: theirs get another one", spec: external},
		{name: strings.Repeat("a", 50), reason: "a name of 50 characters is accepted", spec: external},
		{
			name: strings.Repeat("a", 51), reason: "a name of 51 characters is too long", spec: external,
			want: []string{"metadata: Invalid value", "at most 50 characters"},
		},
		{
			name: "a.b", reason: "a name with a dot is no DNS label", spec: external,
			want: []string{"metadata: Invalid value", "lower-case letters, digits and '-'"},
		},
		{name: "alpha", reason: "the mode is required", spec: "alias: Alpha", want: []string{"spec.mode", "Required value"}},
		{name: "alpha", reason: "an unknown mode is refused", spec: "mode: Imported", want: []string{"spec.mode", `supported values: "External", "Managed"`}},
		{
			name: "alpha", reason: "External needs credentials", spec: "mode: External",
			want: []string{"spec.kubeconfigSecretRef: Required value", "mode External needs kubeconfigSecretRef"},
		},
		{
			name: "alpha", reason: "External has no host cluster", spec: external + "\nhostCluster: m1",
			want: []string{"spec.hostCluster: Forbidden", "hostCluster is for mode Managed"},
		},
		{
			name: "alpha", reason: "External has no components of ours", spec: external + "\ncomponents: {failover: {enabled: true}}",
			want: []string{"spec.components: Forbidden", "components is for mode Managed"},
		},
		{
			name: "alpha", reason: "an External Karmada is never deleted", spec: external + "\ndeletionPolicy: Delete",
			want: []string{"spec.deletionPolicy", "never uninstalls an External Karmada"},
		},
		{
			name: "alpha", reason: "Managed needs a host cluster", spec: "mode: Managed",
			want: []string{"spec.hostCluster: Required value", "mode Managed needs hostCluster"},
		},
		{
			name: "alpha", reason: "Managed brings its own credentials", spec: managed + "\nkubeconfigSecretRef: {name: alpha}",
			want: []string{"spec.kubeconfigSecretRef: Forbidden", "kubeconfigSecretRef is for mode External"},
		},
		{
			name: "alpha", reason: "a virtual cluster hosts nothing", spec: "mode: Managed\nhostCluster: k-beta",
			want: []string{"spec.hostCluster", "names that begin with k- are virtual"},
		},
		{
			name: "alpha", reason: "a version has its v and three numbers", spec: external + "\nkarmadaVersion: '1.18'",
			want: []string{"spec.karmadaVersion", "must be a version such as v1.18.2"},
		},
		{
			name: "alpha", reason: "an unknown deletion policy is refused", spec: managed + "\ndeletionPolicy: Orphan",
			want: []string{"spec.deletionPolicy", `supported values: "Retain", "Delete"`},
		},
		{
			name: "alpha", reason: "an alias has a limit", spec: external + "\nalias: " + strings.Repeat("a", 129),
			want: []string{"spec.alias", "128"},
		},
		{
			name: "alpha", reason: "the Secret's name is required", spec: "mode: External\nkubeconfigSecretRef: {namespace: default}",
			want: []string{"spec.kubeconfigSecretRef.name", "Required value"},
		},
		{
			name: "alpha", reason: "an empty Secret name is refused", spec: "mode: External\nkubeconfigSecretRef: {name: ''}",
			want: []string{"spec.kubeconfigSecretRef.name", "must be the name of a Secret"},
		},
		{
			name: "alpha", reason: "a Secret's namespace is a DNS label", spec: "mode: External\nkubeconfigSecretRef: {namespace: a/b, name: alpha}",
			want: []string{"spec.kubeconfigSecretRef.namespace", "must be the name of a namespace"},
		},
		{
			name: "alpha", reason: "a Secret's key has few characters to choose from", spec: "mode: External\nkubeconfigSecretRef: {name: alpha, key: a/b}",
			want: []string{"spec.kubeconfigSecretRef.key", "must be a key of a Secret"},
		},
		{
			name: "alpha", reason: "a timer is a duration", spec: managed + "\ncomponents: {failover: {clusterMonitorPeriod: soon}}",
			want: []string{"spec.components.failover.clusterMonitorPeriod", "must be a duration of at least 1s"},
		},
		{
			name: "alpha", reason: "a timer is not shorter than a second", spec: managed + "\ncomponents: {descheduler: {interval: 500ms}}",
			want: []string{"spec.components.descheduler.interval", "must be a duration of at least 1s"},
		},
		{
			name: "alpha", reason: "the grace period of a new cluster is a duration", spec: managed + "\ncomponents: {failover: {clusterStartupGracePeriod: 0s}}",
			want: []string{"spec.components.failover.clusterStartupGracePeriod", "must be a duration of at least 1s"},
		},
		{
			name: "alpha", reason: "a flag has no dashes", spec: managed + "\ncomponents: {webhook: {extraArgs: {'--v': '4'}}}",
			want: []string{"spec.components.webhook.extraArgs", "must be names of flags without their dashes"},
		},
		{
			name: "alpha", reason: "the name of a flag becomes part of an argument", spec: managed + "\ncomponents: {apiServer: {extraArgs: {'v=4 --etcd-servers': x}}}",
			want: []string{"spec.components.apiServer.extraArgs", "must be names of flags without their dashes"},
		},
		{
			name: "alpha", reason: "the value of a flag has a limit", spec: managed + "\ncomponents: {descheduler: {extraArgs: {v: " + strings.Repeat("4", 1025) + "a}}}",
			want: []string{"spec.components.descheduler.extraArgs.v", "1024"},
		},
		{
			name: "alpha", reason: "there are at most 64 flags", spec: managed + "\ncomponents: {metricsAdapter: {extraArgs: {" + manyFlags(65) + "}}}",
			want: []string{"spec.components.metricsAdapter.extraArgs", "64"},
		},
		{
			name: "alpha", reason: "CPU is a quantity", spec: managed + "\ncomponents: {controllerManager: {resources: {requests: {cpu: much}}}}",
			want: []string{"spec.components.controllerManager.resources.requests.cpu", "must be a quantity above 0"},
		},
		{
			name: "alpha", reason: "memory is not nothing", spec: managed + "\ncomponents: {etcd: {resources: {limits: {memory: '0'}}}}",
			want: []string{"spec.components.etcd.resources.limits.memory", "must be a quantity above 0"},
		},
		{
			name: "alpha", reason: "a limit is no less than a request", spec: managed + "\ncomponents: {webhook: {resources: {requests: {cpu: '1', memory: 1Gi}, limits: {cpu: 900m, memory: 1000M}}}}",
			want: []string{"spec.components.webhook.resources.limits", "what is requested of cpu", "what is requested of memory"},
		},
		{
			name: "alpha", reason: "a duration without a unit is refused", spec: managed + "\ncomponents: {failover: {gracefulEvictionTimeout: '30'}}",
			want: []string{"spec.components.failover.gracefulEvictionTimeout", "must be a duration of at least 1s"},
		},
		{
			name: "alpha", reason: "there is at least one replica", spec: managed + "\ncomponents: {metricsAdapter: {replicas: 0}}",
			want: []string{"spec.components.metricsAdapter.replicas", "greater than or equal to 1"},
		},
	} {
		c.run(t, kube, "Instance")
	}
}

// manyFlags are flags with values, as YAML.
func manyFlags(n int) string {
	var flags []string
	for i := range n {
		flags = append(flags, fmt.Sprintf("flag-%d: x", i))
	}
	return strings.Join(flags, ", ")
}
