package bringup

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/deploy/real/internal/install"
	"github.com/kairship-io/kairship/deploy/real/internal/node"
)

// Description is what tests and tools need to know of a node. It is stored in real.json.
type Description struct {
	// KairshipURL is where Kairship is served, and CAFile the authority of its certificate.
	KairshipURL string `json:"kairshipURL"`
	CAFile      string `json:"caFile"`
	// TokenFile has the bearer token of the administrator.
	TokenFile string `json:"tokenFile"`
	// Kubeconfig is the cluster administrator's.
	Kubeconfig string `json:"kubeconfig"`
	// Kubectl is the program.
	Kubectl string `json:"kubectl"`
	// Program is this one, which kills the node and starts it again, with the network that it has.
	Program string `json:"program"`
	Network string `json:"network"`
	// Helm is the program, and Chart the folder in which the chart was installed.
	Helm  string `json:"helm"`
	Chart string `json:"chart"`
}

// describe finds out where Kairship is served and writes the description.
func (b *Bringup) describe(ctx context.Context) error {
	description, err := b.description(ctx)
	if err != nil {
		return err
	}
	return b.write(description)
}

func (b *Bringup) write(description Description) error {
	content, err := json.MarshalIndent(description, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(b.Node.Paths.Description(), append(content, '\n'), 0o644)
}

func (b *Bringup) description(ctx context.Context) (Description, error) {
	client, err := b.Node.Client()
	if err != nil {
		return Description{}, err
	}
	const name = "kairship-apiserver"
	service, err := client.Get(ctx, schema.GroupVersionKind{Version: "v1", Kind: "Service"}, install.System, name)
	if err != nil {
		return Description{}, fmt.Errorf("the Service of Kairship: %w", err)
	}
	ports, _, _ := unstructured.NestedSlice(service.Object, "spec", "ports")
	for _, p := range ports {
		port, ok := p.(map[string]any)
		if number, _ := port["nodePort"].(int64); ok && number > 0 {
			return Description{
				KairshipURL: "https://" + net.JoinHostPort(b.Node.Network.Node.String(), strconv.FormatInt(number, 10)), CAFile: filepath.Join(b.Node.Paths.Work("kairship"), "ca.crt"),
				TokenFile: b.Node.Paths.Token(node.Admin), Kubeconfig: b.Node.Paths.Kubeconfig(), Kubectl: b.Node.Paths.Binary("kubectl"),
				Program: b.Node.Paths.Binary("kairship-real"), Network: b.Node.Network.String(), Helm: b.helm, Chart: b.Node.Paths.Work("kairship"),
			}, nil
		}
	}
	return Description{}, fmt.Errorf("the Service %s/%s has no port of the node: a file of --values changed apiserver.service.type", install.System, name)
}

// Welcome prints how to use what was brought up.
func (b *Bringup) Welcome(out io.Writer) error {
	content, err := os.ReadFile(b.Node.Paths.Description())
	if err != nil {
		return err
	}
	var d Description
	if err := json.Unmarshal(content, &d); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, `
Kairship manages a real node:

  console     %s (its certificate is by %s)
  token       %s
  kubectl     KUBECONFIG=%s %s get pods -A

`+"`make real-down` removes all of it.\n", d.KairshipURL, d.CAFile, d.TokenFile, d.Kubeconfig, d.Kubectl)
	return err
}
