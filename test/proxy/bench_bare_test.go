package proxy

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// bareProxy names the kubeconfig of what a bare proxy stands in front of, in the
// environment of the process that is to be one.
const bareProxy = "KAIRSHIP_BENCH_BARE_PROXY"

// startBare starts a proxy that does nothing but pass on what it gets, in a
// process of its own: the reverse proxy of Go's library over one HTTP/2 connection.
// It shows how much of the price is that of any hop. There is nothing of Kairship
// in it: no user logs in, no user is permitted anything, nothing is written down.
func startBare(b *testing.B, w *world) *rest.Config {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(self)
	server := w.PKI("global", "servers", "kairship-apiserver")
	cmd.Env = append(os.Environ(), bareProxy+"="+w.Cluster(b, "alpha").Kubeconfig, bareProxy+"_CERTIFICATE="+server)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatalf("the bare proxy does not start: %v", err)
	}
	return &rest.Config{Host: "https://" + strings.TrimSpace(address), TLSClientConfig: rest.TLSClientConfig{CAData: w.ca}, QPS: -1}
}

// beBare is that process.
func beBare(kubeconfig, certificate string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	to, err := url.Parse(config.Host)
	if err != nil {
		return err
	}
	upstream, err := rest.TLSConfigFor(config)
	if err != nil {
		return err
	}
	proxy := &httputil.ReverseProxy{
		Transport: &http.Transport{TLSClientConfig: upstream, ForceAttemptHTTP2: true, DisableCompression: true},
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Host = ""
			r.Out.Header.Set("Impersonate-User", "alice")
		},
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	server := &http.Server{Handler: proxy, TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12}, ReadHeaderTimeout: 10 * time.Second}
	return server.ServeTLS(listener, filepath.Clean(certificate+".crt"), filepath.Clean(certificate+".key"))
}
