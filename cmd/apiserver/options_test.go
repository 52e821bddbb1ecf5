package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kairship-io/kairship/cmd/internal/flags/flagstest"
)

// TestSettings keeps the help and the reference as they are reviewed.
func TestSettings(t *testing.T) { flagstest.Settings(t, (&options{}).command()) }

// TestEndpointsWithoutLoginStayOnLoopback keeps endpoints without authentication,
// and tokens in the clear, off the network.
func TestEndpointsWithoutLoginStayOnLoopback(t *testing.T) {
	for _, flag := range []string{"--listen-address", "--metrics-bind-address", "--pprof-address"} {
		for address, want := range map[string]bool{
			"127.0.0.1:9090": true, "[::1]:9090": true, "localhost:9090": true,
			"0.0.0.0:9090": false, ":9090": false, "192.0.2.1:9090": false, "metrics.example.com:9090": false,
		} {
			_, err := parse([]string{flag + "=" + address}, nil, io.Discard)
			if got := err == nil; got != want {
				t.Errorf("%s=%s: accepted is %v, want %v (%v)", flag, address, got, want, err)
			}
			if err != nil && !strings.Contains(err.Error(), flag) {
				t.Errorf("%s=%s: the error does not name the flag: %v", flag, address, err)
			}
		}
	}
}

// TestMetricsElsewhereNeedTLS checks that metrics are encrypted on other interfaces than the
// loopback.
func TestMetricsElsewhereNeedTLS(t *testing.T) {
	if _, err := parse([]string{"--metrics-bind-address=:9443", "--tls-cert-file=options.go", "--tls-private-key-file=options.go"}, nil, io.Discard); err != nil {
		t.Errorf("refused although there is a certificate: %v", err)
	}
}

// TestFlags says what is refused, and by what name.
func TestFlags(t *testing.T) {
	const certificate = "--tls-cert-file=options.go"
	for _, tt := range []struct {
		args []string
		says []string // of the error; none when the flags are accepted
		why  string
	}{
		{nil, nil, "the defaults are accepted"},
		{[]string{"--tls-listen-address=127.0.0.1:8443", certificate, "--tls-private-key-file=options.go"}, nil, "TLS beside plain HTTP on loopback"},
		{[]string{"--tls-listen-address=:8443", certificate, "--tls-private-key-file=options.go"}, nil, "TLS may be anywhere"},
		{
			[]string{"--listen-address=:8080", "--tls-listen-address=:8443", certificate, "--tls-private-key-file=options.go"},
			[]string{"--listen-address: bearer tokens must not travel in the clear"}, "the certificate is for the other address",
		},
		{[]string{"--tls-listen-address=8443"}, []string{"--tls-listen-address: address 8443", "--tls-listen-address: TLS needs --tls-cert-file"}, "no host, no certificate"},
		{[]string{"--mcp-writes"}, nil, "assistants may write where it is switched on"},
		{[]string{"--mcp-writes", "--mcp=false"}, []string{"--mcp-writes: there are no tools"}, "nothing would write"},
		{[]string{"--karmada-versions=v1.18.2,v1.19.0-rc.1"}, nil, "versions of Karmada"},
		{[]string{"--karmada-versions=1.18.2,latest"}, []string{`"1.18.2" is none`, `"latest" is none`}, "they are versions as Instances have them"},
		{[]string{"--external-url=https://kairship.example.com/platform"}, nil, "a path is below a proxy's"},
		{[]string{"--index-database-connections=0"}, []string{"--index-database-connections: must be at least 1"}, "nothing could be read"},
		{[]string{"--index-database-file=/none/such"}, []string{"--index-database-file:"}, "the file is mounted before the start"},
		{[]string{"--external-url=kairship.example.com"}, []string{"--external-url: must be an address such as"}, "no scheme"},
		{[]string{"--external-url=https://user:password@kairship.example.com"}, []string{"--external-url: must be"}, "it is handed out to everybody"},
		{[]string{"--external-url=https://kairship.example.com?x=1"}, []string{"--external-url: must be"}, "a path is appended to it"},
		{[]string{"--external-ca-file=/does/not/exist"}, []string{"--external-ca-file: stat"}, "a file that is not there"},
		{
			[]string{
				"--instance-qps=0", "--instance-burst=0", "--instance-dial-timeout=0", "--instance-response-timeout=-1s", "--instance-ping-after=1ms",
				"--instance-drain-timeout=0", "--instance-breaker-failures=0", "--instance-breaker-interval=0",
			},
			[]string{
				"--instance-qps: must be more than 0", "--instance-burst: must be at least 1", "--instance-dial-timeout: must be at least 10ms",
				"--instance-response-timeout: must be", "--instance-ping-after: must be", "--instance-drain-timeout: must be",
				"--instance-breaker-failures: must be at least 1", "--instance-breaker-interval: must be",
			},
			"everything at once",
		},
		{
			[]string{"--max-query-depth=0", "--max-query-cost=-1", "--max-operations-per-user=0", "--persisted-documents=-1", "--hsts-max-age=-1s", "--trusted-documents-file=/does/not/exist"},
			[]string{
				"--max-query-depth: must be at least 1", "--max-query-cost: must be at least 1", "--max-operations-per-user: must be at least 1",
				"--persisted-documents: must not be less than 0", "--hsts-max-age: must not be less than 0", "--trusted-documents-file: stat",
			},
			"a limit of nothing is no limit that is of use",
		},
		{[]string{"--user-cost-burst=1000"}, []string{"--user-cost-burst: must be at least --max-query-cost"}, "an operation at its limit could never be paid for"},
		{[]string{"--cors-allowed-origins=https://console.example.com,http://localhost:3000"}, nil, "exact origins"},
		{[]string{"--shared-answers-bytes=-1"}, []string{"--shared-answers-bytes: must not be more than a quarter"}, "less than nothing"},
		{[]string{"--shared-answers-bytes=600000000"}, []string{"--shared-answers-bytes: must not be more than a quarter"}, "the process needs the rest"},
		{[]string{"--shared-answers-bytes=0"}, nil, "each query is executed"},
		{[]string{"--cors-allowed-origins=*"}, []string{`--cors-allowed-origins: "*" is no origin`}, "any page at all"},
		{[]string{"--cors-allowed-origins=https://*.example.com"}, []string{"no wildcard"}, "a host that gets a name below it"},
		{[]string{"--cors-allowed-origins=https://console.example.com/app"}, []string{"an origin has a scheme, a host and perhaps a port"}, "browsers send no path"},
		{[]string{"--instance-breaker-interval=50"}, []string{"--instance-breaker-interval"}, "a duration has a unit"},
	} {
		_, err := parse(tt.args, nil, io.Discard)
		if (err == nil) != (len(tt.says) == 0) {
			t.Errorf("%v: %v: %s", tt.args, err, tt.why)
			continue
		}
		for _, part := range tt.says {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%v: the error does not say %q: %v: %s", tt.args, part, err, tt.why)
			}
		}
	}
}

// TestFlagsAreUsed finds settings that are read and then forgotten: no code but that which defines and checks flags
// looks at them.
func TestFlagsAreUsed(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	defined, used := map[string]string{}, map[string]bool{}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, declared := range file.Decls {
			function, ok := declared.(*ast.FuncDecl)
			if !ok || strings.HasPrefix(function.Name.Name, "validate") {
				continue
			}
			defines := function.Name.Name == "define" || function.Name.Name == "flags"
			ast.Inspect(function, func(node ast.Node) bool {
				if call, ok := node.(*ast.CallExpr); ok && defines && len(call.Args) > 2 {
					// An exported field is of an embedded struct of another package, which is passed on as a whole.
					if field, name := setting(call.Args[0]), call.Args[1]; field != "" && !ast.IsExported(field) {
						defined[field] = name.(*ast.BasicLit).Value
						return false
					}
				}
				if selector, ok := node.(*ast.SelectorExpr); ok {
					used[selector.Sel.Name] = true
				}
				return true
			})
		}
	}
	if len(defined) < 50 {
		t.Errorf("%d flags were found: %v", len(defined), defined)
	}
	for field, name := range defined {
		if !used[field] {
			t.Errorf("%s sets the field %s, which no code uses", name, field)
		}
	}
}

// setting is the field of the options whose address is taken; of one in a struct of another package, that struct.
func setting(of ast.Expr) string {
	address, ok := of.(*ast.UnaryExpr)
	if !ok {
		return ""
	}
	name := ""
	for x := address.X; ; {
		selector, ok := x.(*ast.SelectorExpr)
		if !ok {
			return name
		}
		x, name = selector.X, selector.Sel.Name
	}
}
