package bringup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/kairship-io/kairship/deploy/internal/kube"
	"github.com/kairship-io/kairship/deploy/real/internal/graphql"
)

// fleetNamespace has a Service for each instance of the process fleet: its certificates have these names.
const fleetNamespace = "fleet"

// fleetInstance is an instance of the process fleet.
type fleetInstance struct {
	Name       string `json:"name"`
	Role       string `json:"role"`
	Server     string `json:"server"`
	Kubeconfig string `json:"kubeconfig"`

	port int
}

// external registers the instances of the process fleet, which listens on this machine's loopback address.
func (b *Bringup) external(ctx context.Context) error {
	if b.External == "" {
		return nil
	}
	instances, err := fleetInstances(b.External)
	if err != nil {
		return err
	}
	var ports []int
	for _, i := range instances {
		ports = append(ports, i.port)
	}
	if err := b.Node.EnsureForwarder(ctx, ports); err != nil {
		return err
	}
	client, err := b.Node.Client()
	if err != nil {
		return err
	}
	d, err := b.description(ctx)
	if err != nil {
		return err
	}
	kairship, err := graphql.New(d.KairshipURL, d.CAFile, d.TokenFile)
	if err != nil {
		return err
	}
	for _, i := range instances {
		if err := client.Apply(ctx, kube.MustParse(fleetService, fleetNamespace, i.Name, i.port, b.Node.Network.Host)...); err != nil {
			return err
		}
		kubeconfig, err := i.kubeconfig()
		if err != nil {
			return err
		}
		err = b.runSample(ctx, kairship, sampleStep{
			name:      "registerInstance " + i.Name,
			mutation:  `mutation($name: String!, $kubeconfig: String!) { registerInstance(input: {instance: $name, kubeconfig: $kubeconfig}) { operation } }`,
			variables: map[string]any{"name": i.Name, "kubeconfig": kubeconfig},
			await:     instanceRuns(kairship, i.Name),
		})
		if err != nil {
			return fmt.Errorf("the instance %s of the fleet in %s: %w", i.Name, b.External, err)
		}
	}
	return nil
}

// fleetService leads to a port of this machine.
const fleetService = `
apiVersion: v1
kind: Namespace
metadata: {name: %[1]s}
---
apiVersion: v1
kind: Service
metadata: {name: %[2]s, namespace: %[1]s}
spec:
  ports: [{name: https, port: 443, targetPort: %[3]d}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: %[2]s, namespace: %[1]s, labels: {kubernetes.io/service-name: %[2]s}}
addressType: IPv4
ports: [{name: https, port: %[3]d}]
endpoints: [{addresses: ["%[4]s"]}]
`

// fleet is a process fleet, as its description has it.
type fleet struct {
	// KairshipURL is empty where Kairship's own processes are left out.
	KairshipURL string            `json:"kairshipTLSURL"`
	CAFile      string            `json:"kairshipCAFile"`
	Tokens      map[string]string `json:"tokens"`
	Clusters    []fleetInstance   `json:"clusters"`
}

func fleetFile(dir string) string { return filepath.Join(dir, "fleet.json") }

func readFleet(dir string) (fleet, error) {
	var found fleet
	content, err := os.ReadFile(fleetFile(dir))
	if err != nil {
		return found, err
	}
	if err := json.Unmarshal(content, &found); err != nil {
		return found, fmt.Errorf("%s: %w", fleetFile(dir), err)
	}
	return found, nil
}

// fleetInstances reads the description of the fleet in the folder.
func fleetInstances(dir string) ([]fleetInstance, error) {
	fleet, err := readFleet(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("--external %s: there is no fleet that is up: start one with `go run ./deploy/local up --without-kairship --dir %s`", dir, dir)
	}
	if err != nil {
		return nil, err
	}
	path := fleetFile(dir)
	var instances []fleetInstance
	for _, c := range fleet.Clusters {
		if c.Role != "instance" {
			continue
		}
		server, err := url.Parse(c.Server)
		if err != nil {
			return nil, fmt.Errorf("%s: the server of %s: %w", path, c.Name, err)
		}
		if c.port, err = strconv.Atoi(server.Port()); err != nil {
			return nil, fmt.Errorf("%s: the port of %s: %w", path, c.Name, err)
		}
		instances = append(instances, c)
	}
	if len(instances) == 0 {
		return nil, fmt.Errorf("%s names no instance", path)
	}
	return instances, nil
}

// kubeconfig is the administrator's, with the address that pods reach it at.
func (i fleetInstance) kubeconfig() (string, error) {
	config, err := clientcmd.LoadFromFile(i.Kubeconfig)
	if err != nil {
		return "", err
	}
	for _, c := range config.Clusters {
		c.Server = fmt.Sprintf("https://%s.%s.svc", i.Name, fleetNamespace)
	}
	text, err := clientcmd.Write(*config)
	return string(text), err
}
