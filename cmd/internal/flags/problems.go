package flags

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Problems collects what is wrong with the values of flags. The zero value is
// ready to use.
type Problems struct{ found []error }

// Checkf notes a problem unless ok. The text begins with the flag's name.
func (p *Problems) Checkf(ok bool, format string, args ...any) {
	if !ok {
		p.found = append(p.found, fmt.Errorf(format, args...))
	}
}

// File notes a problem unless there is such a file, or no path.
func (p *Problems) File(flag, path string) {
	if path == "" {
		return
	}
	_, err := os.Stat(path)
	p.Checkf(err == nil, "%s: %v", flag, err)
}

// NamespacedName notes a problem unless the value is namespace/name.
func (p *Problems) NamespacedName(flag, value string) {
	namespace, name, _ := strings.Cut(value, "/")
	p.Checkf(namespace != "" && name != "" && !strings.Contains(name, "/"), "%s: must be namespace/name, not %q", flag, value)
}

// Err is all that was found, sorted by flag; nil when nothing was.
func (p *Problems) Err() error {
	if len(p.found) == 0 {
		return nil
	}
	slices.SortStableFunc(p.found, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return fmt.Errorf("these flags cannot be used:\n%w", errors.Join(p.found...))
}

// CheckAddress says what is wrong with an address to listen on.
func CheckAddress(address string) error {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("must be host:port, such as :8080 or 127.0.0.1:8080, not %q", address)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("the port must be a number up to 65535, not %q", port)
	}
	return nil
}

// Loopback says whether a host is this machine's own loopback interface.
func Loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
