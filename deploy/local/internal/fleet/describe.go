package fleet

import (
	"github.com/kairship-io/kairship/deploy/local/internal/topology"
)

// Description is what tests and tools need to know about a running fleet. It is written last, so
// that its presence means that the fleet came up.
type Description struct {
	// KairshipURL is empty in a fleet without Kairship.
	KairshipURL string `json:"kairshipURL,omitempty"`
	// KairshipTLSURL is its address over TLS, for kubectl and other clients that send no token in the clear.
	KairshipTLSURL string `json:"kairshipTLSURL,omitempty"`
	// KairshipCAFile verifies the certificate behind it.
	KairshipCAFile string `json:"kairshipCAFile,omitempty"`
	// KairshipPprof is the address of its profiles.
	KairshipPprof string `json:"kairshipPprof,omitempty"`
	// IndexURL is the index's own address; ordinary requests go through the global apiserver.
	IndexURL string `json:"indexURL"`
	DB       string `json:"db"`
	Bin      string `json:"bin"`
	Logs     string `json:"logs"`
	PIDs     string `json:"pids"`
	// GlobalManagement is absent in a fleet without Kairship.
	GlobalManagement *GlobalManagementDescription `json:"globalManagement,omitempty"`
	// IdentityURL is the issuer of the OpenID Connect provider; empty where it is not installed.
	IdentityURL string `json:"identityURL,omitempty"`
	// PluginPort is the port that the provider sends the browser back to, after the login of kubectl's plugin.
	PluginPort int `json:"pluginPort,omitempty"`
	// Passwords maps a person to the file with the password at it.
	Passwords map[string]string `json:"passwords,omitempty"`
	// Tokens maps a person to the file with the bearer token.
	Tokens   map[string]string    `json:"tokens"`
	Clusters []ClusterDescription `json:"clusters"`
}

// GlobalManagementDescription is what a platform needs to tell Kairship who has which role.
type GlobalManagementDescription struct {
	// URLs are those of the replicas of the controller manager.
	URLs []string `json:"urls"`
	// CAFile is the authority of their certificates.
	CAFile string `json:"caFile"`
	// SecretFile holds the secret to sign requests with.
	SecretFile string `json:"secretFile"`
	// Secret is where Kairship reads it in the global cluster, as namespace/name.
	Secret string `json:"secret"`
}

// ClusterDescription is one cluster of the fleet.
type ClusterDescription struct {
	Name string        `json:"name"`
	Role topology.Role `json:"role"`
	// Instance is the control plane that a member is joined to.
	Instance   string `json:"instance,omitempty"`
	Server     string `json:"server"`
	Kubeconfig string `json:"kubeconfig"`
	// IndexName is the cluster's name in the index; empty for the global cluster.
	IndexName string `json:"indexName,omitempty"`
	// Processes are the names of what runs for this cluster, as in the folder pids.
	Processes []string `json:"processes"`
}

// describe writes the description.
func (f *Fleet) describe() error {
	d := Description{
		IndexURL: f.ports.URL("clusterpedia/api"), DB: f.settings.DB,
		Bin: f.paths.Bin(), Logs: f.paths.Logs(), PIDs: f.paths.PIDs(), Tokens: map[string]string{},
	}
	if !f.settings.WithoutKairship {
		d.KairshipURL = "http://" + f.ports.Addr("kairship/api")
		d.KairshipTLSURL, d.KairshipCAFile = f.ports.URL("kairship/tls"), f.pki("global").File("ca.crt")
		d.KairshipPprof = f.ports.Addr("kairship/pprof")
		d.GlobalManagement = &GlobalManagementDescription{
			URLs: f.webhookURLs(), CAFile: f.pki("global").File("ca.crt"), SecretFile: f.paths.WebhookSecret(),
			Secret: topology.SystemNamespace + "/" + webhookSecret,
		}
	}
	for _, person := range topology.People() {
		d.Tokens[person] = f.paths.Token(person)
	}
	if f.settings.Provider != "" {
		d.IdentityURL, d.PluginPort, d.Passwords = f.ports.URL("identity/api"), f.ports.Of("identity/plugin"), map[string]string{}
		for _, person := range topology.People() {
			d.Passwords[person] = f.paths.Password(person)
		}
	}
	for _, c := range topology.Clusters() {
		cluster := ClusterDescription{Name: c.Name, Role: c.Role, Instance: c.Instance, Server: f.ports.URL(c.Name + "/api"), Kubeconfig: f.paths.Kubeconfig(c.Name)}
		if c.Role != topology.Global {
			cluster.IndexName = indexedName(c)
		}
		for _, p := range f.processes() {
			if clusterOf(p.name) == c.Name {
				cluster.Processes = append(cluster.Processes, p.name)
			}
		}
		d.Clusters = append(d.Clusters, cluster)
	}
	return writeJSON(f.paths.Description(), d)
}

// clusterOf is the cluster that a process belongs to: the global one unless its name begins with
// another's.
func clusterOf(process string) string {
	for _, c := range topology.Clusters() {
		if len(process) > len(c.Name) && process[:len(c.Name)+1] == c.Name+"-" {
			return c.Name
		}
	}
	return "global"
}
