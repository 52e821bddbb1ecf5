package fleet

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kairship-io/kairship/deploy/internal/pki"
	"github.com/kairship-io/kairship/deploy/local/internal/topology"
)

// prepareFiles makes the certificates, kubeconfigs, tokens and configuration files that are missing.
func (f *Fleet) prepareFiles() error {
	for _, c := range topology.Clusters() {
		if err := f.prepareCluster(c); err != nil {
			return fmt.Errorf("certificates of %s: %w", c.Name, err)
		}
	}
	if err := f.prepareTokens(); err != nil {
		return err
	}
	if err := f.preparePeople(); err != nil {
		return err
	}
	if err := f.prepareWebhook(); err != nil {
		return err
	}
	if err := f.prepareIdentityProvider(); err != nil {
		return err
	}
	if err := f.prepareKwok(); err != nil {
		return err
	}
	if err := f.prepareAudit(); err != nil {
		return err
	}
	return f.prepareStorage()
}

// identities are the client certificates of every cluster. Kairship's programs have none: they are
// service accounts (setup_chart.go), as in any installation.
func identities() map[string]pki.Identity {
	return map[string]pki.Identity{
		adminIdentity:     {User: "kairship-local:admin", Groups: []string{"system:masters"}},
		componentIdentity: {User: "kairship-local:components", Groups: []string{"system:masters"}},
	}
}

func (f *Fleet) prepareCluster(c topology.Cluster) error {
	authority := f.pki(c.Name)
	// The names under which the aggregation layer asks for the extension apiservers.
	names := []string{"kubernetes", "kubernetes.default", "kubernetes.default.svc"}
	for _, service := range []string{"karmada-aggregated-apiserver.karmada-system", "karmada-webhook.karmada-system", "clusterpedia-apiserver.clusterpedia-system"} {
		names = append(names, service+".svc")
	}
	// By which pods of a real node reach it (deploy/real).
	names = append(names, c.Name+".fleet.svc")
	if err := authority.Ensure(c.Name, names); err != nil {
		return err
	}
	if c.Metrics {
		if err := prepareMetricsServer(authority); err != nil {
			return err
		}
	}
	server := f.ports.URL(c.Name + "/api")
	for name, identity := range identities() {
		if err := authority.EnsureClient(name, identity); err != nil {
			return err
		}
		path := f.paths.ComponentKubeconfig(c.Name, name)
		if name == adminIdentity {
			path = f.paths.Kubeconfig(c.Name)
		}
		if _, err := os.Stat(path); err == nil {
			continue
		}
		if err := authority.WriteClientKubeconfig(path, c.Name, server, name); err != nil {
			return err
		}
	}
	return nil
}

// prepareTokens makes a random bearer token per person and the table that the global apiserver
// reads them from.
func (f *Fleet) prepareTokens() error {
	var table strings.Builder
	for _, person := range topology.People() {
		token, err := os.ReadFile(f.paths.Token(person))
		if errors.Is(err, fs.ErrNotExist) {
			token, err = newToken()
			if err == nil {
				err = writeFile(f.paths.Token(person), token, 0o600)
			}
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(&table, "%s,%s,%s\n", token, person, "kairship-local-"+person)
	}
	return writeFile(f.paths.TokenTable(), []byte(table.String()), 0o600)
}

func newToken() ([]byte, error) {
	raw := make([]byte, 24)
	if _, err := rand.Read(raw); err != nil {
		return nil, err
	}
	return []byte(hex.EncodeToString(raw)), nil
}

// kairshipServer is what the certificate of Kairship's API server is called.
const kairshipServer = "kairship-apiserver"

// preparePeople makes Kairship's serving certificate and, of every person, the kubeconfigs with which
// they reach the instances through Kairship. Those who may not are refused: that is worth trying, too.
func (f *Fleet) preparePeople() error {
	global := f.pki("global")
	if err := global.EnsureServer(kairshipServer, nil); err != nil {
		return err
	}
	if f.settings.WithoutKairship {
		return nil
	}
	ca, err := global.CA()
	if err != nil {
		return err
	}
	for _, person := range topology.People() {
		token, err := os.ReadFile(f.paths.Token(person))
		if err != nil {
			return err
		}
		for _, instance := range topology.WithRole(topology.Instance) {
			server := f.ports.URL("kairship/tls") + "/instances/" + instance.Name + "/proxy"
			text, err := clientcmd.Write(*pki.Kubeconfig(instance.Name, server, ca, person, clientcmdapi.AuthInfo{Token: string(token)}))
			if err != nil {
				return err
			}
			if err := writeSecret(f.paths.PersonKubeconfig(person, instance.Name), text); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeSecret writes a file that only its owner may read, in a folder of the same kind.
func writeSecret(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o600)
}

// webhookIdentity is what the certificate of the webhook of global management is called.
const webhookIdentity = "kairship-webhook"

// prepareWebhook makes the serving certificate of the webhook of global management, and the secret
// that is shared with the platform.
func (f *Fleet) prepareWebhook() error {
	if err := f.pki("global").EnsureServer(webhookIdentity, nil); err != nil {
		return err
	}
	_, err := os.Stat(f.paths.WebhookSecret())
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	secret, err := newToken()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(f.paths.WebhookSecret()), 0o700); err != nil {
		return err
	}
	return writeFile(f.paths.WebhookSecret(), secret, 0o600)
}

// The audit log of the global apiserver is bounded: a line is little more than a KiB, and the suites
// read it (test/privilege) before it is removed.
const (
	auditFileMiB = 64
	auditFiles   = 6
)

// prepareAudit writes what the global apiserver is to note: what Kairship's programs ask, in their
// own name or as another user, and what they were told.
func (f *Fleet) prepareAudit() error {
	if err := os.MkdirAll(filepath.Dir(f.paths.AuditLog()), 0o700); err != nil {
		return err
	}
	account := "system:serviceaccount:" + topology.SystemNamespace + ":"
	return writeFile(f.paths.Config("audit-policy.yaml"), fmt.Appendf(nil, `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Metadata, users: [%q, %q]}
- {level: None}
`, account+apiserverIdentity, account+controllerIdentity), 0o644)
}

// prepareStorage writes the index's database configuration.
func (f *Fleet) prepareStorage() error {
	text, dsn := "", ""
	switch f.settings.DB {
	case SQLite:
		folder := f.paths.Data("index")
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		// Two processes share the file: with a write-ahead log readers do not wait for the writer, and
		// the busy timeout lets two writers take turns.
		file := url.URL{Scheme: "file", Path: filepath.Join(folder, "index.db"), RawQuery: "_journal_mode=WAL&_busy_timeout=10000&_synchronous=OFF&_txlock=immediate"}
		text, dsn = fmt.Sprintf("type: sqlite\ndsn: %q\n", file.String()), file.String()
	case Postgres:
		// After other errors than these the collector drops the object that it could not store until its
		// next change: a database that is read-only, full or starting up, conflicts, timeouts, and too many connections.
		text = fmt.Sprintf("type: postgres\nhost: 127.0.0.1\nport: %q\nuser: clusterpedia\npassword: clusterpedia\ndatabase: clusterpedia\nsslMode: disable\n"+
			"postgres:\n  recoverableErrCodes: [\"25006\", \"40001\", \"40P01\", \"53100\", \"53200\", \"53300\", \"55P03\", \"57014\", \"57P02\", \"57P03\", \"58030\"]\n", fmt.Sprint(f.ports.Of("postgres")))
		dsn = "postgres://clusterpedia:clusterpedia@" + f.ports.Addr("postgres") + "/clusterpedia?sslmode=disable"
	}
	if err := writeFile(f.paths.IndexDatabase(f.settings.DB), []byte(dsn+"\n"), 0o600); err != nil {
		return err
	}
	return writeFile(f.storageConfig(), []byte(text), 0o600)
}

// storageConfig is the index's database configuration. Its name says which database it is for, so
// that a change of database changes the arguments of the index's processes, which restarts them.
func (f *Fleet) storageConfig() string {
	return f.paths.Config("index-storage-" + f.settings.DB + ".yaml")
}

func writeFile(path string, content []byte, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, content, mode)
}
