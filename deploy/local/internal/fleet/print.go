package fleet

import (
	"fmt"
	"io"
)

// printf prints to people. An output that was closed has no reader left.
func printf(out io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(out, format, args...)
}
