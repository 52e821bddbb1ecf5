package topology

import "testing"

func TestPortsDoNotMeet(t *testing.T) {
	seen := map[int]string{}
	for purpose, offset := range ports {
		if other, ok := seen[offset]; ok {
			t.Errorf("%s and %s have the same port", purpose, other)
		}
		seen[offset] = purpose
		if offset < 0 || offset >= PortSpan {
			t.Errorf("%s is at offset %d: the next fleet, %d further on, would meet it", purpose, offset, PortSpan)
		}
	}
}

func TestKairshipsPort(t *testing.T) {
	if got := (Ports{Base: DefaultPortBase}).Addr("kairship/api"); got != "127.0.0.1:8080" {
		t.Errorf("the default fleet serves Kairship on %s, want the documented 127.0.0.1:8080", got)
	}
	if got := (Ports{Base: 17400}).Addr("kairship/api"); got != "127.0.0.1:17480" {
		t.Errorf("another fleet serves Kairship on %s: two fleets could not run beside each other", got)
	}
	if got := (Ports{Base: DefaultPortBase}).URL("kairship/tls"); got != "https://127.0.0.1:8443" {
		t.Errorf("the default fleet serves Kairship with TLS at %s, want the documented https://127.0.0.1:8443", got)
	}
	if got := (Ports{Base: DefaultPortBase}).URL("global/api"); got != "https://127.0.0.1:16443" {
		t.Errorf("the global apiserver is at %s, want the documented port", got)
	}
}

func TestValidate(t *testing.T) {
	for base, ok := range map[int]bool{
		80:              false, // privileged
		1024:            true,
		DefaultPortBase: true,
		32668:           true,  // the last whole range below the ephemeral ports
		32669:           false, // the last port would be an ephemeral one
		70000:           false, // no ports at all
	} {
		if err := (Ports{Base: base}).Validate(); (err == nil) != ok {
			t.Errorf("base %d: %v, want ok = %t", base, err, ok)
		}
	}
}

func TestEveryMemberHasAnInstance(t *testing.T) {
	instances := map[string]int{}
	for _, c := range WithRole(Instance) {
		instances[c.Name] = len(MembersOf(c.Name))
	}
	for _, c := range WithRole(Member) {
		if _, ok := instances[c.Instance]; !ok {
			t.Errorf("%s is joined to %q, which is no instance", c.Name, c.Instance)
		}
	}
	if instances["alpha"] != 2 || instances["beta"] != 1 {
		t.Errorf("members by instance: %v, want two of alpha and one of beta", instances)
	}
}
