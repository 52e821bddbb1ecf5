package main

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"

	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"

	"github.com/kairship-io/kairship/pkg/client"
)

// serverVariable names the address of Kairship where no flag and no kubeconfig does.
const serverVariable = "KAIRSHIP_SERVER"

// nowhere is the address that client-go has without a kubeconfig.
const nowhere = "http://localhost:8080"

// options are what all commands have.
type options struct {
	genericiooptions.IOStreams

	kube     *genericclioptions.ConfigFlags
	instance string
}

func newOptions(streams genericiooptions.IOStreams) *options {
	// The flags of kubectl that say where Kairship is and who asks.
	kube := genericclioptions.NewConfigFlags(false)
	kube.CacheDir, kube.Impersonate, kube.ImpersonateUID, kube.ImpersonateGroup, kube.DisableCompression = nil, nil, nil, nil, nil
	return &options{IOStreams: streams, kube: kube}
}

func (o *options) addFlags(flags *pflag.FlagSet) {
	o.kube.AddFlags(flags)
	flags.StringVarP(&o.instance, "instance", "i", "", "The instance; all of them, or the only one that has the object, unless told")
}

// config is how to call Kairship: the server and the credentials of a kubeconfig. That of an instance through Kairship has
// the same address, with a path behind it.
func (o *options) config() (client.Config, error) {
	config, err := o.kube.ToRESTConfig()
	if server := os.Getenv(serverVariable); server != "" && *o.kube.APIServer == "" {
		if err != nil {
			config, err = &rest.Config{}, nil
		}
		config.Host = server
	}
	if err == nil && *o.kube.APIServer == "" && config.Host == nowhere {
		err = errors.New("there is no kubeconfig")
	}
	if err != nil {
		return client.Config{}, fmt.Errorf("finding Kairship: %w (give --server, or a kubeconfig of an instance through Kairship)", err)
	}
	u, err := url.Parse(config.Host)
	switch {
	case err != nil || u.Host == "":
		return client.Config{}, fmt.Errorf("%q is no address of Kairship", config.Host)
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return client.Config{}, errors.New("the address is not encrypted, and credentials would be read on the way: use https")
	}
	if *o.kube.BearerToken != "" {
		config.BearerToken = *o.kube.BearerToken // Without TLS, what reads a kubeconfig leaves it out.
	}
	config.UserAgent = "kubectl-kairship/" + version
	config.Timeout = 0 // Streams last.
	http, err := rest.HTTPClientFor(config)
	if err != nil {
		return client.Config{}, err
	}
	return client.Config{Server: u.Scheme + "://" + u.Host, HTTP: http, UserAgent: config.UserAgent}, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// api returns the client.
func (o *options) api() (client.API, error) {
	config, err := o.config()
	if err != nil {
		return nil, err
	}
	return client.New(config)
}

// namespace is that of the flag; empty for all.
func (o *options) namespace() string { return *o.kube.Namespace }
