package main

import (
	"strings"
	"time"

	"github.com/spf13/pflag"
	utilversion "k8s.io/apimachinery/pkg/util/version"

	"github.com/kairship-io/kairship/cmd/internal/addresses"
	"github.com/kairship-io/kairship/cmd/internal/flags"
	"github.com/kairship-io/kairship/pkg/instanceproxy"
)

// instanceOptions are the flags about how each instance is reached. They hold for
// each instance separately: none takes from another's share.
type instanceOptions struct {
	qps             float32
	burst           int
	dialTimeout     time.Duration
	responseTimeout time.Duration
	pingAfter       time.Duration
	drainTimeout    time.Duration
	failures        int
	retryInterval   time.Duration
	addresses       addresses.Options
	karmadaVersions []string
}

func (o *instanceOptions) define(f *pflag.FlagSet) {
	f.Float32Var(&o.qps, "instance-qps", instanceproxy.DefaultQPS, "requests per second to one instance, of all users together, on average; a fuse, well above what an API server can answer")
	f.IntVar(&o.burst, "instance-burst", instanceproxy.DefaultBurst, "requests to one instance in one go")
	f.DurationVar(&o.dialTimeout, "instance-dial-timeout", instanceproxy.DefaultDialTimeout, "how long connecting to an instance may take, and as long again for the TLS handshake")
	f.DurationVar(&o.responseTimeout, "instance-response-timeout", instanceproxy.DefaultHeaderTimeout, "how long an instance may take until it begins to answer; an admission webhook of the instance may take 30s of it. Watches and long answers go on")
	f.DurationVar(&o.pingAfter, "instance-ping-after", instanceproxy.DefaultPingAfter, "how long a connection to an instance may be silent until it is pinged, and then how long the answer may take; an instance that hangs is found after twice that")
	f.DurationVar(&o.drainTimeout, "instance-drain-timeout", instanceproxy.DefaultDrainTimeout, "how long requests in flight, watches for example, may go on over a connection whose credentials were replaced")
	f.IntVar(&o.failures, "instance-breaker-failures", instanceproxy.DefaultFailures, "how many requests in a row have to fail until requests to the instance fail at once")
	f.DurationVar(&o.retryInterval, "instance-breaker-interval", instanceproxy.DefaultRetryInterval, "time between two looks whether an instance that failed answers again; no request of a user is used for that")
	o.addresses.Define(f)
	f.StringSliceVar(&o.karmadaVersions, "karmada-versions", nil, "`versions` of Karmada that createInstance and updateInstance install, separated by commas: v1.18.2,v1.19.0; any when empty")
}

func (o *instanceOptions) validate(problems *flags.Problems) {
	o.addresses.Validate(problems)
	check := problems.Checkf
	for _, v := range o.karmadaVersions {
		_, err := utilversion.ParseSemantic(v)
		check(err == nil && strings.HasPrefix(v, "v"), "--karmada-versions: must be versions such as v1.18.2, and %q is none", v)
	}
	check(o.qps > 0, "--instance-qps: must be more than 0, not %v", o.qps)
	check(o.burst >= 1, "--instance-burst: must be at least 1, not %d", o.burst)
	check(o.failures >= 1, "--instance-breaker-failures: must be at least 1, not %d", o.failures)
	for _, f := range []struct {
		flag  string
		value time.Duration
	}{
		{"--instance-dial-timeout", o.dialTimeout}, {"--instance-response-timeout", o.responseTimeout}, {"--instance-ping-after", o.pingAfter},
		{"--instance-drain-timeout", o.drainTimeout}, {"--instance-breaker-interval", o.retryInterval},
	} {
		check(f.value >= 10*time.Millisecond, "%s: must be at least 10ms, not %s", f.flag, f.value)
	}
}
