package traces

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/kairship-io/kairship/cmd/internal/flags"
	"github.com/kairship-io/kairship/pkg/tracing"
)

func options(t *testing.T, args ...string) *Options {
	t.Helper()
	o := &Options{}
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.Define(f)
	if err := f.Parse(args); err != nil {
		t.Fatal(err)
	}
	return o
}

// plain forgets what the environment of the test says.
func plain(t *testing.T, variables map[string]string) {
	t.Helper()
	for _, name := range []string{
		"OTEL_SDK_DISABLED", "OTEL_TRACES_EXPORTER", "OTEL_TRACES_SAMPLER", "OTEL_EXPORTER_OTLP_ENDPOINT",
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
	} {
		t.Setenv(name, variables[name])
	}
}

func TestOn(t *testing.T) {
	for _, tt := range []struct {
		reason    string
		args      []string
		variables map[string]string
		want      bool
	}{
		{reason: "it is off by default"},
		{"a flag names the collector", []string{"--tracing-endpoint=http://127.0.0.1:1"}, nil, true},
		{"so does OpenTelemetry's variable", nil, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, true},
		{"and that about traces alone", nil, map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:1"}, true},
		{"OpenTelemetry is switched off", []string{"--tracing-endpoint=http://127.0.0.1:1"}, map[string]string{"OTEL_SDK_DISABLED": "true"}, false},
		{"traces are", []string{"--tracing-endpoint=http://127.0.0.1:1"}, map[string]string{"OTEL_TRACES_EXPORTER": "none"}, false},
		{"over gRPC", []string{"--tracing-endpoint=http://127.0.0.1:1", "--tracing-protocol=grpc"}, nil, true},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			plain(t, tt.variables)
			stop, err := options(t, tt.args...).Setup(t.Context(), "program", "v1", slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			if tracing.On() != tt.want {
				t.Errorf("tracing is on: %t", tracing.On())
			}
			stop()
			if tracing.On() {
				t.Error("it goes on after the end")
			}
		})
	}
}

func TestSampler(t *testing.T) {
	for _, tt := range []struct {
		reason, ratio, variable, want string
	}{
		{"the default is a part", "", "", "TraceIDRatioBased{0.05}"},
		{"a flag says another", "0.5", "", "TraceIDRatioBased{0.5}"},
		{"a flag goes before the variable", "0.5", "always_off", "TraceIDRatioBased{0.5}"},
	} {
		plain(t, map[string]string{"OTEL_TRACES_SAMPLER": tt.variable})
		got := options(t, "--tracing-sample-ratio="+tt.ratio).sampler().Description()
		if !strings.HasPrefix(got, "ParentBased{root:"+tt.want) {
			t.Errorf("%s: %s", tt.reason, got)
		}
	}
	plain(t, map[string]string{"OTEL_TRACES_SAMPLER": "always_off"})
	if options(t).sampler() != nil {
		t.Error("OpenTelemetry's variable is not heeded")
	}
}

func TestValidate(t *testing.T) {
	for _, tt := range []struct {
		arg, says string // says is empty where the flag is accepted
	}{
		{"--tracing-endpoint=https://collector:4317", ""},
		{"--tracing-endpoint=collector:4317", "--tracing-endpoint: must be a URL"},
		{"--tracing-endpoint=http://user:hunter2@collector", "without a user"},
		{"--tracing-protocol=http/protobuf", ""},
		{"--tracing-protocol=http/json", "--tracing-protocol: must be grpc or http/protobuf"},
		{"--tracing-sample-ratio=0", ""},
		{"--tracing-sample-ratio=1.5", "--tracing-sample-ratio: must be a number from 0 to 1"},
		{"--tracing-sample-ratio=half", "--tracing-sample-ratio: must be a number from 0 to 1"},
	} {
		var problems flags.Problems
		options(t, tt.arg).Validate(&problems)
		err := problems.Err()
		if (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v", tt.arg, err)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the error repeats a password", tt.arg)
		}
	}
}

func TestPathOfTheProtocol(t *testing.T) {
	for endpoint, want := range map[string]string{
		"http://collector:4318":         "http://collector:4318/v1/traces",
		"http://collector:4318/":        "http://collector:4318/v1/traces",
		"https://collector/otlp/traces": "https://collector/otlp/traces",
	} {
		if got := withPath(endpoint); got != want {
			t.Errorf("%s becomes %s", endpoint, got)
		}
	}
}
