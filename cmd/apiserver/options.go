package main

import (
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/spf13/pflag"

	"github.com/kairship-io/kairship/cmd/internal/flags"
	"github.com/kairship-io/kairship/graph/server"
)

const program = "kairship-apiserver"

// options are the settings of the command.
type options struct {
	// settings say where each of them was written.
	settings *flags.Settings

	kubeconfig   string
	kubeAPIQPS   float32
	kubeAPIBurst int

	indexTimeout time.Duration
	// indexDatabaseFile has the DSN of the index's database; empty for none.
	indexDatabaseFile        string
	indexDatabaseConnections int
	indexQPS                 float32
	// collectorLease is namespace/name.
	collectorLease string
	indexBurst     int
	// consistencySecret is namespace/name.
	consistencySecret string

	listenAddress string
	// tlsListenAddress is where TLS is served beside plain HTTP; empty for one address only.
	tlsListenAddress string
	tlsCertFile      string
	tlsKeyFile       string
	clientCAFile     string
	externalURL      string
	externalCAFile   string

	signIn signInOptions

	instances instanceOptions

	requestTimeout time.Duration
	maxBodyBytes   int64
	console        bool
	mcp            bool
	mcpWrites      bool
	graphiql       bool
	introspection  bool

	limits limitOptions

	streams streamOptions

	observability observabilityOptions

	waitForAPIs     time.Duration
	shutdownTimeout time.Duration
	shutdownDelay   time.Duration
	logLevel        string
	logFormat       string
	metricsAddress  string
	pprofAddress    string
}

// flags are the flags with their defaults, in the order of the help.
func (o *options) flags() []flags.Group {
	return []flags.Group{
		flags.NewGroup("Global cluster", func(f *pflag.FlagSet) {
			f.StringVar(&o.kubeconfig, "kubeconfig", "", "`file` with the credentials of the global cluster; when empty, $KUBECONFIG, then the pod's service account")
			f.Float32Var(&o.kubeAPIQPS, "kube-api-qps", 200, "requests per second to the global cluster's apiserver, on average; every new token costs two. Half as many more are for tokens that were not found valid in the last hour")
			f.IntVar(&o.kubeAPIBurst, "kube-api-burst", 400, "requests to the global cluster's apiserver in one go")
			f.DurationVar(&o.waitForAPIs, "wait-for-apis", time.Minute, "how long to wait at the start until the global cluster answers and serves Kairship's and Clusterpedia's custom resources")
		}),
		flags.NewGroup("Index", func(f *pflag.FlagSet) {
			f.DurationVar(&o.indexTimeout, "index-timeout", 5*time.Second, "how long one request to the index may take")
			f.StringVar(&o.collectorLease, "index-collector-lease", "clusterpedia-system/clusterpedia-clustersynchro-manager", "`namespace/name` of the Lease that the index's collector renews; unless it is renewed, answers from the index say that they are stale")
			f.StringVar(&o.indexDatabaseFile, "index-database-file", "", "`file` with the DSN of Clusterpedia's database, postgres://user:password@host:port/database or file:/path/of/the/index.db, in which the controller manager keeps the projection; read again for each new connection; without one, workloads cannot be selected by their state, and each state is computed when it is asked for")
			f.IntVar(&o.indexDatabaseConnections, "index-database-connections", 16, "connections to the index's database; more than --max-index-requests-per-user, so that one user does not have all of them")
			f.Float32Var(&o.indexQPS, "index-qps", 5000, "requests per second to the index, on average; a fuse, well above what it can answer")
			f.IntVar(&o.indexBurst, "index-burst", 10000, "requests to the index in one go")
		}),
		flags.NewGroup("Consistency", func(f *pflag.FlagSet) {
			f.StringVar(&o.consistencySecret, "consistency-secret", "kairship-system/kairship-consistency-tokens", "`namespace/name` of the Secret with the key of consistency tokens, which all replicas share; the first replica that needs it makes it")
		}),
		flags.NewGroup("Endpoint", func(f *pflag.FlagSet) {
			f.StringVar(&o.listenAddress, "listen-address", "127.0.0.1:8080", "`host:port` to serve on; plain HTTP is served on loopback only")
			f.StringVar(&o.tlsListenAddress, "tls-listen-address", "", "`host:port` to serve TLS on, beside plain HTTP at --listen-address; when empty, a certificate has TLS served at --listen-address instead")
			f.StringVar(&o.tlsCertFile, "tls-cert-file", "", "`file` with the serving certificate and its chain, in PEM; read again when it changes")
			f.StringVar(&o.tlsKeyFile, "tls-private-key-file", "", "`file` with the serving certificate's key, in PEM; read again when it changes")
			f.StringVar(&o.clientCAFile, "client-ca-file", "", "`file` with the authorities whose client certificates are accepted beside bearer tokens, in PEM; needs TLS; read again when it changes")
			f.StringVar(&o.externalURL, "external-url", "", "`URL` under which clients reach this server, for the kubeconfigs it hands out; when empty, the address that each request was sent to")
			f.StringVar(&o.externalCAFile, "external-ca-file", "", "`file` with the authorities that clients need to verify that URL, in PEM, for the same kubeconfigs; when empty, clients have to trust it already; read again when it changes")
		}),
		flags.NewGroup("Sign-in", o.signIn.define),
		flags.NewGroup("Instances", o.instances.define),
		flags.NewGroup("Requests", func(f *pflag.FlagSet) {
			f.DurationVar(&o.requestTimeout, "request-timeout", server.DefaultRequestTimeout, "how long one operation may take; what is done by then is returned")
			f.Int64Var(&o.maxBodyBytes, "max-body-bytes", server.DefaultMaxBodyBytes, "size of the largest request body, in bytes")
			f.BoolVar(&o.console, "console", true, "serve the console at /")
			f.BoolVar(&o.mcp, "mcp", true, "serve tools to assistants at /mcp, by the Model Context Protocol; they only read")
			f.BoolVar(&o.mcpWrites, "mcp-writes", false, "let assistants change something too, as their users, who confirm each change; needs mcp")
			f.BoolVar(&o.graphiql, "graphiql", true, "serve GraphiQL at /graphiql")
			f.BoolVar(&o.introspection, "introspection", true, "let clients read the schema; GraphiQL needs it")
		}),
		flags.NewGroup("Limits", o.limits.define),
		flags.NewGroup("Subscriptions", o.streams.define),
		flags.NewGroup("Observability", o.observability.define),
		flags.NewGroup("Process", func(f *pflag.FlagSet) {
			f.DurationVar(&o.shutdownTimeout, "shutdown-timeout", 20*time.Second, "how long requests in progress may last after SIGTERM or SIGINT")
			f.DurationVar(&o.shutdownDelay, "shutdown-delay", 0, "how long to go on serving after SIGTERM or SIGINT while /readyz says that the process stops, so that load balancers notice")
			f.StringVar(&o.logLevel, "log-level", "info", "`level` of the log: error, warn, info or debug")
			f.StringVar(&o.logFormat, "log-format", "json", "`format` of the log: json or text")
			f.StringVar(&o.metricsAddress, "metrics-bind-address", "", "`host:port` to serve metrics on, at /metrics: over plain HTTP on the loopback interface, else with TLS and to those who may get /metrics in the global cluster; off when empty")
			f.StringVar(&o.pprofAddress, "pprof-address", "", "`host:port` on the loopback interface to serve Go's profiles on, at /debug/pprof/; off when empty")
		}),
	}
}

// command is the program with its settings.
func (o *options) command() flags.Program {
	return flags.Program{
		Name:     program,
		Version:  version,
		Purpose:  "serves the GraphQL API of Kairship: one view of\nall instances, read from the index.",
		Groups:   o.flags(),
		Validate: o.validate,
	}
}

// parse reads the settings. Help and version go to out, and the error is then
// flags.ErrPrinted. Any other error says everything that is wrong at once.
func parse(args, environ []string, out io.Writer) (*options, error) {
	o := &options{}
	var err error
	if o.settings, err = o.command().Parse(args, environ, out); err != nil {
		return nil, err
	}
	return o, nil
}

// validate finds everything that is wrong with the settings.
func (o *options) validate(problems *flags.Problems) {
	check := problems.Checkf
	for flag, path := range map[string]string{
		"--kubeconfig": o.kubeconfig, "--tls-cert-file": o.tlsCertFile,
		"--tls-private-key-file": o.tlsKeyFile, "--client-ca-file": o.clientCAFile, "--external-ca-file": o.externalCAFile,
	} {
		problems.File(flag, path)
	}
	check(o.kubeAPIQPS > 0, "--kube-api-qps: must be more than 0, not %v", o.kubeAPIQPS)
	check(o.kubeAPIBurst >= 1, "--kube-api-burst: must be at least 1, not %d", o.kubeAPIBurst)
	problems.NamespacedName("--index-collector-lease", o.collectorLease)
	problems.NamespacedName("--consistency-secret", o.consistencySecret)
	check(o.indexQPS > 0, "--index-qps: must be more than 0, not %v", o.indexQPS)
	problems.File("--index-database-file", o.indexDatabaseFile)
	check(o.indexDatabaseConnections >= 1, "--index-database-connections: must be at least 1, not %d", o.indexDatabaseConnections)
	check(o.indexBurst >= 1, "--index-burst: must be at least 1, not %d", o.indexBurst)
	check(o.mcp || !o.mcpWrites, "--mcp-writes: there are no tools with --mcp=false")
	check(o.maxBodyBytes >= 1024, "--max-body-bytes: must be at least 1024, not %d", o.maxBodyBytes)
	for _, f := range []struct {
		flag  string
		value time.Duration
	}{
		{"--index-timeout", o.indexTimeout}, {"--request-timeout", o.requestTimeout},
		{"--wait-for-apis", o.waitForAPIs}, {"--shutdown-timeout", o.shutdownTimeout},
	} {
		check(f.value > 0, "%s: must be more than 0, not %s", f.flag, f.value)
	}
	o.instances.validate(problems)
	o.limits.validate(problems)
	o.streams.validate(problems)
	o.observability.validate(problems)
	check(o.shutdownDelay >= 0, "--shutdown-delay: must not be less than 0, and is %s", o.shutdownDelay)
	o.validateEndpoint(problems)
	o.signIn.validate(problems)
	if o.metricsAddress != "" {
		host, _, err := net.SplitHostPort(o.metricsAddress)
		check(err == nil, "--metrics-bind-address: %v", err)
		check(err != nil || flags.Loopback(host) || o.tlsCertFile != "",
			"--metrics-bind-address: metrics name the instances, so beyond the loopback interface they are served with TLS, to those who may get /metrics in the global cluster; give --tls-cert-file and --tls-private-key-file, or an address of the loopback interface instead of %q", host)
	}
	if o.pprofAddress != "" {
		host, _, err := net.SplitHostPort(o.pprofAddress)
		check(err == nil, "--pprof-address: %v", err)
		check(err != nil || flags.Loopback(host), "--pprof-address: profiles show what is in memory, so they are served on the loopback interface only, not on %q", host)
	}
	_, err := o.level()
	check(err == nil, "--log-level: %q is none of error, warn, info and debug", o.logLevel)
	check(o.logFormat == "json" || o.logFormat == "text", "--log-format: %q is neither json nor text", o.logFormat)
}

func (o *options) level() (slog.Level, error) {
	var level slog.Level
	err := level.UnmarshalText([]byte(o.logLevel))
	return level, err
}

func (o *options) logger(out io.Writer) *slog.Logger {
	level, _ := o.level() // Checked by validate.
	settings := &slog.HandlerOptions{Level: level}
	if o.logFormat == "text" {
		return slog.New(slog.NewTextHandler(out, settings))
	}
	return slog.New(slog.NewJSONHandler(out, settings))
}
