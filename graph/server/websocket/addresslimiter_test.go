package websocket

import "testing"

func TestMayWait(t *testing.T) {
	for _, tt := range []struct {
		places, taken, own int
		want               bool
		why                string
	}{
		{400, 0, 0, true, "the first"},
		{400, 199, 199, true, "one address may have half"},
		{400, 200, 200, false, "and no more: the other half is for others"},
		{400, 200, 0, true, "another address finds room"},
		{400, 264, 132, true, "two addresses may have a third each"},
		{400, 266, 133, false, "and no more"},
		{400, 399, 0, true, "the last place is for an address that has none"},
		{400, 399, 1, false, "and for no other"},
		{400, 400, 0, false, "there is none"},
		{1, 0, 0, true, "a single place may be taken"},
	} {
		if got := mayWait(tt.places, tt.taken, tt.own); got != tt.want {
			t.Errorf("%s: %+v", tt.why, tt)
		}
	}
}

func TestAddressLimiter(t *testing.T) {
	l := newAddressLimiter(8)
	enter := func(address string) (func(), int) {
		t.Helper()
		var last func()
		for i := 0; ; i++ {
			leave, ok := l.enter(address)
			if !ok {
				return last, i
			}
			last = leave
		}
	}
	leave, got := enter("192.0.2.1:1000")
	if got != 4 {
		t.Errorf("one address has %d of 8 places, want half", got)
	}
	leave()
	leave() // Once is enough.
	if _, got := enter("192.0.2.1:2000"); got != 1 {
		t.Errorf("%d places came back, want 1: the port makes no other address", got)
	}
	if _, got := enter("[2001:db8::1]:1000"); got != 2 {
		t.Errorf("a second address has %d places, want 2", got)
	}
	if _, got := enter("[2001:db8::ffff]:1000"); got != 0 {
		t.Errorf("an address of the same network has %d places more", got)
	}
}
