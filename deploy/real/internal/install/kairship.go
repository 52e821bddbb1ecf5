package install

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/kairship-io/kairship/deploy/real/internal/images"
	"github.com/kairship-io/kairship/deploy/real/internal/node"
)

// chartCommand is the command of the guides that installs the chart.
const chartCommand = "helm install kairship deploy/helm/kairship"

// databaseRoles makes the roles of the projection.
func (i *Installer) databaseRoles(ctx context.Context) error {
	page, err := readGuide(i.Source, "docs", "operations.md")
	if err != nil {
		return err
	}
	statements, err := page.block("sql", "CREATE ROLE kairship LOGIN", "CREATE ROLE kairship_reader LOGIN")
	if err != nil {
		return err
	}
	statements, err = replace(statements,
		"CREATE ROLE kairship LOGIN PASSWORD '…'", "CREATE ROLE kairship LOGIN PASSWORD '"+i.password("kairship")+"'",
		"CREATE ROLE kairship_reader LOGIN PASSWORD '…'", "CREATE ROLE kairship_reader LOGIN PASSWORD '"+i.password("kairship_reader")+"'")
	if err != nil {
		return err
	}
	return i.sql(ctx, "clusterpedia", statements)
}

// dsn is how a role of the projection reaches the database.
func (i *Installer) dsn(role string) string {
	return fmt.Sprintf("postgres://%s:%s@postgres.%s.svc:5432/clusterpedia?sslmode=disable", role, i.password(role), databaseNamespace)
}

// kairship installs the chart by the commands of README.md, into a namespace with restricted pods.
func (i *Installer) kairship(ctx context.Context) error {
	page, err := readGuide(i.Source, "README.md")
	if err != nil {
		return err
	}
	commands, err := page.block("sh", chartCommand)
	if err != nil {
		return err
	}
	chartPage, err := readGuide(i.Source, "deploy", "helm", "kairship", "README.md")
	if err != nil {
		return err
	}
	chartCommands, err := chartPage.block("sh", chartCommand)
	if err != nil {
		return err
	}
	create, label := "kubectl create namespace "+System, "kubectl label namespace "+System
	restrict := ""
	for line := range strings.SplitSeq(chartCommands, "\n") {
		if strings.HasPrefix(line, label) {
			restrict = line
		}
	}
	folder, values, err := i.chartFolder()
	if err != nil {
		return err
	}
	commands, err = replace(commands, create, create+"\n"+restrict, chartCommand, chartCommand+values+" --wait --timeout 4m")
	if err != nil {
		return err
	}
	if err := i.certificate(folder); err != nil {
		return err
	}
	err = i.script(ctx, folder, commands, map[string]string{
		"DSN": i.dsn("kairship"), "READER_DSN": i.dsn("kairship_reader"), "REGISTRY": images.Registry,
	})
	if err != nil {
		return fmt.Errorf("%w\n%s", err, i.events(ctx, System))
	}
	i.state.Tag = i.KairshipTag
	return nil
}

// quickStart installs the chart by the commands of the quick start in docs/operations.md, which need nothing beside it,
// into a namespace with restricted pods.
func (i *Installer) quickStart(ctx context.Context) error {
	page, err := readGuide(i.Source, "docs", "operations.md")
	if err != nil {
		return err
	}
	commands, err := page.block("sh", chartCommand, "bundled.clusterpedia.enabled=true")
	if err != nil {
		return err
	}
	folder, values, err := i.chartFolder()
	if err != nil {
		return err
	}
	restricted := fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata: {name: %s, labels: {pod-security.kubernetes.io/enforce: restricted}}\n", System)
	bundled := fmt.Sprintf("bundled: {postgresql: {image: %q, storage: {size: 1Gi}}}\napiserver: {tls: {generated: {names: [%s]}}}\n", images.Database, i.Node.Network.Node)
	if _, err := i.folder("kairship", map[string]string{"namespace.yaml": restricted, "bundled.yaml": bundled}); err != nil {
		return err
	}
	// What follows is for a person who looks at the console.
	commands, err = replace(withoutLines(commands, "kubectl -n "+System+" port-forward"), chartCommand, chartCommand+values+" --values bundled.yaml")
	if err != nil {
		return err
	}
	err = i.script(ctx, folder, "kubectl apply --filename namespace.yaml\n"+commands, map[string]string{"REGISTRY": images.Registry})
	if err != nil {
		return fmt.Errorf("%w\n%s\n%s", err, i.events(ctx, System), i.events(ctx, indexNamespace))
	}
	i.state.Tag = i.KairshipTag
	return nil
}

// upgrade upgrades the release by the commands of docs/operations.md.
func (i *Installer) upgrade(ctx context.Context) error {
	return i.once(ctx, step{"kairship-upgrade", func(ctx context.Context) error {
		page, err := readGuide(i.Source, "docs", "operations.md")
		if err != nil {
			return err
		}
		const upgrade = "helm upgrade kairship deploy/helm/kairship"
		commands, err := page.block("sh", upgrade)
		if err != nil {
			return err
		}
		folder, values, err := i.chartFolder()
		if err != nil {
			return err
		}
		if commands, err = replace(commands, upgrade, upgrade+values); err != nil {
			return err
		}
		i.state.Tag = i.KairshipTag
		return i.script(ctx, folder, commands, nil)
	}})
}

// chartFolder makes the folder that the chart is installed from, and returns the arguments with its values.
func (i *Installer) chartFolder() (folder, arguments string, err error) {
	page, err := readGuide(i.Source, "docs", "operations.md")
	if err != nil {
		return "", "", err
	}
	documented, err := page.block("yaml", "index:\n  collectorLease:", "instanceSecrets:")
	if err != nil {
		return "", "", err
	}
	folder, err = i.folder("kairship", map[string]string{
		"documented.yaml": documented,
		"node.yaml":       fmt.Sprintf("image: {tag: %q}\napiserver: {service: {type: NodePort}}\n", i.KairshipTag),
	})
	if err != nil {
		return "", "", err
	}
	link := filepath.Join(folder, "deploy")
	_ = os.Remove(link)
	if err := os.Symlink(filepath.Join(i.Source, "deploy"), link); err != nil {
		return "", "", err
	}
	for _, file := range append([]string{"documented.yaml", "node.yaml"}, i.Values...) {
		arguments += " --values " + file
	}
	return folder, arguments, nil
}

// certificate puts the API's serving certificate where the guide's commands expect it.
func (i *Installer) certificate(folder string) error {
	const name = "kairship-apiserver"
	authority := i.Node.Paths.PKI()
	if err := authority.EnsureServer(name, []string{name + "." + System + ".svc", i.Node.Network.Node.String()}); err != nil {
		return err
	}
	crt, key := authority.Server(name)
	for target, source := range map[string]string{"tls.crt": crt, "tls.key": key, "ca.crt": authority.File("ca.crt")} {
		content, err := os.ReadFile(source)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, target), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// memberRole is the role of the administrator in the node's cluster, as in a member of an instance:
// Kairship gives none there.
const memberRole = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: platform-admins-edit}\n" +
	"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}\n" +
	"subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: " + node.AdminGroup + "}]\n"

// administrator gives the first administrator their rights.
func (i *Installer) administrator(ctx context.Context) error {
	page, err := readGuide(i.Source, "docs", "operations.md")
	if err != nil {
		return err
	}
	roles, err := page.block("yaml", "kairship-everything", node.AdminGroup)
	if err != nil {
		return err
	}
	folder, err := i.folder("administrator", map[string]string{"everything.yaml": roles, "member.yaml": memberRole})
	if err != nil {
		return err
	}
	return i.script(ctx, folder, "kubectl apply -f everything.yaml -f member.yaml", nil)
}
