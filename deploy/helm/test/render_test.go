package test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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

// withoutGenerated leaves out the rules that are generated from the code: they are in
// files/ for everybody to see.
func withoutGenerated(manifest string) string {
	documents := strings.Split(manifest, "\n---\n")
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
		{"a certificate from nobody", "apiserver.tls.certManager.enabled=true", "/apiserver/tls/certManager/issuerRef/name"},
		{"extra attributes by a pattern", "impersonatedExtras[0]=*", "/impersonatedExtras/0"},
		{"a reader without namespace", "metrics.readers[0].name=prometheus", "missing property 'namespace'"},
		{"a flag that the chart sets", "apiserver.flags.listen-address=:1", "apiserver.flags.listen-address: the chart sets this flag itself"},
		{"a flag with its dashes", "controllerManager.flags.--workers=a=1", "invalid propertyName '--workers'"},
		{"an Ingress for no host", "apiserver.ingress.enabled=true", "apiserver.ingress.host: must be given"},
		{"a route from no Gateway", "apiserver.httpRoute.enabled=true", "apiserver.httpRoute.parentRefs: must be given"},
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
