package main

import (
	"net"
	"net/url"

	"github.com/kairship-io/kairship/cmd/internal/flags"
)

// validateEndpoint finds what is wrong with where and how the API is served.
func (o *options) validateEndpoint(problems *flags.Problems) {
	check := problems.Checkf
	check((o.tlsCertFile == "") == (o.tlsKeyFile == ""), "--tls-cert-file and --tls-private-key-file: give both or neither")
	check(o.clientCAFile == "" || o.tlsCertFile != "", "--client-ca-file: client certificates need TLS; give --tls-cert-file too")
	if host, _, err := net.SplitHostPort(o.listenAddress); err != nil {
		check(false, "--listen-address: %v", err)
	} else {
		encrypted := o.tlsCertFile != "" && o.tlsListenAddress == ""
		check(encrypted || flags.Loopback(host),
			"--listen-address: bearer tokens must not travel in the clear; give --tls-cert-file and --tls-private-key-file (and no --tls-listen-address), or an address of the loopback interface instead of %q", host)
	}
	if o.tlsListenAddress != "" {
		_, _, err := net.SplitHostPort(o.tlsListenAddress)
		check(err == nil, "--tls-listen-address: %v", err)
		check(o.tlsCertFile != "", "--tls-listen-address: TLS needs --tls-cert-file and --tls-private-key-file")
	}
	if o.externalURL != "" {
		u, err := url.Parse(o.externalURL)
		check(err == nil, "--external-url: %v", err)
		check(err != nil || (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.User == nil && u.RawQuery == "" && u.Fragment == "",
			"--external-url: must be an address such as https://kairship.example.com, with nothing but a path behind it, not %q", o.externalURL)
	}
}
