package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// The part of the fleet that is measured. The members' names are also those of
// their rows in the index.
const (
	instanceName = "alpha"
	indexedAs    = "k-alpha"
)

var members = []string{"m1", "m2"}

// fleet is what the fleet's description says, as far as it is needed.
type fleet struct {
	KairshipURL string            `json:"kairshipURL"`
	DB          string            `json:"db"`
	PIDs        string            `json:"pids"`
	Tokens      map[string]string `json:"tokens"`
	Clusters    []struct {
		Name       string `json:"name"`
		Kubeconfig string `json:"kubeconfig"`
	} `json:"clusters"`
}

// readFleet reads the description that a fleet writes when it is up.
func readFleet(dir string) (*fleet, error) {
	path := filepath.Join(dir, "fleet.json")
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("no fleet runs in %s (start one with make up): %w", dir, err)
	}
	f := &fleet{}
	if err := json.Unmarshal(raw, f); err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return f, nil
}

// config is how a cluster is reached as its administrator, without client-go's
// own limit on requests.
func (f *fleet) config(name string) (*rest.Config, error) {
	for _, c := range f.Clusters {
		if c.Name != name {
			continue
		}
		config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
		if err != nil {
			return nil, fmt.Errorf("reading the kubeconfig of %s: %w", name, err)
		}
		config.QPS, config.UserAgent = -1, "kairship-bench"
		return config, nil
	}
	return nil, fmt.Errorf("the fleet has no cluster %s", name)
}

// token is the bearer token of a person.
func (f *fleet) token(person string) (string, error) {
	path, ok := f.Tokens[person]
	if !ok {
		return "", fmt.Errorf("the fleet has no token for %s", person)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("reading the token of %s: %w", person, err)
	}
	return strings.TrimSpace(string(raw)), nil
}
