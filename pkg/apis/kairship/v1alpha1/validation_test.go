package v1alpha1_test

import (
	"context"
	"os"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kairship-io/kairship/pkg/apis/apitest"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

func TestMain(m *testing.M) { os.Exit(apitest.Run(m)) }

func newClient(t *testing.T) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(apitest.Config(t), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// manifest is an object as a person writes it, defaults not filled in.
func manifest(t *testing.T, kind, name, spec string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	text := "apiVersion: kairship.io/v1alpha1\nkind: " + kind + "\nspec:\n"
	for line := range strings.Lines(strings.Trim(spec, "\n")) {
		text += "  " + line
	}
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	object.SetName(name)
	return object
}

type validationCase struct {
	name   string // the object's
	reason string
	spec   string
	want   []string // parts of the error; none when the object is accepted
}

func (c validationCase) run(t *testing.T, kube client.Client, kind string) {
	t.Helper()
	t.Run(c.reason, func(t *testing.T) {
		object := manifest(t, kind, c.name, c.spec)
		err := kube.Create(t.Context(), object, client.DryRunAll)
		checkRejection(t, err, c.want)
	})
}

func checkRejection(t *testing.T, err error, want []string) {
	t.Helper()
	if len(want) == 0 {
		if err != nil {
			t.Fatalf("refused: %v", err)
		}
		return
	}
	if !apierrors.IsInvalid(err) {
		t.Fatalf("got %v, want a refusal that says %q", err, want)
	}
	for _, part := range want {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not say %q:\n%v", part, err)
		}
	}
	// A rule that fails to evaluate refuses too, with words nobody understands.
	for _, part := range []string{"no such key", "no such overload", "rule evaluation error"} {
		if strings.Contains(err.Error(), part) {
			t.Errorf("the error shows a rule that could not be evaluated:\n%v", err)
		}
	}
}

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
    clusterFailureThreshold: 30s, clusterSuccessThreshold: 30s, gracefulEvictionTimeout: 10m}
  descheduler: {enabled: true, interval: 2m, unschedulableThreshold: 1.5m}
  metricsAdapter: {enabled: true, replicas: 2}`},
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

func TestClusterValidation(t *testing.T) {
	kube := newClient(t)
	const physical = "apiEndpoint: https://10.0.0.1:6443\ncredentialsSecretRef: {name: m1}"
	endpoint := func(url string) string {
		return "apiEndpoint: '" + url + "'\ncredentialsSecretRef: {name: m1}"
	}
	proxy := func(url string) string { return physical + "\nproxyURL: '" + url + "'" }
	for _, c := range []validationCase{
		{name: "m1", reason: "the shortest cluster is accepted, and is Physical", spec: physical},
		{name: "m1", reason: "everything a cluster may say is accepted", spec: `
type: Physical
hidden: true
apiEndpoint: https://rancher.example.com/k8s/clusters/c-1
credentialsSecretRef: {namespace: elsewhere, name: m1, key: admin.conf}
provider: aws
region: eu-central-1
zone: eu-central-1a
alias: Frankfurt
proxyURL: socks5://proxy.example.com:1080
instanceRef: {name: alpha}`},
		{name: "m1", reason: "IPv6 endpoints are accepted", spec: endpoint("https://[::1]:6443")},
		{name: "k-alpha", reason: "a virtual cluster is accepted", spec: "type: Virtual\nhidden: true\ninstanceRef: {name: alpha}\n" + physical},
		{name: "k-alpha", reason: "a virtual cluster may wait for its endpoint", spec: "type: Virtual\ninstanceRef: {name: alpha}"},
		{name: strings.Repeat("m", 48), reason: "a name of 48 characters is accepted", spec: physical},
		{
			name: strings.Repeat("m", 49), reason: "Karmada takes no longer name than 48 characters", spec: physical,
			want: []string{"metadata: Invalid value", "at most 48 characters"},
		},
		{
			name: "m.1", reason: "a name with a dot is no DNS label", spec: physical,
			want: []string{"metadata: Invalid value", "lower-case letters, digits and '-'"},
		},
		{
			name: "k-m1", reason: "the prefix k- is reserved", spec: physical,
			want: []string{"metadata: Invalid value", "names that begin with k- are reserved"},
		},
		{
			name: "alpha", reason: "a virtual cluster has the prefix", spec: "type: Virtual\ninstanceRef: {name: alpha}",
			want: []string{"metadata: Invalid value", "its name is k- followed by spec.instanceRef.name"},
		},
		{
			name: "k-alpha", reason: "a virtual cluster is called after its instance", spec: "type: Virtual\ninstanceRef: {name: beta}",
			want: []string{"metadata: Invalid value", "its name is k- followed by spec.instanceRef.name"},
		},
		{
			name: "k-alpha", reason: "a virtual cluster stands for an instance", spec: "type: Virtual",
			want: []string{"metadata: Invalid value", "its name is k- followed by spec.instanceRef.name"},
		},
		{name: "m1", reason: "an unknown type is refused", spec: "type: Edge\n" + physical, want: []string{"spec.type", `supported values: "Physical", "Virtual"`}},
		{
			name: "m1", reason: "a physical cluster has an endpoint", spec: "credentialsSecretRef: {name: m1}",
			want: []string{"spec.apiEndpoint: Required value", "a Physical cluster needs apiEndpoint"},
		},
		{
			name: "m1", reason: "a physical cluster has credentials", spec: "apiEndpoint: https://10.0.0.1:6443",
			want: []string{"spec.credentialsSecretRef: Required value", "a Physical cluster needs credentialsSecretRef"},
		},
		{name: "m1", reason: "plain http would show the credentials", spec: endpoint("http://10.0.0.1:8080"), want: []string{"spec.apiEndpoint", "must be an https URL"}},
		{name: "m1", reason: "an endpoint is more than a host", spec: endpoint("10.0.0.1:6443"), want: []string{"spec.apiEndpoint", "must be an https URL"}},
		{name: "m1", reason: "an endpoint has a host", spec: endpoint("https:///path"), want: []string{"spec.apiEndpoint", "must be an https URL"}},
		{name: "m1", reason: "credentials do not belong into a URL", spec: endpoint("https://me:secret@10.0.0.1"), want: []string{"spec.apiEndpoint", "must be an https URL"}},
		{name: "m1", reason: "a query would be lost", spec: endpoint("https://10.0.0.1?token=x"), want: []string{"spec.apiEndpoint", "must be an https URL"}},
		{name: "m1", reason: "an empty endpoint is refused", spec: endpoint(""), want: []string{"spec.apiEndpoint", "must be an https URL"}},
		{name: "m1", reason: "an http proxy is accepted", spec: proxy("http://proxy.example.com:3128")},
		{name: "m1", reason: "an https proxy is accepted", spec: proxy("https://proxy.example.com")},
		{name: "m1", reason: "no other scheme is a proxy", spec: proxy("ftp://proxy.example.com"), want: []string{"spec.proxyURL", "must be an http, https or socks5 URL"}},
		{name: "m1", reason: "a proxy's password does not belong into the object", spec: proxy("http://me:secret@proxy"), want: []string{"spec.proxyURL", "without credentials"}},
		{
			name: "m1", reason: "a Secret's key has few characters to choose from", spec: "apiEndpoint: https://10.0.0.1\ncredentialsSecretRef: {name: m1, key: a/b}",
			want: []string{"spec.credentialsSecretRef.key", "must be a key of a Secret"},
		},
		{
			name: "m1", reason: "an instance's name is a DNS label", spec: physical + "\ninstanceRef: {name: A_B}",
			want: []string{"spec.instanceRef.name", "must be the name of an Instance"},
		},
		{name: "m1", reason: "a region has a limit", spec: physical + "\nregion: " + strings.Repeat("r", 64), want: []string{"spec.region", "63"}},
	} {
		c.run(t, kube, "Cluster")
	}
}

func TestTransitions(t *testing.T) {
	kube := newClient(t)
	for _, c := range []struct {
		reason       string
		kind, before string
		object       string
		path         []string
		to           any
		want         []string
	}{
		{
			reason: "the mode cannot change", kind: "Instance", object: "moved", before: "mode: External\nkubeconfigSecretRef: {name: a}",
			path: []string{"spec", "mode"}, to: "Managed", want: []string{"spec.mode", "mode cannot change"},
		},
		{
			reason: "a control plane does not move", kind: "Instance", object: "moved", before: "mode: Managed\nhostCluster: m1",
			path: []string{"spec", "hostCluster"}, to: "m2", want: []string{"spec.hostCluster", "hostCluster cannot change"},
		},
		{
			reason: "another Secret is fine", kind: "Instance", object: "moved", before: "mode: External\nkubeconfigSecretRef: {name: a}",
			path: []string{"spec", "kubeconfigSecretRef", "name"}, to: "b",
		},
		{
			reason: "the type cannot change", kind: "Cluster", object: "moved", before: "apiEndpoint: https://a\ncredentialsSecretRef: {name: a}",
			path: []string{"spec", "type"}, to: "Virtual", want: []string{"spec.type", "type cannot change"},
		},
		{
			reason: "another endpoint is fine", kind: "Cluster", object: "moved", before: "apiEndpoint: https://a\ncredentialsSecretRef: {name: a}",
			path: []string{"spec", "apiEndpoint"}, to: "https://b",
		},
		{
			reason: "a cluster may join an instance later", kind: "Cluster", object: "moved", before: "apiEndpoint: https://a\ncredentialsSecretRef: {name: a}",
			path: []string{"spec", "instanceRef"}, to: map[string]any{"name": "alpha"},
		},
	} {
		t.Run(c.reason, func(t *testing.T) {
			object := manifest(t, c.kind, c.object, c.before)
			if err := kube.Create(t.Context(), object); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := kube.Delete(context.Background(), object); err != nil {
					t.Error(err)
				}
			})
			if err := unstructured.SetNestedField(object.Object, c.to, c.path...); err != nil {
				t.Fatal(err)
			}
			checkRejection(t, kube.Update(t.Context(), object), c.want)
		})
	}
}
