package main

import (
	"io"
	"strings"
	"testing"
)

// TestWhatNobodyLogsInForStaysOnLoopback keeps endpoints without authentication,
// and tokens in the clear, off the network.
func TestWhatNobodyLogsInForStaysOnLoopback(t *testing.T) {
	for _, flag := range []string{"--listen-address", "--metrics-bind-address", "--pprof-address"} {
		for address, want := range map[string]bool{
			"127.0.0.1:9090": true, "[::1]:9090": true, "localhost:9090": true,
			"0.0.0.0:9090": false, ":9090": false, "192.0.2.1:9090": false, "metrics.example.com:9090": false,
		} {
			_, err := parse([]string{flag + "=" + address}, io.Discard)
			if got := err == nil; got != want {
				t.Errorf("%s=%s: accepted is %v, want %v (%v)", flag, address, got, want, err)
			}
			if err != nil && !strings.Contains(err.Error(), flag) {
				t.Errorf("%s=%s: the error does not name the flag: %v", flag, address, err)
			}
		}
	}
}
