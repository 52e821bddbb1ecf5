package node

import "testing"

func TestParseNetwork(t *testing.T) {
	n, err := ParseNetwork(DefaultNetwork)
	if err != nil || n.Host.String() != "10.201.0.1" || n.Node.String() != "10.201.0.2" || n.String() != DefaultNetwork || n.URL() != "https://10.201.0.2:6443" {
		t.Errorf("%s is %+v, error %v", DefaultNetwork, n, err)
	}
	for text, reason := range map[string]string{
		"10.201.0.0": "an address alone", "10.201.0.1/30": "an address in the network", "10.201.0.0/31": "too small for two addresses", "fd00::/64": "not IPv4", "": "empty",
	} {
		if _, err := ParseNetwork(text); err == nil {
			t.Errorf("%q is accepted: %s", text, reason)
		}
	}
}

func TestCheckVisible(t *testing.T) {
	for path, visible := range map[string]bool{"/home/a/.real": true, "/variable": true, "/var/tmp/.real": false, "/run": false} {
		if err := CheckVisible("the folder", path); (err == nil) != visible {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestCompare(t *testing.T) {
	if left := Compare([]string{"a", "b"}, []string{"b", "c"}); len(left) != 2 || left[0] != "+ c" || left[1] != "- a" {
		t.Errorf("got %v", left)
	}
}
