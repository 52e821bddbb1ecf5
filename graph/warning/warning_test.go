package warning

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"
)

// Fields that are resolved at the same time warn in an order that is always the same,
// and an operation has its own warnings alone.
func TestWarningsOfAnOperation(t *testing.T) {
	one, other := With(t.Context()), With(t.Context())
	var fields sync.WaitGroup
	for _, name := range []string{"b", "a", "c"} {
		fields.Go(func() {
			for i := range 2 {
				Add(one, Warning{Path: ast.Path{ast.PathName(name)}, Argument: fmt.Sprint(1 - i)})
			}
		})
	}
	fields.Wait()
	got := ""
	for _, w := range Of(one) {
		got += w.Path.String() + w.Argument + " "
	}
	if got != "a0 a1 b0 b1 c0 c1 " {
		t.Errorf("got %s", got)
	}
	if Of(other) != nil {
		t.Error("another operation has them too")
	}
	// Outside of an operation no client would read them.
	Add(context.Background(), Warning{})
	if Of(context.Background()) != nil {
		t.Error("there are warnings without an operation")
	}
}
