package flags

import "testing"

func TestProblems(t *testing.T) {
	var none Problems
	none.Checkf(true, "--a: is fine")
	none.File("--b", "")
	none.File("--c", t.TempDir())
	none.NamespacedName("--d", "kairship-system/key")
	if err := none.Err(); err != nil {
		t.Errorf("nothing is wrong, and yet: %v", err)
	}
	var some Problems
	some.Checkf(false, "--b: must be more than %d", 0)
	some.File("--a", "/does/not/exist")
	err := some.Err()
	want := "2 settings are wrong:\n  --a: stat /does/not/exist: no such file or directory\n  --b: must be more than 0"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestNamespacedName(t *testing.T) {
	for _, value := range []string{"", "key", "/key", "kairship-system/", "a/b/c"} {
		var p Problems
		p.NamespacedName("--d", value)
		if p.Err() == nil {
			t.Errorf("%q passes for namespace/name", value)
		}
	}
}

func TestCheckAddress(t *testing.T) {
	for address, ok := range map[string]bool{
		":8080": true, "127.0.0.1:0": true, "[::1]:443": true, "localhost:65535": true,
		"8080": false, ":65536": false, ":-1": false, ":http": false, "": false,
	} {
		if err := CheckAddress(address); (err == nil) != ok {
			t.Errorf("%q: %v, want ok = %t", address, err, ok)
		}
	}
}

func TestLoopback(t *testing.T) {
	for host, want := range map[string]bool{"localhost": true, "127.0.0.1": true, "127.8.8.8": true, "::1": true, "": false, "0.0.0.0": false, "10.0.0.1": false, "example.org": false} {
		if got := Loopback(host); got != want {
			t.Errorf("%q: got %t", host, got)
		}
	}
}
