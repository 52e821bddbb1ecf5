// Package connection converts a Secret with credentials into everything that is needed to reach one
// API server, without references outside the Secret: no file, no program to run, no environment.
//
// A kubeconfig is a program of sorts: it may name commands that print a token and files whose
// content is sent along. A kubeconfig in a Secret was written by another user than the owner of the
// process that reads it, so those parts are refused here, before any client sees them.
package connection

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	certutil "k8s.io/client-go/util/cert"
)

// Connection is how one apiserver is reached.
type Connection struct {
	// Endpoint is the https URL of the apiserver.
	Endpoint string
	// ServerName is what the serving certificate is checked against; the host of
	// Endpoint when it is empty.
	ServerName string
	// CAData are the PEM certificates that the serving certificate is checked
	// against; the host's trust store when it is empty.
	CAData []byte
	// Insecure switches that check off. Only a kubeconfig that says so sets it.
	Insecure bool
	// Token is a bearer token; empty with a client certificate.
	Token string
	// CertData and KeyData are a PEM client certificate and its private key.
	CertData, KeyData []byte
	// ProxyURL is the proxy in between; empty for none. The environment's proxy
	// is never used: a member cluster is not a web site.
	ProxyURL string
}

// RESTConfig is the connection for client-go. Its limits are client-go's own
// defaults, 5 requests a second: the caller sets what it needs.
func (c Connection) RESTConfig() *rest.Config {
	config := &rest.Config{
		Host:        c.Endpoint,
		BearerToken: c.Token,
		TLSClientConfig: rest.TLSClientConfig{
			ServerName: c.ServerName,
			CAData:     c.CAData,
			Insecure:   c.Insecure,
			CertData:   c.CertData,
			KeyData:    c.KeyData,
		},
		Proxy: c.proxy,
	}
	return config
}

func (c Connection) proxy(*http.Request) (*url.URL, error) {
	if c.ProxyURL == "" {
		return nil, nil
	}
	return url.Parse(c.ProxyURL)
}

// HTTPClient is the connection for plain requests, to permitted addresses only: it adds
// the credentials, and its idle connections can be closed when the credentials change,
// which the transports that client-go shares cannot.
func (c Connection) HTTPClient(permitted *Addresses) (*http.Client, error) {
	config := c.RESTConfig()
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{
		Proxy:               c.proxy,
		DialContext:         permitted.Dialer(5*time.Second, 30*time.Second).DialContext,
		TLSClientConfig:     tlsConfig,
		TLSHandshakeTimeout: 5 * time.Second,
		ForceAttemptHTTP2:   true,
		// A watch on a host that went away without a word would last for ever.
		HTTP2:                 &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 5 * time.Second},
		MaxIdleConnsPerHost:   2,
		IdleConnTimeout:       90 * time.Second,
		ResponseHeaderTimeout: 30 * time.Second,
	}
	authenticated, err := rest.HTTPWrappersForConfig(config, transport)
	if err != nil {
		return nil, err
	}
	return &http.Client{
		Transport: &closable{RoundTripper: authenticated, transport: transport},
		// The credentials must not follow a redirect to another host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

// closable makes http.Client.CloseIdleConnections reach the transport below
// client-go's wrappers.
type closable struct {
	http.RoundTripper
	transport *http.Transport
}

func (c *closable) CloseIdleConnections() { c.transport.CloseIdleConnections() }

// Kubeconfig is the connection as a kubeconfig of one cluster, one user and one
// context. The same connection always gives the same bytes.
func (c Connection) Kubeconfig() ([]byte, error) {
	const name = "default"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{
		Server:                   c.Endpoint,
		TLSServerName:            c.ServerName,
		CertificateAuthorityData: c.CAData,
		InsecureSkipTLSVerify:    c.Insecure,
		ProxyURL:                 c.ProxyURL,
	}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{
		Token:                 c.Token,
		ClientCertificateData: c.CertData,
		ClientKeyData:         c.KeyData,
	}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	out, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("write a kubeconfig: %w", err)
	}
	return out, nil
}

// Fingerprint identifies a connection without revealing it: it is the key of clients, which must be
// replaced when it changes.
func (c Connection) Fingerprint() string {
	hash := sha256.New()
	for _, part := range []string{
		c.Endpoint, c.ServerName, string(c.CAData), fmt.Sprint(c.Insecure),
		c.Token, string(c.CertData), string(c.KeyData), c.ProxyURL,
	} {
		fmt.Fprintf(hash, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// ExpireTime is when the apiserver stops to accept the credentials: the end of
// the client certificate, or the exp claim of a token that is a JWT. It is zero
// when the credentials do not say, as with opaque tokens.
func (c Connection) ExpireTime() time.Time {
	var earliest time.Time
	for _, end := range []time.Time{certificateEnd(c.CertData), tokenEnd(c.Token)} {
		if !end.IsZero() && (earliest.IsZero() || end.Before(earliest)) {
			earliest = end
		}
	}
	return earliest
}

func certificateEnd(pem []byte) time.Time {
	if len(pem) == 0 {
		return time.Time{}
	}
	certificates, err := certutil.ParseCertsPEM(pem)
	if err != nil {
		return time.Time{}
	}
	return certificates[0].NotAfter
}

// tokenEnd reads the token's claims without checking its signature: it is our
// own credential, and the apiserver will check it.
func tokenEnd(token string) time.Time {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return time.Time{}
	}
	var claims struct {
		Exp float64 `json:"exp"`
	}
	if err := json.Unmarshal(payload, &claims); err != nil || claims.Exp <= 0 {
		return time.Time{}
	}
	return time.Unix(int64(claims.Exp), 0)
}

// problems says everything that is wrong with the connection.
func (c Connection) problems() []string {
	var found []string
	add := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }

	if problem := endpointProblem(c.Endpoint); problem != "" {
		add("%s", problem)
	}
	if len(c.CAData) > 0 {
		if c.Insecure {
			add("it has a CA and switches the check of the serving certificate off: remove one")
		}
		if _, err := certutil.ParseCertsPEM(c.CAData); err != nil {
			add("its CA is not a PEM certificate")
		}
	}
	switch {
	case len(c.CertData) > 0 && len(c.KeyData) > 0:
		if _, err := tls.X509KeyPair(c.CertData, c.KeyData); err != nil {
			add("its client certificate and key are not a PEM pair")
		}
	case len(c.CertData) > 0:
		add("it has a client certificate without its key")
	case len(c.KeyData) > 0:
		add("it has a client key without its certificate")
	case c.Token == "":
		add("it has neither a token nor a client certificate")
	}
	if strings.ContainsFunc(c.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		add("its token has characters that cannot be sent")
	}
	if c.ProxyURL != "" {
		if proxy, err := url.Parse(c.ProxyURL); err != nil || proxy.Hostname() == "" ||
			(proxy.Scheme != "http" && proxy.Scheme != "https" && proxy.Scheme != "socks5") {
			add("its proxy is not an http, https or socks5 URL")
		}
	}
	return found
}

// endpointProblem holds an endpoint to what the Cluster resource accepts.
func endpointProblem(endpoint string) string {
	if endpoint == "" {
		return "it names no server"
	}
	parsed, err := url.Parse(endpoint)
	switch {
	case err != nil || parsed.Hostname() == "":
		return "its server is not a URL"
	case parsed.Scheme != "https":
		return "its server is not an https URL"
	case parsed.User != nil || parsed.RawQuery != "" || parsed.Fragment != "" || strings.Contains(endpoint, "@"):
		return "the URL of its server has credentials, a query or a fragment"
	}
	return ""
}
