// Package peer groups clients by their network addresses.
package peer

import "net/netip"

// Network returns the network of an address such as "192.0.2.1:443": the address itself, and of
// IPv6 the whole /64, because a client with one address of it has them all. It is not valid if the
// text is no address with a port.
func Network(address string) netip.Prefix {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return netip.Prefix{}
	}
	from := at.Addr().Unmap().WithZone("")
	bits := from.BitLen()
	if from.Is6() {
		bits = 64
	}
	network, err := from.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return network
}
