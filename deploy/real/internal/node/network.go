package node

import (
	"fmt"
	"net"
	"net/netip"
)

// DefaultNetwork is the network between this machine and the node.
const DefaultNetwork = "10.201.0.0/30"

// The networks inside the node, which this machine does not see.
const (
	podNetwork     = "10.202.0.0/16"
	serviceNetwork = "10.203.0.0/16"
	serviceIP      = "10.203.0.1"
	// DNSAddress is the address of the cluster's DNS server.
	DNSAddress = "10.203.0.10"
	// Domain is the cluster's DNS domain.
	Domain = "cluster.local"
)

const apiPort = 6443

// Network is the network of the pair of interfaces between this machine and the node.
type Network struct {
	Host, Node netip.Addr
	bits       int
}

// ParseNetwork takes the first two addresses of a network for this machine and the node.
func ParseNetwork(text string) (Network, error) {
	prefix, err := netip.ParsePrefix(text)
	if err != nil || !prefix.Addr().Is4() || prefix.Bits() > 30 || prefix != prefix.Masked() {
		return Network{}, fmt.Errorf("--network %q: want an IPv4 network with two addresses at least, such as %s", text, DefaultNetwork)
	}
	host := prefix.Addr().Next()
	return Network{Host: host, Node: host.Next(), bits: prefix.Bits()}, nil
}

// free reports an error when an interface of this machine has an address in the network already.
func (n Network) free() error {
	prefix := netip.PrefixFrom(n.Host, n.bits).Masked()
	interfaces, err := net.Interfaces()
	if err != nil {
		return err
	}
	for _, i := range interfaces {
		addresses, err := i.Addrs()
		if err != nil {
			return fmt.Errorf("addresses of interface %s: %w", i.Name, err)
		}
		for _, a := range addresses {
			other, err := netip.ParsePrefix(a.String())
			if err == nil && other.Overlaps(prefix) {
				return fmt.Errorf("interface %s of this machine has the address %s in the network %s: name another one with --network, or take down the node that uses it",
					i.Name, other, prefix)
			}
		}
	}
	return nil
}

// String is the network as --network has it.
func (n Network) String() string { return netip.PrefixFrom(n.Host, n.bits).Masked().String() }

// URL is the address of the node's API server.
func (n Network) URL() string { return "https://" + netip.AddrPortFrom(n.Node, apiPort).String() }
