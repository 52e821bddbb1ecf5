package origin_test

import (
	"testing"

	"github.com/kairship-io/kairship/graph/server/origin"
)

const console = "https://console.example.com"

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"https://console.example.com": console, "HTTPS://Console.Example.COM": console, "http://localhost:3000": "http://localhost:3000",
		"*": "", "https://*.example.com": "", "console.example.com": "", "https://console.example.com/": "", "https://a@b": "", "null": "", "ftp://a": "", "": "",
	} {
		if got, err := origin.Parse(text); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
}
