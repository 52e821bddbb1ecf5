package fleet

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// kwokStages are the behaviours of the simulated nodes and pods: they become ready at once, pods of
// Jobs complete, nodes renew their leases. kwok has none without a configuration.
var kwokStages = []string{
	"node/fast/node-initialize.yaml",
	"node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
	"pod/fast/pod-ready.yaml", "pod/fast/pod-complete.yaml", "pod/fast/pod-delete.yaml",
}

// podReadyAgain is one that kwok does not bring.
//
//go:embed kwok/pod-ready-again.yaml
var podReadyAgain string

// kubelet is what the simulated containers have besides a state, and containerLog what each has
// written. There is no exec: it would run on this machine whatever a client asks for.
//
//go:embed kwok/kubelet.yaml
var kubelet string

//go:embed kwok/container.log
var containerLog []byte

// usage is what the simulated containers use, and where their nodes tell.
//
//go:embed kwok/usage.yaml
var usage string

func (f *Fleet) prepareKwok() error {
	logFile := f.paths.Config("kwok-container.log")
	if err := writeFile(logFile, containerLog, 0o644); err != nil {
		return err
	}
	var config strings.Builder
	for _, stage := range kwokStages {
		text, err := os.ReadFile(filepath.Join(f.manifests["kwok/stage"], filepath.FromSlash(stage)))
		if err != nil {
			return fmt.Errorf("kwok's stages: %w", err)
		}
		fmt.Fprintf(&config, "---\n%s\n", text)
	}
	fmt.Fprintf(&config, "---\n%s\n---\n%s\n", podReadyAgain, usage)
	fmt.Fprintf(&config, "---\n"+kubelet, logFile)
	return writeFile(f.paths.Config("kwok.yaml"), []byte(config.String()), 0o644)
}
