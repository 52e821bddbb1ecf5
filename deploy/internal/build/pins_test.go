package build

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNodeHasThePinsOfTheFleet compares two modules of the same projects: with other versions the kubelet would be
// of another Kubernetes than its control plane, and everything would be compiled twice.
func TestNodeHasThePinsOfTheFleet(t *testing.T) {
	fleet, node := pins(t, "deploy/local/components/controlplane"), pins(t, "deploy/real/components/node")
	for module, version := range fleet {
		if other, also := node[module]; also && other != version {
			t.Errorf("%s is %s for the fleet and %s for the node", module, version, other)
		}
	}
	for module := range fleet {
		if _, also := node[module]; !also && (module == kubernetesModule || module == karmadaModule) {
			t.Errorf("the node does not pin %s", module)
		}
	}
}

// pins are the versions of modules, as replaced.
func pins(t *testing.T, folder string) map[string]string {
	t.Helper()
	path := filepath.Join("..", "..", "..", filepath.FromSlash(folder), "go.mod")
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for line := range strings.Lines(string(content)) {
		// "module version", or "module => module version".
		fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		switch {
		case len(fields) >= 4 && fields[1] == "=>":
			found[fields[0]] = fields[3]
		case len(fields) >= 2 && strings.HasPrefix(fields[1], "v") && found[fields[0]] == "":
			found[fields[0]] = fields[1]
		}
	}
	if len(found) == 0 {
		t.Fatalf("%s pins nothing", path)
	}
	return found
}
