// Package client calls the API of Kairship with typed messages, by Connect or by gRPC.
//
//	api, err := client.New(client.Config{Server: "https://kairship.example.com", Token: client.TokenFile("token")})
//	answer, err := api.ListWorkloads(ctx, connect.NewRequest(&kairshipv1.ListWorkloadsRequest{First: new(int32(20))}))
//
// It adds the token to each request, and repeats those that only read while the server does not answer. It is for
// importers; the command line uses it too.
package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"connectrpc.com/connect"

	"github.com/kairship-io/kairship/api/v1/kairshipv1/kairshipv1connect"
)

// API has the operations.
type API = kairshipv1connect.KairshipClient

// Config configures a client.
type Config struct {
	// Server is the address of Kairship, such as https://kairship.example.com. Required.
	Server string
	// Token returns the token of a request; nil for none, where a certificate says who the caller is.
	Token TokenSource
	// TLS are the authorities and the certificate; nil for those of the system.
	TLS *tls.Config
	// HTTP sends the requests, instead of a client with TLS. Only tests and programs that have one already set it.
	HTTP connect.HTTPClient
	// GRPC calls by gRPC, which needs HTTP/2 on the whole way. Without it, the client speaks Connect, which any proxy passes on.
	GRPC bool
	// Retries is how often a request that only reads is repeated while the server does not answer; zero for
	// DefaultRetries, less for never.
	Retries int
	// UserAgent names the program.
	UserAgent string
}

// TokenSource returns the token to send; it is called for each request.
type TokenSource func(context.Context) (string, error)

// New returns a client. It connects with the first request.
func New(cfg Config) (API, error) {
	server, http, options, err := cfg.resolve()
	if err != nil {
		return nil, err
	}
	return kairshipv1connect.NewKairshipClient(http, server, options...), nil
}

// resolve returns the address without a slash at its end, and how requests are sent to it.
func (cfg Config) resolve() (server string, http connect.HTTPClient, options []connect.ClientOption, err error) {
	u, err := url.Parse(cfg.Server)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return "", nil, nil, fmt.Errorf("%q is no address such as https://kairship.example.com", cfg.Server)
	case u.Scheme == "http" && cfg.Token != nil && !loopback(u.Hostname()):
		return "", nil, nil, fmt.Errorf("%s is not encrypted, and the token would be read on the way: use https", cfg.Server)
	}
	if cfg.HTTP == nil {
		cfg.HTTP = httpClient(u.Scheme, cfg)
	}
	options = []connect.ClientOption{connect.WithInterceptors(&interceptor{cfg})}
	if cfg.GRPC {
		options = append(options, connect.WithGRPC())
	}
	return strings.TrimSuffix(cfg.Server, "/"), cfg.HTTP, options, nil
}

// httpClient has no timeout of its own: that of a request is its context's.
func httpClient(scheme string, cfg Config) *http.Client {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: cfg.TLS, Protocols: &http.Protocols{}}
	transport.Protocols.SetHTTP2(true)
	transport.Protocols.SetHTTP1(!cfg.GRPC)
	transport.Protocols.SetUnencryptedHTTP2(scheme == "http" && cfg.GRPC)
	return &http.Client{
		Transport: transport,
		// The token is for this server alone.
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return errors.New("the server redirects to another address")
		},
	}
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
