package instancelifecycle

import (
	"strings"
	"testing"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

func TestSources(t *testing.T) {
	permitted := Sources{ImageRegistries: []string{"registry.example.com/mirror", "other.example.com:5000"}, CRDHosts: []string{"files.example.com", "other.example.com:8443", "http://plain.example.com"}}
	for _, tt := range []struct {
		reason        string
		sources       Sources
		registry, url string
		refused       string
	}{
		{"nothing is named", Sources{}, "", "", ""},
		{"nothing is permitted", Sources{}, "registry.example.com/mirror", "", "none but the default"},
		{"a registry is permitted", permitted, "registry.example.com/mirror", "", ""},
		{"a part of it too", permitted, "registry.example.com/mirror/karmada", "", ""},
		{"a port is part of the name", permitted, "other.example.com", "", "imageRegistry"},
		{"a registry with its port", permitted, "other.example.com:5000/mirror", "", ""},
		{"the whole registry is more than a part of it", permitted, "registry.example.com", "", "imageRegistry"},
		{"a path that only begins the same", permitted, "registry.example.com/mirrored", "", "imageRegistry"},
		{"a host that only begins the same", permitted, "other.example.com:5000.example.net", "", "imageRegistry"},
		{"no host is permitted", Sources{}, "", "https://files.example.com/crds.tar.gz", "none but the default"},
		{"a host is permitted", permitted, "", "https://files.example.com/v1/crds.tar.gz", ""},
		{"hosts have no case", permitted, "", "https://Files.example.com/crds.tar.gz", ""},
		{"any port of a host", permitted, "", "https://files.example.com:8443/crds.tar.gz", ""},
		{"a permitted port", permitted, "", "https://other.example.com:8443/crds.tar.gz", ""},
		{"another port", permitted, "", "https://other.example.com:6443/crds.tar.gz", "crdTarballURL"},
		{"not encrypted", permitted, "", "http://files.example.com/crds.tar.gz", "crdTarballURL"},
		{"not encrypted, and permitted so", permitted, "", "http://plain.example.com:8080/crds.tar.gz", ""},
		{"encrypted, and permitted otherwise", permitted, "", "https://plain.example.com/crds.tar.gz", "crdTarballURL"},
		{"a host that only begins the same", permitted, "", "https://files.example.com.example.net/crds.tar.gz", "crdTarballURL"},
		{"an address of the link", permitted, "", "https://169.254.169.254/latest", "crdTarballURL"},
		{"the host is a user", permitted, "", "https://files.example.com@example.net/crds.tar.gz", "crdTarballURL"},
		{"both are judged", permitted, "registry.example.com/mirror", "https://example.net/x", "crdTarballURL"},
	} {
		got := tt.sources.refusal(&v1alpha1.InstanceComponents{ImageRegistry: tt.registry, CRDTarballURL: tt.url})
		if (got == "") != (tt.refused == "") || !strings.Contains(got, tt.refused) {
			t.Errorf("%s: got %q, want it to say %q", tt.reason, got, tt.refused)
		}
	}
	if got := permitted.refusal(nil); got != "" {
		t.Errorf("no components: %s", got)
	}
}

// TestArguments: Instances are also written without the API, so the controller refuses too.
func TestArguments(t *testing.T) {
	scheduler := func(flag string) *v1alpha1.InstanceComponents {
		process := v1alpha1.ProcessSettings{ExtraArgs: map[string]v1alpha1.ArgumentValue{flag: "x"}}
		return &v1alpha1.InstanceComponents{Scheduler: &v1alpha1.ComponentSettings{ProcessSettings: process}}
	}
	r := &Reconciler{}
	if reason, message := r.refusal(scheduler("kube-api-qps")); reason != "" || message != "" {
		t.Errorf("a permitted flag: %s: %s", reason, message)
	}
	reason, message := r.refusal(scheduler("kubeconfig"))
	if reason != v1alpha1.ReasonArgumentNotPermitted || !strings.Contains(message, "spec.components.scheduler.extraArgs") || !strings.Contains(message, `"kubeconfig"`) {
		t.Errorf("a refused flag: %s: %s", reason, message)
	}
	from := scheduler("kubeconfig")
	from.ImageRegistry = "registry.example.com"
	if reason, _ := r.refusal(from); reason != v1alpha1.ReasonSourceNotPermitted {
		t.Errorf("a refused source counts first, got %s", reason)
	}
}
