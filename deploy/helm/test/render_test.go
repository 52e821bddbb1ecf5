package test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

var update = flag.Bool("update", false, "write what is rendered into testdata/*.golden.yaml")

// TestLint has Helm's own linter look at the chart, with all values of the matrix.
func TestLint(t *testing.T) {
	for name, values := range matrix(t) {
		out, problems, err := helm(t, "lint", chart, "--strict", "--namespace", namespace, "--kube-version", kubeVersion, "--values", values)
		if err != nil {
			t.Errorf("%s: %v\n%s%s", name, err, out, problems)
		}
	}
}

// TestGolden shows in review what a change of the templates does. To accept it:
// KUBEBUILDER_ASSETS=none go test ./deploy/helm/test -run TestGolden -update.
func TestGolden(t *testing.T) {
	for name, values := range matrix(t) {
		file := filepath.Join("testdata", name+".golden.yaml")
		got := withoutGenerated(render(t, values))
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s differs from what is rendered; if that is meant, run this test with -update (-want +got):\n%s", file, diff)
		}
	}
}

// random are the lines with what Helm makes anew in each rendering: passwords, keys and certificates.
var random = regexp.MustCompile(`(?m)^( +)(caBundle|ca\.crt|tls\.crt|tls\.key|password|clusterpedia|kairship|kairship_reader|writer|reader): .*$`)

// withoutGenerated leaves out the rules that are generated from the code: they are in
// files/ for everybody to see; and what is random.
func withoutGenerated(manifest string) string {
	documents := strings.Split(random.ReplaceAllString(manifest, "$1$2: # random"), "\n---\n")
	for i, d := range documents {
		head, _, found := strings.Cut(d, "\nrules:")
		generated := strings.Contains(head, "\n  name: kairship-apiserver\n") || strings.Contains(head, "\n  name: kairship-controller-manager\n")
		if found && generated {
			documents[i] = head + "\nrules: # as in files/"
		}
	}
	return strings.Join(documents, "\n---\n")
}

// TestRefusals says which values are refused, and by what words.
func TestRefusals(t *testing.T) {
	for _, tt := range []struct {
		reason, set, says string
	}{
		{"a value that does not exist", "apiserver.replica=3", "additional properties 'replica' not allowed"},
		{"a section that does not exist", "apisever.replicas=3", "additional properties 'apisever' not allowed"},
		{"no replicas", "apiserver.replicas=0", "/apiserver/replicas"},
		{"a number for a word", "image.tag=1", "/image/tag"},
		{"a level that no program has", "log.level=loud", "/log/level"},
		{"a duration without a unit", "apiserver.shutdownDelay=5", "/apiserver/shutdownDelay"},
		{"an address that is none", "apiserver.externalURL=kairship.example.com", "/apiserver/externalURL"},
		{"a port that is none", "apiserver.service.port=70000", "/apiserver/service/port"},
		{"a Lease without namespace", "index.collectorLease.namespace=", "/index/collectorLease/namespace"},
		{"a certificate without an issuer", "apiserver.tls.certManager.enabled=true", "/apiserver/tls/certManager/issuerRef/name"},
		{"a group without a name", "impersonatedGroups[0]=", "/impersonatedGroups/0"},
		{"extra attributes by a pattern", "impersonatedExtras[0]=*", "/impersonatedExtras/0"},
		{"a reader without namespace", "metrics.readers[0].name=prometheus", "missing property 'namespace'"},
		{"a flag that the chart sets", "apiserver.flags.listen-address=:1", "apiserver.flags.listen-address: the chart sets this flag itself"},
		{"a flag with its dashes", "controllerManager.flags.--workers=a=1", "invalid propertyName '--workers'"},
		{"an Ingress for no host", "apiserver.ingress.enabled=true", "apiserver.ingress.host: must be given"},
		{"a route from no Gateway", "apiserver.httpRoute.enabled=true", "apiserver.httpRoute.parentRefs: must be given"},
		{"a setting of the file that the chart sets", "apiserver.config.listen-address=:1", "apiserver.config.listen-address: the chart sets this flag itself"},
		{"a file beside that of the values", "apiserver.config.log=x,apiserver.flags.config=/a", "apiserver.flags.config: the chart sets this flag itself"},
		{"a variable for what the chart sets", "controllerManager.extraEnv[0].name=KAIRSHIP_LOG_LEVEL", "controllerManager.extraEnv: KAIRSHIP_LOG_LEVEL: the chart sets this flag itself"},
		{"a volume without name", "apiserver.extraVolumes[0].emptyDir.medium=Memory", "missing property 'name'"},
		{"a volume of the chart", "apiserver.extraVolumes[0].name=tls", "apiserver.extraVolumes: the chart has a volume tls itself"},
		{"a mount to nowhere", "apiserver.extraVolumeMounts[0].name=a", "missing property 'mountPath'"},
		{"a wait of no length", "apiserver.flags.wait-for-apis=1500ms", "apiserver: wait-for-apis: write 1500ms in whole hours, minutes and seconds"},
		{"one namespace twice", "instanceSecrets.in[0].namespace=team-a,instanceSecrets.in[1].namespace=team-a", "instanceSecrets.in: the namespace team-a is there twice"},
		{"more replicas at least than at most", "apiserver.autoscaling.enabled=true,apiserver.autoscaling.minReplicas=12", "apiserver.autoscaling: minReplicas is 12, which is more than maxReplicas, 10"},
		{"two authorities", "metrics.serviceMonitor.caSecretName=a,metrics.serviceMonitor.caConfigMapName=b", "metrics.serviceMonitor: give caSecretName or caConfigMapName, not both"},
		{"a token for whatever answers", "metrics.serviceMonitor.enabled=true", "metrics.serviceMonitor.controllerManager: Prometheus sends its token"},
		{"an authority that is not used", "metrics.serviceMonitor.controllerManager.insecureSkipVerify=true,metrics.serviceMonitor.controllerManager.serverName=a", "insecureSkipVerify is not for a certificate"},
		{"Clusterpedia without a database", "bundled.clusterpedia.enabled=true", "bundled.clusterpedia.database.host: must be given"},
		{"Clusterpedia beside Kairship's Secrets", "bundled.postgresql.enabled=true,bundled.clusterpedia.enabled=true,index.collectorLease.namespace=kairship-system", "bundled.clusterpedia: it needs a namespace of its own"},
		{"a volume of no size", "bundled.postgresql.storage.size=20", "/bundled/postgresql/storage/size"},
		{"two certificates", "apiserver.tls.generated.enabled=true,apiserver.tls.certManager.enabled=true,apiserver.tls.certManager.issuerRef.name=a", "apiserver.tls: generated and certManager would both fill the Secret"},
		{"an authority under no key", "metrics.serviceMonitor.controllerManager.caSecretName=a,metrics.serviceMonitor.controllerManager.caKey=", "metrics.serviceMonitor.controllerManager.caKey: must be given"},
	} {
		_, problems, err := helm(t, "template", "kairship", chart, "--namespace", namespace, "--kube-version", kubeVersion, "--set", tt.set)
		if err == nil || !strings.Contains(problems, tt.says) {
			t.Errorf("%s (%s): got error %v, %q, want one that says %q", tt.reason, tt.set, err, problems, tt.says)
		}
	}
	_, problems, err := helm(t, "template", "kairship", chart, "--namespace", "default", "--kube-version", kubeVersion)
	if err == nil || !strings.Contains(problems, "must be installed in the namespace kairship-system") {
		t.Errorf("another namespace: got error %v, %q", err, problems)
	}
}

// TestNumbersAreWrittenOut: Helm reads the numbers of a file as floating-point ones.
func TestNumbersAreWrittenOut(t *testing.T) {
	out := rendered(t, `
apiserver:
  replicas: 2000000
  flags: {max-query-cost: 2000000, user-cost-burst: "3e7", tracing-sample-ratio: 0.25, instance-burst: -1}
  config: {max-body-bytes: 2097152}
  podDisruptionBudget: {maxUnavailable: 3000000}
controllerManager:
  replicas: 4000000
  podDisruptionBudget: {maxUnavailable: 50%}
`)
	for _, want := range []string{
		"replicas: 2000000\n", "replicas: 4000000\n", "maxUnavailable: 3000000\n", "maxUnavailable: 50%\n", "max-body-bytes: 2097152\n",
		`"--max-query-cost=2000000"`, `"--user-cost-burst=3e7"`, `"--tracing-sample-ratio=0.25"`, `"--instance-burst=-1"`,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	out = rendered(t, "apiserver: {autoscaling: {enabled: true, minReplicas: 2000000, maxReplicas: 3000000, targetCPUUtilizationPercentage: 4000000}}")
	for _, want := range []string{"minReplicas: 2000000\n", "maxReplicas: 3000000\n", "averageUtilization: 4000000}"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
}

// TestStartupProbeIsPatientEnough: a pod may take as long to start as it is told to wait.
func TestStartupProbeIsPatientEnough(t *testing.T) {
	for _, tt := range []struct {
		values  string
		seconds int64
	}{
		{"{}", 60},
		{"{flags: {wait-for-apis: 5m}}", 300},
		{"{config: {wait-for-apis: 1h1m1s}}", 3661},
		{"{extraEnv: [{name: KAIRSHIP_WAIT_FOR_APIS, value: 10m}], config: {wait-for-apis: 5m}}", 600},
		{"{flags: {wait-for-apis: 3m}, extraEnv: [{name: KAIRSHIP_WAIT_FOR_APIS, value: 10m}]}", 180},
		{"{flags: {wait-for-apis: 0}}", 0},
	} {
		for _, d := range deployments(t, file(t, "apiserver: "+tt.values+"\ncontrollerManager: "+tt.values+"\n")) {
			probe := pod(t, d).Spec.Containers[0].StartupProbe
			// It waits for two things in turn.
			if patience := int64(probe.PeriodSeconds) * int64(probe.FailureThreshold); patience < 2*tt.seconds+30 || patience > 2*tt.seconds+120 {
				t.Errorf("%s %s: is killed after %d s, and may wait for twice %d s", d.GetName(), tt.values, patience, tt.seconds)
			}
		}
	}
}

// TestPodsAreMadeAnewForAnotherConfig: the programs read their file once.
func TestPodsAreMadeAnewForAnotherConfig(t *testing.T) {
	noted := func(values string) map[string]string {
		all := map[string]string{}
		for _, d := range deployments(t, file(t, values)) {
			all[d.GetName()] = pod(t, d).Annotations["checksum/config"]
		}
		return all
	}
	before := noted("apiserver: {config: {max-query-depth: 30}}")
	after := noted("apiserver: {config: {max-query-depth: 31}}")
	if before["kairship-apiserver"] == "" || before["kairship-apiserver"] == after["kairship-apiserver"] {
		t.Errorf("the apiserver's pods have the same annotations before and after: %v, %v", before, after)
	}
	if before["kairship-controller-manager"] != "" {
		t.Errorf("the controller manager has no file, and %v", before)
	}
}

// TestMonitorsVerify says how Prometheus verifies whom it sends its token to.
func TestMonitorsVerify(t *testing.T) {
	const apiserver, controllers = "kairship-apiserver", "kairship-controller-manager"
	secret := func(name string) map[string]any {
		return map[string]any{"secret": map[string]any{"name": name, "key": "ca.crt"}}
	}
	for _, tt := range []struct {
		reason, values, monitor string
		want                    map[string]any
	}{
		{"the authority is beside the certificate", "", apiserver, map[string]any{"serverName": "kairship-apiserver.kairship-system.svc", "ca": secret("kairship-apiserver-tls")}},
		{"a public authority", `caKey: "", serverName: kairship.example.com`, apiserver, map[string]any{"serverName": "kairship.example.com"}},
		{"another Secret", "caSecretName: internal", apiserver, map[string]any{"serverName": "kairship-apiserver.kairship-system.svc", "ca": secret("internal")}},
		{
			"a ConfigMap", "caConfigMapName: internal, caKey: bundle.pem", apiserver,
			map[string]any{"serverName": "kairship-apiserver.kairship-system.svc", "ca": map[string]any{"configMap": map[string]any{"name": "internal", "key": "bundle.pem"}}},
		},
		{"one that signs itself", "controllerManager: {insecureSkipVerify: true}", controllers, map[string]any{"insecureSkipVerify": true}},
		{
			"one that flags give", "controllerManager: {caSecretName: internal}", controllers,
			map[string]any{"serverName": "kairship-controller-manager-metrics.kairship-system.svc", "ca": secret("internal")},
		},
		{"one of a public authority", "controllerManager: {serverName: metrics.example.com}", controllers, map[string]any{"serverName": "metrics.example.com"}},
	} {
		values := "metrics: {serviceMonitor: {enabled: true"
		if tt.values != "" {
			values += ", " + tt.values
		}
		if !strings.Contains(tt.values, "controllerManager") {
			values += ", controllerManager: {caSecretName: unused}"
		}
		values += "}}"
		for _, o := range objects(t, rendered(t, values)) {
			if o.GetKind() != "ServiceMonitor" || o.GetName() != tt.monitor {
				continue
			}
			endpoints, _, err := unstructured.NestedSlice(o.Object, "spec", "endpoints")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, endpoints[0].(map[string]any)["tlsConfig"]); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
		}
	}
}

// file has the values in it.
func file(t *testing.T, values string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(path, []byte(values), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func rendered(t *testing.T, values string) string {
	t.Helper()
	return render(t, file(t, values))
}
