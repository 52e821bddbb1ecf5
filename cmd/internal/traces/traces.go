// Package traces has the flags about tracing, which both programs share, and sets
// up what exports spans.
package traces

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/kairship-io/kairship/cmd/internal/flags"
	"github.com/kairship-io/kairship/pkg/tracing"
)

// defaultSampleRatio is how many of the traces that begin here are kept when
// nothing else is configured.
const defaultSampleRatio = 0.05

const (
	protocolGRPC = "grpc"
	protocolHTTP = "http/protobuf"
)

// maxAttribute bounds the longest attribute; only a document comes near it.
const maxAttribute = 8 << 10

// Options are the flags.
type Options struct {
	Endpoint, Protocol, Ratio string
}

// Define adds the flags.
func (o *Options) Define(f *pflag.FlagSet) {
	f.StringVar(&o.Endpoint, "tracing-endpoint", "", "`URL` of the OpenTelemetry collector that gets traces, such as http://collector:4318 or https://collector:4317; when empty, $OTEL_EXPORTER_OTLP_TRACES_ENDPOINT or $OTEL_EXPORTER_OTLP_ENDPOINT, and when they are empty too there are no traces. Headers and certificates are taken from the variables $OTEL_EXPORTER_OTLP_…")
	f.StringVar(&o.Protocol, "tracing-protocol", "", "`protocol` of the collector: grpc or http/protobuf; when empty, $OTEL_EXPORTER_OTLP_TRACES_PROTOCOL or $OTEL_EXPORTER_OTLP_PROTOCOL, else http/protobuf")
	f.StringVar(&o.Ratio, "tracing-sample-ratio", "", fmt.Sprintf("`share` of the traces that begin here which are kept, from 0 to 1; those that a caller began are kept as the caller says. When empty, $OTEL_TRACES_SAMPLER and $OTEL_TRACES_SAMPLER_ARG, else %v", defaultSampleRatio))
}

// Validate finds what is wrong with the flags.
func (o *Options) Validate(problems *flags.Problems) {
	if o.Endpoint != "" {
		u, err := url.Parse(o.Endpoint)
		// The URL itself is not repeated: it may hold a password.
		problems.Checkf(err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil,
			"--tracing-endpoint: must be a URL such as http://collector:4318, without a user")
	}
	switch o.Protocol {
	case "", protocolGRPC, protocolHTTP:
	default:
		problems.Checkf(false, "--tracing-protocol: must be %s or %s, not %q", protocolGRPC, protocolHTTP, o.Protocol)
	}
	if o.Ratio != "" {
		ratio, err := strconv.ParseFloat(o.Ratio, 64)
		problems.Checkf(err == nil && ratio >= 0 && ratio <= 1, "--tracing-sample-ratio: must be a number from 0 to 1, not %q", o.Ratio)
	}
}

// environment looks up the variables of OpenTelemetry, those about traces first.
func environment(name string) string {
	return cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_"+name), os.Getenv("OTEL_EXPORTER_OTLP_"+name))
}

// on reports whether there is a receiver of traces.
func (o *Options) on() bool {
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") || os.Getenv("OTEL_TRACES_EXPORTER") == "none" {
		return false
	}
	return o.Endpoint != "" || environment("ENDPOINT") != ""
}

// flushTimeout bounds how long the process waits at its end for its last spans.
const flushTimeout = 3 * time.Second

// Setup begins to trace, where a collector is named; a collector that is away costs
// spans and nothing else. stop exports what is left.
func (o *Options) Setup(ctx context.Context, program, version string, logger *slog.Logger) (stop func(), err error) {
	if !o.on() {
		return func() {}, nil
	}
	exporter, err := o.exporter(ctx)
	if err != nil {
		return nil, fmt.Errorf("--tracing-endpoint: %w", err)
	}
	// Later ones take precedence: OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES replace the name,
	// where they are set.
	host, _ := os.Hostname() // Without it replicas can't be distinguished.
	described, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", program), attribute.String("service.version", version), attribute.String("service.instance.id", host)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	limits := sdktrace.NewSpanLimits()
	limits.AttributeValueLengthLimit = maxAttribute
	options := []sdktrace.TracerProviderOption{
		sdktrace.WithBatcher(exporter), sdktrace.WithResource(described), sdktrace.WithRawSpanLimits(limits),
	}
	if sampler := o.sampler(); sampler != nil {
		options = append(options, sdktrace.WithSampler(sampler))
	}
	provider := sdktrace.NewTracerProvider(options...)
	otel.SetErrorHandler(otel.ErrorHandlerFunc(rarely(time.Minute, func(err error) {
		logger.Warn("spans are lost: the collector does not take them", "cause", err.Error())
	})))
	tracing.Use(provider)
	logger.Info("tracing", "protocol", o.speaks())
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
		defer cancel()
		if err := provider.Shutdown(ctx); err != nil {
			logger.Warn("the last spans were not exported", "cause", err.Error())
		}
		tracing.Use(nil)
	}, nil
}

func (o *Options) speaks() string {
	return cmp.Or(o.Protocol, environment("PROTOCOL"), protocolHTTP)
}

// exporter sends spans. What no flag says, it takes from OpenTelemetry's variables.
func (o *Options) exporter(ctx context.Context) (*otlptrace.Exporter, error) {
	switch protocol := o.speaks(); protocol {
	case protocolGRPC:
		var options []otlptracegrpc.Option
		if o.Endpoint != "" {
			options = append(options, otlptracegrpc.WithEndpointURL(o.Endpoint))
		}
		return otlptracegrpc.New(ctx, options...)
	case protocolHTTP:
		var options []otlptracehttp.Option
		if o.Endpoint != "" {
			options = append(options, otlptracehttp.WithEndpointURL(withPath(o.Endpoint)))
		}
		return otlptracehttp.New(ctx, options...)
	default:
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL: must be %s or %s, not %q", protocolGRPC, protocolHTTP, protocol)
	}
}

// withPath adds the path of the protocol to an address that has none.
func withPath(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil || strings.Trim(u.Path, "/") != "" {
		return endpoint
	}
	return u.JoinPath("v1", "traces").String()
}

// sampler decides which traces are kept; nil means that OpenTelemetry's variables do.
func (o *Options) sampler() sdktrace.Sampler {
	ratio := defaultSampleRatio
	switch {
	case o.Ratio != "":
		ratio, _ = strconv.ParseFloat(o.Ratio, 64) // Checked by Validate.
	case os.Getenv("OTEL_TRACES_SAMPLER") != "":
		return nil
	}
	return sdktrace.ParentBased(sdktrace.TraceIDRatioBased(ratio))
}
