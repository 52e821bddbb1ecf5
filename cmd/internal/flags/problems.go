package flags

import (
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Problems collects what is wrong with the settings. The zero value is ready to use.
type Problems struct{ found []string }

// Checkf notes a problem unless ok. The text begins with the names of the flags that it
// is about, with their dashes, and a colon; then it says what is wrong and what to do.
// Where they were given is added to it.
func (p *Problems) Checkf(ok bool, format string, args ...any) {
	if !ok {
		p.found = append(p.found, fmt.Sprintf(format, args...))
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
func (p *Problems) Err() error { return p.explained(&Settings{}) }

// flagNames matches the flags that a problem begins with.
var flagNames = regexp.MustCompile(`--([a-z0-9][a-z0-9-]*)`)

// explained is all that was found, with where each setting comes from.
func (p *Problems) explained(s *Settings) error {
	if len(p.found) == 0 {
		return nil
	}
	lines := make([]string, 0, len(p.found))
	for _, problem := range p.found {
		subject, _, _ := strings.Cut(problem, ": ")
		lines = append(lines, "  "+withoutPasswords(problem)+s.whence(flagNames.FindAllStringSubmatch(subject, -1)))
	}
	slices.Sort(lines)
	lines = slices.Compact(lines)
	count := "one setting is wrong"
	if len(lines) > 1 {
		count = fmt.Sprintf("%d settings are wrong", len(lines))
	}
	return errors.New(count + ":\n" + strings.Join(lines, "\n"))
}

// whence says where the flags of a problem come from: "(set by KAIRSHIP_LOG_LEVEL)".
func (s *Settings) whence(flags [][]string) string {
	var origins []string
	for _, match := range flags {
		origin := s.origin(match[1])
		switch {
		case origin == "":
		case len(flags) == 1:
			origins = append(origins, origin)
		default:
			origins = append(origins, match[0]+" is "+origin)
		}
	}
	if len(origins) == 0 {
		return ""
	}
	return " (" + strings.Join(origins, "; ") + ")"
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

// Loopback reports whether a host is this machine's own loopback interface.
func Loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
