package peer

import "testing"

func TestNetwork(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.1:443":              "192.0.2.1/32",
		"[::ffff:192.0.2.1]:443":     "192.0.2.1/32",
		"[2001:db8:1:2:3:4:5:6]:443": "2001:db8:1:2::/64",
		"[fe80::1%eth0]:443":         "fe80::/64",
		"@":                          "invalid Prefix",
		"":                           "invalid Prefix",
		"192.0.2.1":                  "invalid Prefix",
	} {
		if got := Network(address).String(); got != want {
			t.Errorf("%q: got %s, want %s", address, got, want)
		}
	}
}
