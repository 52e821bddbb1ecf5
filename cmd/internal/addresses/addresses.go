// Package addresses has the flags about the addresses of instances and clusters, which
// both programs share.
package addresses

import (
	"net/netip"

	"github.com/spf13/pflag"

	"github.com/kairship-io/kairship/cmd/internal/flags"
	"github.com/kairship-io/kairship/pkg/connection"
)

// Options are the flags.
type Options struct {
	open, closed []string
}

// Define adds the flags.
func (o *Options) Define(f *pflag.FlagSet) {
	f.StringSliceVar(&o.open, "open-address-ranges", nil, "`ranges` of addresses that instances and clusters may have although they are closed, separated by commas: 127.0.0.0/8 for those on this machine. Closed are always loopback, link-local, multicast, and the metadata services of clouds; an address is judged when it is connected to, whatever its name was before")
	f.StringSliceVar(&o.closed, "closed-address-ranges", nil, "further `ranges` that are closed, separated by commas: those of the pods and Services of the cluster in which this runs")
}

// Validate finds what is wrong with the flags.
func (o *Options) Validate(problems *flags.Problems) {
	for name, ranges := range map[string][]string{"--open-address-ranges": o.open, "--closed-address-ranges": o.closed} {
		for _, r := range ranges {
			_, err := netip.ParsePrefix(r)
			problems.Checkf(err == nil, "%s: must be ranges such as 10.96.0.0/12, and %q is none", name, r)
		}
	}
}

// Limits returns what the flags permit. They have to be valid.
func (o *Options) Limits() *connection.Addresses {
	return &connection.Addresses{Open: prefixes(o.open), Closed: prefixes(o.closed)}
}

func prefixes(ranges []string) []netip.Prefix {
	var out []netip.Prefix
	for _, r := range ranges {
		if p, err := netip.ParsePrefix(r); err == nil {
			out = append(out, p.Masked())
		}
	}
	return out
}
