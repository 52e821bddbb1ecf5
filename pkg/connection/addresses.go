package connection

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"time"
)

// ErrAddress means that an endpoint has an address that may not be connected to.
var ErrAddress = errors.New("its address is in a range that is closed")

// closedRanges are never those of a cluster that people bring: they lead to this
// machine, to its neighbours on the link, or to the metadata of a cloud.
var closedRanges = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("::/128"), // this host
	netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128"), // loopback
	netip.MustParsePrefix("169.254.0.0/16"), netip.MustParsePrefix("fe80::/10"), // link-local, with the metadata of most clouds
	netip.MustParsePrefix("224.0.0.0/4"), netip.MustParsePrefix("ff00::/8"), // multicast
	netip.MustParsePrefix("255.255.255.255/32"),
	netip.MustParsePrefix("fd00:ec2::/32"),      // metadata and services of Amazon's instances
	netip.MustParsePrefix("100.100.100.200/32"), // metadata of Alibaba Cloud
	netip.MustParsePrefix("168.63.129.16/32"),   // platform services of Azure
}

// translated are ranges of IPv6 whose last 32 bits are the address of IPv4 that is
// reached (RFC 6052).
var translated = netip.MustParsePrefix("64:ff9b::/96")

// Addresses limits the addresses that endpoints may have which people write. An address
// is judged when it is dialled, after its name was resolved: a name that leads elsewhere
// later is judged anew. Nil permits every address.
type Addresses struct {
	// Open are ranges that are permitted in any case.
	Open []netip.Prefix
	// Closed are refused, beside those that always are: the ranges of the pods and
	// Services of the cluster in which Kairship runs.
	Closed []netip.Prefix
}

// Permit returns an error that is ErrAddress where an address may not be connected to.
func (a *Addresses) Permit(address netip.Addr) error {
	if a == nil {
		return nil
	}
	address = address.Unmap().WithZone("")
	if translated.Contains(address) {
		last := address.As16()
		address = netip.AddrFrom4([4]byte(last[12:]))
	}
	contains := func(p netip.Prefix) bool { return p.Contains(address) }
	if slices.ContainsFunc(a.Open, contains) {
		return nil
	}
	if slices.ContainsFunc(closedRanges, contains) || slices.ContainsFunc(a.Closed, contains) {
		return ErrAddress
	}
	return nil
}

// Dialer returns a dialer that connects to permitted addresses only.
func (a *Addresses) Dialer(timeout, keepAlive time.Duration) *net.Dialer {
	return &net.Dialer{Timeout: timeout, KeepAlive: keepAlive, Control: func(_, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrAddress, err)
		}
		return a.Permit(to.Addr())
	}}
}
