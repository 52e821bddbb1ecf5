package build

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Install installs Debian packages, or says what to install where it cannot: without apt-get or
// without being root. purpose completes the sentences "installing <purpose>" and "<purpose> is missing".
func Install(ctx context.Context, progress Progress, purpose string, packages ...string) error {
	names := strings.Join(packages, " ")
	if _, err := exec.LookPath("apt-get"); err != nil || os.Geteuid() != 0 {
		return fmt.Errorf("%s is missing: install it (on Debian and Ubuntu: `sudo apt-get install %s`) and run this again", purpose, names)
	}
	progress.Say(fmt.Sprintf("installing %s with apt-get: %s", purpose, names))
	for _, args := range [][]string{{"update", "-q"}, append([]string{"install", "-q", "-y", "--no-install-recommends"}, packages...)} {
		cmd := exec.CommandContext(ctx, "apt-get", args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		// A failed update may be one stale mirror; the install decides.
		if err := cmd.Run(); err != nil && args[0] == "install" {
			return fmt.Errorf("apt-get install %s: %w\n%s", names, err, tail(out.String(), 15))
		}
	}
	return nil
}
