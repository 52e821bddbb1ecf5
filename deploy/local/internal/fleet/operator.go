package fleet

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kairship-io/kairship/deploy/internal/kube"
)

// operator is the Karmada operator. It works for the global cluster and installs
// into the members, whose nodes are simulated: etcd and the apiservers become ready
// there, and then nothing answers under the new apiserver's address.
func (f *Fleet) operator() process {
	return process{
		name:    "karmada-operator",
		through: f.ownVarLib(),
		binary:  f.paths.Binary("karmada-operator"),
		ports:   []string{"operator"},
		needs:   []string{"global/setup"},
		ready:   probe{url: "http://" + f.ports.Addr("operator") + "/healthz"},
		args: []string{
			"--kubeconfig=" + f.paths.ComponentKubeconfig("global", componentIdentity),
			"--leader-elect=false",
			"--metrics-bind-address=0",
			"--health-probe-bind-address=" + f.ports.Addr("operator"),
			"--v=2",
		},
	}
}

// ownVarLib gives a process a folder of the fleet as its /var/lib: the operator
// keeps what it downloads in /var/lib/karmada and cannot be told otherwise. Where
// the machine does not allow that, it is nil, and the operator writes there.
func (f *Fleet) ownVarLib() []string {
	folder := f.paths.Data("operator")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil
	}
	through := []string{"unshare", "--mount"}
	if os.Geteuid() != 0 {
		through = append(through, "--map-root-user")
	}
	through = append(through, "sh", "-c", `mount --bind "$0" /var/lib && exec "$@"`, folder)
	if !mayMount(through) {
		return nil
	}
	return through
}

var mayMount = func() func([]string) bool {
	var once sync.Once
	var may bool
	return func(through []string) bool {
		once.Do(func() {
			may = exec.Command(through[0], append(through[1:len(through):len(through)], "true")...).Run() == nil
		})
		return may
	}
}()

// operatorCRDs reads the operator's CRDs from the module that Kairship itself is
// built with: they are no part of the built components, which would all have to be
// built anew for them.
func (f *Fleet) operatorCRDs(ctx context.Context) ([]*unstructured.Unstructured, error) {
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/karmada-io/karmada")
	list.Dir = f.repository
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("find the Karmada module, for the operator's CRDs: %w", err)
	}
	return kube.ParseFiles(filepath.Join(strings.TrimSpace(string(out)), "operator", "config", "crds", "operator.karmada.io_*.yaml"))
}
