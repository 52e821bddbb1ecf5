package build

import (
	"strings"
	"testing"
)

func TestKey(t *testing.T) {
	module := Module{Name: "m", Binaries: []Binary{{Name: "a", Package: "example.com/a"}}, Manifests: []Manifest{{Module: "example.com/a", Folder: "crds", As: "crds"}}}
	chain := toolchain{GOVERSION: "go1.26.0", GOOS: "linux", GOARCH: "amd64"}
	base := key(module, []byte("go.mod"), []byte("go.sum"), chain)

	if again := key(module, []byte("go.mod"), []byte("go.sum"), chain); again != base {
		t.Fatalf("the same inputs gave %s and %s: every clone would build for itself", base, again)
	}
	if !strings.HasPrefix(base, "m-") {
		t.Errorf("key %s does not begin with the module's name, which a person looks for in the cache", base)
	}

	for reason, other := range map[string]string{
		"a pin moved":                    key(module, []byte("go.mod'"), []byte("go.sum"), chain),
		"a checksum changed":             key(module, []byte("go.mod"), []byte("go.sum'"), chain),
		"a byte moved from one to other": key(module, []byte("go.modg"), []byte("o.sum"), chain),
		"the patch changed":              key(with(module, func(m *Module) { m.patchInputs = "x" }), []byte("go.mod"), []byte("go.sum"), chain),
		"a binary was added":             key(with(module, func(m *Module) { m.Binaries = append(m.Binaries, Binary{Name: "b"}) }), []byte("go.mod"), []byte("go.sum"), chain),
		"a version variable was added": key(with(module, func(m *Module) {
			m.Binaries = []Binary{{Name: "a", Package: "example.com/a", versions: []versionVar{{pkg: "p", module: "q"}}}}
		}), []byte("go.mod"), []byte("go.sum"), chain),
		"another folder is copied": key(with(module, func(m *Module) { m.Manifests = nil }), []byte("go.mod"), []byte("go.sum"), chain),
		"cgo was switched on":      key(with(module, func(m *Module) { m.CGO = true }), []byte("go.mod"), []byte("go.sum"), chain),
		"a source changed":         key(module, []byte("go.mod"), []byte("go.sum"), chain, []byte("main.go")),
		"the toolchain changed":    key(module, []byte("go.mod"), []byte("go.sum"), toolchain{GOVERSION: "go1.26.1", GOOS: "linux", GOARCH: "amd64"}),
	} {
		if other == base {
			t.Errorf("%s, and the key stayed the same: stale binaries would be used", reason)
		}
	}
}

func with(m Module, change func(*Module)) Module {
	m.Binaries = append([]Binary(nil), m.Binaries...)
	change(&m)
	return m
}

func TestModules(t *testing.T) {
	binaries, manifests := map[string]bool{}, map[string]bool{}
	for _, m := range append(Fleet(), Node()...) {
		outputs := map[string]bool{}
		for _, b := range m.Binaries {
			if binaries[b.Name] {
				t.Errorf("two binaries are called %s: their links would replace each other", b.Name)
			}
			binaries[b.Name] = true
			if output := mainName(b.Package); outputs[output] {
				t.Errorf("module %s: the go tool calls two binaries %s and would write both to one file", m.Name, output)
			} else {
				outputs[output] = true
			}
		}
		for _, manifest := range m.Manifests {
			if manifests[manifest.As] {
				t.Errorf("two manifests are kept as %s", manifest.As)
			}
			manifests[manifest.As] = true
		}
	}
}

func TestMainName(t *testing.T) {
	for pkg, want := range map[string]string{
		"k8s.io/kubernetes/cmd/kubectl": "kubectl",
		"go.etcd.io/etcd/server/v3":     "server", // a major version is not part of the name
		"example.com/cmd/vault":         "vault",  // beginning with v does not make it a version
		"example.com/v2ray":             "v2ray",
		"example.com/cmd/v":             "v",
	} {
		if got := mainName(pkg); got != want {
			t.Errorf("mainName(%s) = %s, want %s", pkg, got, want)
		}
	}
}
