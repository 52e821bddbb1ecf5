package excerpt_test

import (
	"testing"

	"github.com/kairship-io/kairship/internal/excerpt"
)

func TestOf(t *testing.T) {
	for _, c := range []struct {
		reason, text, want string
		most               int
	}{
		{"a text that fits stays", "admission denied", "admission denied", 16},
		{"lines and indentation become one line", "line 1\n\tline 2 ", "line 1 line 2", 20},
		{"characters are counted, not bytes", "éééé", "éé…", 2},
		{"no space stands before the ellipsis", "one two", "one…", 4},
	} {
		t.Run(c.reason, func(t *testing.T) {
			if got := excerpt.Of(c.text, c.most); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
