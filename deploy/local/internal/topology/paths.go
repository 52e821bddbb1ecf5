package topology

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
)

// Paths are the folders and files of a fleet, all below one folder.
type Paths struct{ Root string }

// Bin holds a link to every component and Kairship's own programs.
func (p Paths) Bin() string { return filepath.Join(p.Root, "bin") }

// Binary is one program.
func (p Paths) Binary(name string) string { return filepath.Join(p.Bin(), name) }

// PKI holds a cluster's keys and certificates.
func (p Paths) PKI(cluster string) string { return filepath.Join(p.Root, "pki", cluster) }

// Kubeconfig is the administrator's kubeconfig of a cluster.
func (p Paths) Kubeconfig(cluster string) string {
	return filepath.Join(p.Root, "kubeconfig", cluster+".yaml")
}

// ComponentKubeconfig is the kubeconfig of one identity that a process of the fleet uses.
func (p Paths) ComponentKubeconfig(cluster, identity string) string {
	return filepath.Join(p.Root, "kubeconfig", "components", cluster+"-"+identity+".yaml")
}

// Roles is what the chart rendered, with the roles that Kairship's programs have.
func (p Paths) Roles() string { return filepath.Join(p.Root, "config", "chart.yaml") }

// AuditLog is where the global apiserver writes what Kairship's programs ask of it.
func (p Paths) AuditLog() string { return filepath.Join(p.Root, "audit", "global.log") }

// PersonKubeconfig is the kubeconfig with which a person reaches an instance through Kairship.
func (p Paths) PersonKubeconfig(person, instance string) string {
	return filepath.Join(p.Root, "kubeconfig", "people", person+"-"+instance+".yaml")
}

// Token is the file with a person's bearer token of the global cluster.
func (p Paths) Token(person string) string { return filepath.Join(p.Root, "tokens", person) }

// Passwords holds the password of each person at the fleet's OpenID Connect provider.
func (p Paths) Passwords() string { return filepath.Join(p.Root, "passwords") }

// Password is the file with a person's password.
func (p Paths) Password(person string) string { return filepath.Join(p.Passwords(), person) }

// TokenTable is what the global apiserver reads the tokens from.
func (p Paths) TokenTable() string { return filepath.Join(p.Root, "pki", "global", "tokens.csv") }

// WebhookSecret is the file with the secret that the platform signs its requests to Kairship with.
func (p Paths) WebhookSecret() string { return filepath.Join(p.Root, "secrets", "global-management") }

// Logs holds one log per process.
func (p Paths) Logs() string { return filepath.Join(p.Root, "logs") }

// Log is a process's log.
func (p Paths) Log(process string) string { return filepath.Join(p.Logs(), process+".log") }

// PIDs holds one record per process.
func (p Paths) PIDs() string { return filepath.Join(p.Root, "pids") }

// Data holds what a process stores.
func (p Paths) Data(process string) string { return filepath.Join(p.Root, "data", process) }

// Config holds configuration files made for a process.
func (p Paths) Config(name string) string { return filepath.Join(p.Root, "config", name) }

// IndexDatabase is the file with the DSN of the index's database. Its name says which database it is
// for, as that of its configuration does.
func (p Paths) IndexDatabase(db string) string { return p.Config("index-database-" + db) }

// State is what the fleet remembers of itself between runs.
func (p Paths) State() string { return filepath.Join(p.Root, "state.json") }

// Description is what tests and tools read about a running fleet.
func (p Paths) Description() string { return filepath.Join(p.Root, "fleet.json") }

// Lock is the file whose lock keeps two runs on one fleet apart. It is outside of the fleet's folder,
// which a run may remove.
func (p Paths) Lock(purpose string) string {
	sum := sha256.Sum256([]byte(p.Root))
	return filepath.Join(os.TempDir(), fmt.Sprintf("kairship-fleet-%x-%s.lock", sum[:8], purpose))
}
