package globalmanagementwebhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// Options say where the webhook is served.
type Options struct {
	// Address to listen on, as host:port.
	Address string
	// CertFile and KeyFile hold the serving certificate, in PEM. They are read
	// again when they change.
	CertFile, KeyFile string
	// Secret names the Secret with the keys PrimaryKey and, while secrets are being
	// rotated, SecondaryKey.
	Secret types.NamespacedName
	// ShutdownTimeout is how long requests in progress may last at the end.
	ShutdownTimeout time.Duration
}

// Webhook serves global management.
type Webhook struct {
	Options Options
	// Metrics is where what is counted is registered.
	Metrics prometheus.Registerer
}

var _ manager.LeaderElectionRunnable = (*server)(nil)

// SetupWithManager serves the webhook while the manager runs.
func (w *Webhook) SetupWithManager(mgr ctrl.Manager) error {
	// Events must not wait for the controllers, nor the controllers for them.
	config := rest.CopyConfig(mgr.GetConfig())
	config.QPS, config.Burst = 500, 1000
	kube, err := client.New(config, client.Options{Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return err
	}
	certificate, err := certwatcher.New(w.Options.CertFile, w.Options.KeyFile)
	if err != nil {
		return fmt.Errorf("the serving certificate: %w", err)
	}
	log := mgr.GetLogger().WithName(Name)
	secrets := &keyring{secrets: kube, name: w.Options.Secret, now: time.Now}
	s := &server{options: w.Options, certificate: certificate, handler: newHandler(&store{kube}, secrets.get, time.Now, log, w.Metrics), log: log, listening: make(chan struct{})}
	if err := mgr.AddReadyzCheck(Name, s.ready); err != nil {
		return err
	}
	return mgr.Add(s)
}

// server is the HTTPS server.
type server struct {
	options     Options
	certificate *certwatcher.CertWatcher
	handler     http.Handler
	log         logr.Logger
	listening   chan struct{} // closed when it does
}

// NeedLeaderElection is false: every replica serves.
func (s *server) NeedLeaderElection() bool { return false }

func (s *server) ready(*http.Request) error {
	select {
	case <-s.listening:
		return nil
	default:
		return errors.New("the webhook is not served yet")
	}
}

// Start serves until the context ends, and then finishes what was begun.
func (s *server) Start(ctx context.Context) error {
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", s.options.Address)
	if err != nil {
		return fmt.Errorf("serve the webhook of global management: %w", err)
	}
	srv := &http.Server{
		Handler:           s.handler,
		TLSConfig:         &tls.Config{GetCertificate: s.certificate.GetCertificate, MinVersion: tls.VersionTLS12},
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       resyncArrives,
		WriteTimeout:      resyncArrives + resyncTimeout + 30*time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		// Clients without the key can cause errors before there is a request, such as in a
		// handshake.
		ErrorLog: log.New(debugWriter{s.log}, "", 0),
	}
	failed := make(chan error, 2)
	go func() {
		if err := s.certificate.Start(ctx); err != nil {
			failed <- err
		}
	}()
	go func() { failed <- srv.ServeTLS(listener, "", "") }()
	s.log.Info("Serving", "address", listener.Addr().String())
	close(s.listening)
	select {
	case err := <-failed:
		_ = srv.Close()
		return fmt.Errorf("the webhook of global management ended: %w", err)
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.options.ShutdownTimeout)
	defer cancel()
	if err := srv.Shutdown(drain); err != nil {
		return fmt.Errorf("some requests to the webhook of global management were cut off after %s: %w", s.options.ShutdownTimeout, err)
	}
	return nil
}

// debugWriter writes the lines of a standard logger to a logr one at debug level.
type debugWriter struct{ log logr.Logger }

func (w debugWriter) Write(line []byte) (int, error) {
	w.log.V(1).Info(string(line))
	return len(line), nil
}
