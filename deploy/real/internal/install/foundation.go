package install

import (
	"context"
	"crypto/rand"
	"embed"
	"fmt"
	"os"
	"strings"
	"text/template"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/deploy/internal/kube"
	"github.com/kairship-io/kairship/deploy/real/internal/images"
	"github.com/kairship-io/kairship/deploy/real/internal/node"
)

//go:embed manifests
var manifests embed.FS

// databaseUser is the user of PostgreSQL's image.
const databaseUser = 999

// databaseVolume is the folder of the database's volume, as the node sees it.
const databaseVolume = "/var/volumes/postgres"

// volumeCount is how many volumes of 1 GiB there are for claims of any pod.
const volumeCount = 6

// volumes makes the default storage class and its volumes: nothing provisions them on demand. Their folders are for
// any user, because Kubernetes changes no owner of a folder of the node.
func (i *Installer) volumes(ctx context.Context) error {
	for _, name := range volumeNames() {
		folder := i.Node.Paths.Volume(name)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		if err := os.Chmod(folder, 0o777); err != nil {
			return err
		}
	}
	return i.apply(ctx, "storage.yaml")
}

func volumeNames() []string {
	var names []string
	for number := range volumeCount {
		names = append(names, fmt.Sprintf("volume-%d", number))
	}
	return names
}

// dns installs the cluster's DNS server.
func (i *Installer) dns(ctx context.Context) error {
	if err := i.apply(ctx, "dns.yaml"); err != nil {
		return err
	}
	return i.rolledOut(ctx, "Deployment", "kube-system", "coredns")
}

// metrics installs a metrics-server, which says what pods and the node use.
func (i *Installer) metrics(ctx context.Context) error {
	if err := i.apply(ctx, "metrics.yaml"); err != nil {
		return err
	}
	return i.rolledOut(ctx, "Deployment", "kube-system", "metrics-server")
}

// database installs PostgreSQL, and makes Clusterpedia's database and role in it.
func (i *Installer) database(ctx context.Context) error {
	volume := i.Node.Paths.Volume("postgres")
	if err := os.MkdirAll(volume, 0o700); err != nil {
		return err
	}
	if err := os.Chown(volume, databaseUser, databaseUser); err != nil {
		return err
	}
	if err := i.apply(ctx, "database.yaml"); err != nil {
		return err
	}
	if err := i.rolledOut(ctx, "StatefulSet", databaseNamespace, "postgres"); err != nil {
		return err
	}
	if err := i.sql(ctx, "postgres", fmt.Sprintf("CREATE ROLE clusterpedia LOGIN PASSWORD '%s'", i.password("clusterpedia"))); err != nil {
		return err
	}
	return i.sql(ctx, "postgres", "CREATE DATABASE clusterpedia OWNER clusterpedia")
}

// sql carries out statements as an administrator of the database.
func (i *Installer) sql(ctx context.Context, database, statements string) error {
	dir, err := i.folder("sql", map[string]string{"statements.sql": statements})
	if err != nil {
		return err
	}
	return i.script(ctx, dir, "kubectl --namespace "+databaseNamespace+" exec --stdin postgres-0 -- psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --dbname="+
		database+" < statements.sql", nil)
}

// password returns the password of a role of the database; the first call makes it.
func (i *Installer) password(role string) string {
	if i.state.Passwords[role] == "" {
		i.state.Passwords[role] = rand.Text()
	}
	return i.state.Passwords[role]
}

// apply applies a manifest of this program.
func (i *Installer) apply(ctx context.Context, name string) error {
	text, err := manifests.ReadFile("manifests/" + name)
	if err != nil {
		return err
	}
	t, err := template.New(name).Option("missingkey=error").Parse(string(text))
	if err != nil {
		return err
	}
	var out strings.Builder
	err = t.Execute(&out, map[string]any{
		"Volumes": volumeNames(),
		"Domain":  node.Domain, "DNSAddress": node.DNSAddress, "DNSImage": images.DNS, "MetricsImage": images.Metrics,
		"DatabaseNamespace": databaseNamespace, "DatabaseImage": images.Database, "DatabaseVolume": databaseVolume,
		"DatabasePassword": i.password("postgres"),
	})
	if err != nil {
		return err
	}
	objects, err := kube.Parse([]byte(out.String()))
	if err != nil {
		return err
	}
	return i.client.Apply(ctx, objects...)
}

// rolledOut waits until all replicas are ready.
func (i *Installer) rolledOut(ctx context.Context, kind, namespace, name string) error {
	gvk := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: kind}
	err := i.client.WaitFor(ctx, gvk, namespace, name, func(o *unstructured.Unstructured) string {
		want, _, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
		if ready := kube.Number(o, "status", "readyReplicas"); ready < want || kube.Number(o, "status", "observedGeneration") < o.GetGeneration() {
			return fmt.Sprintf("%d of %d replicas are ready", ready, want)
		}
		return ""
	})
	if err != nil {
		return fmt.Errorf("%w\n%s", err, i.events(ctx, namespace))
	}
	return nil
}

// events lists the last events of a namespace, for the error of something that does not start. The time for
// the step may be over.
func (i *Installer) events(ctx context.Context, namespace string) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stepPatience)
	defer cancel()
	var out strings.Builder
	found, err := i.client.List(ctx, schema.GroupVersionKind{Version: "v1", Kind: "Event"}, namespace, "")
	if err != nil {
		return ""
	}
	for _, e := range found[max(0, len(found)-10):] {
		object, _, _ := unstructured.NestedString(e.Object, "involvedObject", "name")
		reason, _, _ := unstructured.NestedString(e.Object, "reason")
		message, _, _ := unstructured.NestedString(e.Object, "message")
		fmt.Fprintf(&out, "  %s: %s: %s\n", object, reason, message)
	}
	return "The last events in namespace " + namespace + ":\n" + out.String()
}
