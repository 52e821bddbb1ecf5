package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/kairship-io/kairship/cmd/internal/flags"
)

// checkCommand is the first argument that has the program look at one that serves.
const checkCommand = "check"

// checked is one request to an API that serves, and what the answer has to be.
type checked struct {
	what, method, path string
	// status is what is wanted, and says a part of the body.
	status int
	says   string
	// advice is for who reads that it failed.
	advice string
}

var checks = []checked{
	{what: "is ready", method: http.MethodGet, path: "/readyz", status: http.StatusOK, says: `{"status":"ok"`, advice: "the body says which check fails"},
	{what: "refuses who brings no token", method: http.MethodPost, path: "/graphql", status: http.StatusUnauthorized, says: "UNAUTHENTICATED", advice: "something between here and Kairship answers, or adds credentials"},
	{what: "serves the console", method: http.MethodGet, path: "/", status: http.StatusOK, says: "<html", advice: "something between here and Kairship answers"},
}

// check asks an API that serves, as `helm test` does from a pod, until all is well or the time is over.
func check(ctx context.Context, args []string, out io.Writer) error {
	set := pflag.NewFlagSet(program+" "+checkCommand, pflag.ContinueOnError)
	set.SetOutput(out)
	address := set.String("url", "", "where the API is served, such as https://kairship-apiserver.kairship-system.svc")
	caFile := set.String("ca-file", "", "the authorities of its certificate; those of the system unless given")
	serverName := set.String("server-name", "", "the name that its certificate has to be for; that of --url unless given")
	timeout := set.Duration("timeout", time.Minute, "how long it may take until all is well")
	err := set.Parse(args)
	if errors.Is(err, pflag.ErrHelp) {
		return flags.ErrPrinted
	}
	if err != nil {
		return err
	}
	if *address == "" || set.NArg() > 0 {
		return fmt.Errorf("%s needs --url and no other argument: %s --help", checkCommand, set.Name())
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil
	transport.TLSClientConfig = &tls.Config{ServerName: *serverName, MinVersion: tls.VersionTLS12}
	if *caFile != "" {
		roots := x509.NewCertPool()
		content, err := os.ReadFile(*caFile)
		if err != nil {
			return fmt.Errorf("--ca-file: %w", err)
		}
		if !roots.AppendCertsFromPEM(content) {
			return fmt.Errorf("--ca-file: %s has no certificate in PEM", *caFile)
		}
		transport.TLSClientConfig.RootCAs = roots
	}
	ctx, cancel := context.WithTimeout(ctx, *timeout)
	defer cancel()
	for _, c := range checks {
		if err := c.until(ctx, &http.Client{Transport: transport}, strings.TrimSuffix(*address, "/")); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "ok  %s %s\n", *address, c.what); err != nil {
			return err
		}
	}
	return nil
}

// until asks every second until all is well; when the time is over its error is that of the last whole answer. A
// certificate that is not to be trusted is not asked again.
func (c checked) until(ctx context.Context, client *http.Client, address string) error {
	err := c.against(ctx, client, address)
	for err != nil {
		if _, untrusted := errors.AsType[*tls.CertificateVerificationError](err); untrusted {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(time.Second):
		}
		if again := c.against(ctx, client, address); again == nil || ctx.Err() == nil {
			err = again
		}
	}
	return nil
}

func (c checked) against(ctx context.Context, client *http.Client, address string) error {
	request, err := http.NewRequestWithContext(ctx, c.method, address+c.path, strings.NewReader(`{"query":"{ __typename }"}`))
	if err != nil {
		return fmt.Errorf("--url: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "text/html,application/json")
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("%s is not reached: %w", address, err)
	}
	defer func() { _ = response.Body.Close() }()
	const most = 64 << 10
	body, err := io.ReadAll(io.LimitReader(response.Body, most))
	if err != nil {
		return fmt.Errorf("%s%s: %w", address, c.path, err)
	}
	if response.StatusCode != c.status || !strings.Contains(string(body), c.says) {
		return fmt.Errorf("it is not so that %s %s: %s answers %s, wanted was %d (%s)\n%.2000s", address, c.what, c.path, response.Status, c.status, c.advice, body)
	}
	return nil
}
