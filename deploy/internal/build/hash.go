package build

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// layoutVersion is raised when the layout of a component's cache folder changes.
const layoutVersion = 1

// toolchain is what of the Go installation decides the bytes of a binary.
type toolchain struct {
	GOVERSION, GOOS, GOARCH, GOAMD64, GOARM64, GOEXPERIMENT string
}

// currentToolchain asks the go tool, in a component's folder because its go.mod may select another
// toolchain than the one that runs this program.
func currentToolchain(dir string) (toolchain, error) {
	cmd := exec.Command("go", "env", "-json", "GOVERSION", "GOOS", "GOARCH", "GOAMD64", "GOARM64", "GOEXPERIMENT")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return toolchain{}, fmt.Errorf("go env in %s: %w", dir, err)
	}
	var t toolchain
	if err := json.Unmarshal(out, &t); err != nil {
		return toolchain{}, fmt.Errorf("go env in %s: %w", dir, err)
	}
	return t, nil
}

// key names the cache folder of a module: its name and a hash of its pins, of what is built from
// them and how, of the toolchain, and of the sources that the module has of its own.
func key(m Module, gomod, gosum []byte, t toolchain, sources ...[]byte) string {
	h := sha256.New()
	// The lengths keep a byte that moves from one part to the next from giving the same hash.
	part := func(b []byte) { _, _ = fmt.Fprintf(h, "%d\n%s\n", len(b), b) }
	part(fmt.Appendf(nil, "layout %d flags %v cgo %t", layoutVersion, buildFlags, m.CGO))
	part(gomod)
	part(gosum)
	part([]byte(m.patchInputs))
	part(fmt.Appendf(nil, "%+v", m.Binaries))
	part(fmt.Appendf(nil, "%+v", m.Manifests))
	part(fmt.Appendf(nil, "%+v", t))
	for _, source := range sources {
		part(source)
	}
	return m.Name + "-" + hex.EncodeToString(h.Sum(nil))[:16]
}

// cacheFolder returns the module's folder in the cache.
func cacheFolder(m Module, component, cacheRoot string) (string, error) {
	gomod, err := os.ReadFile(filepath.Join(component, "go.mod"))
	if err != nil {
		return "", err
	}
	gosum, err := os.ReadFile(filepath.Join(component, "go.sum"))
	if err != nil {
		return "", err
	}
	t, err := currentToolchain(component)
	if err != nil {
		return "", err
	}
	var sources [][]byte
	for _, name := range m.Sources {
		content, err := os.ReadFile(filepath.Join(component, name))
		if err != nil {
			return "", err
		}
		sources = append(sources, content)
	}
	return filepath.Join(cacheRoot, key(m, gomod, gosum, t, sources...)), nil
}

// CacheRoot is the folder of all built components of this machine's user.
func CacheRoot() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no cache directory for the built components (set XDG_CACHE_HOME or HOME): %w", err)
	}
	return filepath.Join(dir, "kairship", "components"), nil
}
