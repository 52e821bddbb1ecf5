package node

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/kairship-io/kairship/deploy/internal/pki"
	"github.com/kairship-io/kairship/deploy/internal/proc"
)

// Paths are the folders and files of a node, all below one folder.
type Paths struct{ Root string }

// hidden are the folders that the node sees other content at than the machine does.
var hidden = []string{"/var", "/run", "/proc", "/sys"}

// CheckVisible returns an error for a folder that the node would not see.
func CheckVisible(what, path string) error {
	for _, folder := range hidden {
		if path == folder || strings.HasPrefix(path, folder+"/") {
			return fmt.Errorf("%s is %s, and the node has a %s of its own in which it is not visible: choose a place outside of %s",
				what, path, folder, strings.Join(hidden, ", "))
		}
	}
	return nil
}

// Bin holds a link to every component.
func (p Paths) Bin() string { return filepath.Join(p.Root, "bin") }

// Binary is one program.
func (p Paths) Binary(name string) string { return filepath.Join(p.Bin(), name) }

// Var is what the node has as /var: its containers, images and volumes.
func (p Paths) Var() string { return filepath.Join(p.Root, "var") }

// Volume is the folder of a persistent volume, as this machine sees it.
func (p Paths) Volume(name string) string { return filepath.Join(p.Var(), "volumes", name) }

// Data holds what etcd stores.
func (p Paths) Data() string { return filepath.Join(p.Root, "data", "etcd") }

// Config is a file that a process reads.
func (p Paths) Config(name ...string) string {
	return filepath.Join(append([]string{p.Root, "config"}, name...)...)
}

// Work is a folder of the installation, with the files that the documentation has written.
func (p Paths) Work(name string) string { return filepath.Join(p.Root, "work", name) }

// PKI holds the cluster's keys and certificates.
func (p Paths) PKI() pki.Cluster { return pki.Cluster{Dir: filepath.Join(p.Root, "pki")} }

// Kubeconfig is the administrator's kubeconfig.
func (p Paths) Kubeconfig() string { return filepath.Join(p.Root, "kubeconfig", "cluster.yaml") }

// component is the kubeconfig of a process of the node.
func (p Paths) component(name string) string {
	return filepath.Join(p.Root, "kubeconfig", "components", name+".yaml")
}

// Token is the file with a person's bearer token.
func (p Paths) Token(person string) string { return filepath.Join(p.Root, "tokens", person) }

// tokenTable is what the apiserver reads the tokens from.
func (p Paths) tokenTable() string { return p.PKI().File("tokens.csv") }

// Log is the log of one process.
func (p Paths) Log(process string) string { return filepath.Join(p.Root, "logs", process+".log") }

// State remembers which steps of the installation are done.
func (p Paths) State() string { return filepath.Join(p.Root, "state.json") }

// Description is the file for tests and tools; it is written last.
func (p Paths) Description() string { return filepath.Join(p.Root, "real.json") }

// records are those of the node's first process.
func (p Paths) records() proc.Records { return proc.Records{Dir: filepath.Join(p.Root, "pids")} }

// hash tells the things of one node from those of another on the same machine.
func (p Paths) hash() string {
	sum := sha256.Sum256([]byte(p.Root))
	return hex.EncodeToString(sum[:])[:8]
}
