package fleet

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kairship-io/kairship/deploy/internal/build"
	"github.com/kairship-io/kairship/deploy/internal/kube"
	"github.com/kairship-io/kairship/deploy/internal/pki"
	"github.com/kairship-io/kairship/deploy/local/internal/topology"
)

// chartValues are the chart's defaults but for what the fleet is for: Secrets in any namespace, which
// Managed instances need.
var chartValues = []string{"instanceSecrets.allNamespaces=true"}

// renderChart asks Helm for the chart's service accounts, roles and admission policies. Kairship's programs run
// with these and with nothing else, so that whatever is tried or tested here also works where the chart installs it.
func (f *Fleet) renderChart(ctx context.Context) error {
	helm, err := build.Helm(ctx, f.repository)
	if err != nil {
		return err
	}
	// Helm assumes one that is years old.
	version, err := build.RequiredVersion(filepath.Join(f.repository, "deploy", "local", "components", "controlplane", "go.mod"), "k8s.io/kubernetes")
	if err != nil {
		return err
	}
	args := []string{"template", "kairship", filepath.Join("deploy", "helm", "kairship"), "--namespace", topology.SystemNamespace, "--kube-version", version}
	for _, value := range chartValues {
		args = append(args, "--set", value)
	}
	cmd := exec.CommandContext(ctx, helm, args...)
	cmd.Dir = f.repository
	// Without the settings of the user who starts the fleet.
	cmd.Env = append(environment(f.paths.Root), "KUBECONFIG="+filepath.Join(f.paths.Root, "none"))
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("rendering the chart: %w\n%s", err, indent(problems.String()))
	}
	rendered, err := kube.Parse(out)
	if err != nil {
		return fmt.Errorf("reading what the chart renders: %w", err)
	}
	for _, object := range rendered {
		switch group := object.GroupVersionKind().Group; {
		case object.GetKind() == "ServiceAccount", group == "rbac.authorization.k8s.io", group == "admissionregistration.k8s.io":
			f.chart = append(f.chart, object)
		}
	}
	if len(f.chart) == 0 {
		return fmt.Errorf("the chart renders %d objects and no role among them", len(rendered))
	}
	return writeFile(f.paths.Roles(), out, 0o644)
}

// setUpKairshipAccounts makes the service accounts of Kairship's programs, their kubeconfigs, and the
// admission policies.
func (f *Fleet) setUpKairshipAccounts(ctx context.Context) error {
	if err := f.applyOnce(ctx, "global/accounts", "global", f.chart); err != nil {
		return err
	}
	ctx, cancel := stepContext(ctx)
	defer cancel()
	ca, err := f.pki("global").CA()
	if err != nil {
		return err
	}
	for _, account := range []string{apiserverIdentity, controllerIdentity} {
		path, step := f.paths.ComponentKubeconfig("global", account), "global/token-of-"+account
		if _, err := os.Stat(path); err != nil {
			f.forget(step)
		}
		err := f.once(step, "token", func() error {
			token, err := f.clients["global"].Token(ctx, topology.SystemNamespace, account)
			if err != nil {
				return err
			}
			config, err := clientcmd.Write(*pki.Kubeconfig("global", f.ports.URL("global/api"), ca, account, clientcmdapi.AuthInfo{Token: token}))
			if err != nil {
				return err
			}
			return writeSecret(path, config)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
