package build

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// buildFlags are common to all binaries. VCS stamping would ask git about the cache folder; -s -w
// drops symbol tables, which halves the size of the binaries and the time to link them.
var buildFlags = []string{"-buildvcs=false"}

const linkFlags = "-s -w"

// compileError is a module that did not compile.
type compileError struct {
	module  string
	pkg     string // empty when the go tool did not say
	log     string // path of the whole output
	excerpt string
	cause   error
}

func (e *compileError) Error() string {
	what := "module " + e.module
	if e.pkg != "" {
		what += ", package " + e.pkg
	}
	return fmt.Sprintf("building %s failed (%v). The end of the compiler's output (all of it is in %s):\n%s\nWhat was built before is kept; the next run goes on from there.",
		what, e.cause, e.log, e.excerpt)
}

func (e *compileError) Unwrap() error { return e.cause }

// list asks the go tool which packages there are and which of them have to be compiled. It
// downloads missing modules; each download is passed to downloading.
func (w workspace) list(binaries []Binary, downloading func(module string)) ([]listed, error) {
	args := append([]string{"list", "-deps", "-json=ImportPath,Stale,Deps"}, buildFlags...)
	cmd := w.command(append(args, packages(binaries)...)...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the go tool: %w", err)
	}
	complaints := make(chan string, 1)
	go func() {
		var text strings.Builder
		eachLine(stderr, func(line string) {
			if module, ok := strings.CutPrefix(line, "go: downloading "); ok {
				downloading(module)
				return
			}
			fmt.Fprintln(&text, line)
		})
		complaints <- text.String()
	}()
	var all []listed
	var decodeErr error
	for decoder := json.NewDecoder(stdout); ; {
		var p listed
		if decodeErr = decoder.Decode(&p); decodeErr != nil {
			break
		}
		all = append(all, p)
	}
	_, _ = io.Copy(io.Discard, stdout) // unblock the tool where decoding stopped early
	text := <-complaints
	if err := cmd.Wait(); err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, tail(text, 20))
	}
	if !errors.Is(decodeErr, io.EOF) {
		return nil, fmt.Errorf("reading go list's output: %w", decodeErr)
	}
	return all, nil
}

// compile builds the binaries into the folder out, named after the last element of their package,
// and returns the output's messages. Everything the go tool says goes to log as well.
func (w workspace) compile(binaries []Binary, out string, count *counter, log io.Writer, changed func()) (messages string, err error) {
	args := append([]string{"build", "-v"}, buildFlags...)
	flags, err := w.linkFlags(binaries)
	if err != nil {
		return "", err
	}
	args = append(args, flags...)
	args = append(args, "-o", out+string(filepath.Separator))
	cmd := w.command(append(args, packages(binaries)...)...)
	// Without this the go tool is killed before it has removed its temporary files.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", fmt.Errorf("starting the go tool: %w", err)
	}
	var text strings.Builder
	eachLine(stderr, func(line string) {
		_, _ = fmt.Fprintln(log, line)
		if count.line(line) {
			fmt.Fprintln(&text, line)
		}
		changed()
	})
	return text.String(), cmd.Wait()
}

// linkFlags sets each binary's version variables. One go build takes flags per main package, so the
// binaries of a module still compile together.
func (w workspace) linkFlags(binaries []Binary) ([]string, error) {
	known := map[string]moduleInfo{}
	var flags []string
	for _, b := range binaries {
		value := linkFlags
		for _, v := range b.versions {
			info, ok := known[v.module]
			if !ok {
				var err error
				if info, err = w.module(v.module); err != nil {
					return nil, err
				}
				known[v.module] = info
			}
			value += versionFlags(v.pkg, info)
		}
		flags = append(flags, fmt.Sprintf("-ldflags=%s=%s", b.Package, value))
	}
	return flags, nil
}

// versionFlags sets the variables that all these version packages have in common. The build date is
// the release's, so that two builds of one pin are the same bytes.
func versionFlags(pkg string, info moduleInfo) string {
	parts := strings.SplitN(strings.TrimPrefix(info.Version, "v"), ".", 3)
	values := [][2]string{{"gitVersion", info.Version}, {"gitTreeState", "clean"}, {"buildDate", info.Time}}
	if len(parts) == 3 {
		values = append(values, [2]string{"gitMajor", parts[0]}, [2]string{"gitMinor", parts[1]})
	}
	var flags strings.Builder
	for _, v := range values {
		fmt.Fprintf(&flags, " -X %s.%s=%s", pkg, v[0], v[1])
	}
	return flags.String()
}

func packages(binaries []Binary) []string {
	paths := make([]string, 0, len(binaries))
	for _, b := range binaries {
		paths = append(paths, b.Package)
	}
	return paths
}

// eachLine calls f for each line of r until its end.
func eachLine(r io.Reader, f func(string)) {
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		f(scanner.Text())
	}
	_, _ = io.Copy(io.Discard, r) // a line past the buffer must not block the writer
}
