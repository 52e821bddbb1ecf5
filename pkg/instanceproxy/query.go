package instanceproxy

import (
	"net/url"
	"strings"
)

// IsSet reports whether Kubernetes takes a parameter of a query for true. That is
// whatever does not say false: the clients of some languages write "True", and an
// empty value counts too.
func IsSet(query url.Values, parameter string) bool {
	values := query[parameter]
	return len(values) > 0 && values[0] != "0" && !strings.EqualFold(values[0], "false")
}
