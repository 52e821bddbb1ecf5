package connection_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/kairship-io/kairship/pkg/connection"
)

func TestAddresses(t *testing.T) {
	limited := &connection.Addresses{
		Open:   []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.96.0.10/32")},
		Closed: []netip.Prefix{netip.MustParsePrefix("10.96.0.0/12")},
	}
	for _, tt := range []struct {
		reason  string
		limits  *connection.Addresses
		address string
		refused bool
	}{
		{"nothing is limited", nil, "127.0.0.1", false},
		{"a public address", &connection.Addresses{}, "203.0.113.7", false},
		{"a private address is where clusters are", &connection.Addresses{}, "192.168.1.7", false},
		{"this machine", &connection.Addresses{}, "127.0.0.1", true},
		{"this machine, another of its addresses", &connection.Addresses{}, "127.8.8.8", true},
		{"this machine in IPv6", &connection.Addresses{}, "::1", true},
		{"this machine, mapped into IPv6", &connection.Addresses{}, "::ffff:127.0.0.1", true},
		{"this machine, translated into IPv6", &connection.Addresses{}, "64:ff9b::7f00:1", true},
		{"a public address, translated into IPv6", &connection.Addresses{}, "64:ff9b::cb00:7107", false},
		{"no address leads to this machine", &connection.Addresses{}, "0.0.0.0", true},
		{"no address in IPv6 either", &connection.Addresses{}, "::", true},
		{"the metadata of a cloud", &connection.Addresses{}, "169.254.169.254", true},
		{"the metadata of a cloud, mapped", &connection.Addresses{}, "::ffff:169.254.169.254", true},
		{"the metadata of a cloud in IPv6", &connection.Addresses{}, "fd00:ec2::254", true},
		{"the link, with its zone", &connection.Addresses{}, "fe80::1%eth0", true},
		{"a range is closed", limited, "10.100.0.1", true},
		{"an address of it is open", limited, "10.96.0.10", false},
		{"a closed range is opened", limited, "127.0.0.1", false},
		{"opening one range opens no other", limited, "::1", true},
	} {
		err := tt.limits.Permit(netip.MustParseAddr(tt.address))
		if (err != nil) != tt.refused || (err != nil && !errors.Is(err, connection.ErrAddress)) {
			t.Errorf("%s: %s: got %v", tt.reason, tt.address, err)
		}
	}
}

// TestAddressesOfNames: a name is judged by the address that it leads to.
func TestAddressesOfNames(t *testing.T) {
	asked := 0
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer server.Close()
	byName := strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
	for _, tt := range []struct {
		reason string
		limits *connection.Addresses
		to     connection.Connection
		want   bool
	}{
		{"no limits", nil, connection.Connection{Endpoint: byName, Token: "t", Insecure: true}, true},
		{"the name leads to this machine", &connection.Addresses{}, connection.Connection{Endpoint: byName, Token: "t", Insecure: true}, false},
		{"the proxy is on this machine", &connection.Addresses{}, connection.Connection{Endpoint: "https://203.0.113.7", ProxyURL: byName, Token: "t", Insecure: true}, false},
	} {
		asked = 0
		client, err := tt.to.HTTPClient(tt.limits)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Get(tt.to.Endpoint)
		if err == nil {
			response.Body.Close()
		}
		if tt.want != (err == nil) || (asked > 0) != tt.want || (!tt.want && !errors.Is(err, connection.ErrAddress)) {
			t.Errorf("%s: asked %d times, %v", tt.reason, asked, err)
		}
	}
}
