package images

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kairship-io/kairship/deploy/internal/kube"
	"github.com/kairship-io/kairship/deploy/real/internal/image"
	"github.com/kairship-io/kairship/deploy/real/internal/node"
)

// importPatience is how long containerd may take to answer after a start.
const importPatience = time.Minute

// Import brings the images into the node that it does not have yet, and returns how many these are.
func Import(ctx context.Context, n *node.Node, set Set) (int, error) {
	// Beside the images: both are removed together.
	record := filepath.Join(n.Paths.Var(), "lib", "containerd", "kairship-imported.json")
	imported := map[string]string{}
	content, err := os.ReadFile(record)
	if err == nil {
		err = json.Unmarshal(content, &imported)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("%s is damaged (remove the file, and all images are imported again): %w", record, err)
	}
	var missing []image.Image
	for _, i := range set.Images {
		digest, err := i.Digest()
		if err != nil {
			return 0, err
		}
		if imported[i.Name] != digest {
			missing = append(missing, i)
			imported[i.Name] = digest
		}
	}
	if len(missing) == 0 {
		return 0, nil
	}
	if err := awaitContainerd(ctx, n); err != nil {
		return 0, err
	}
	if err := load(ctx, n, missing); err != nil {
		return 0, err
	}
	content, err = json.MarshalIndent(imported, "", "  ")
	if err != nil {
		return 0, err
	}
	return len(missing), os.WriteFile(record, content, 0o644)
}

func awaitContainerd(ctx context.Context, n *node.Node) error {
	ctx, cancel := context.WithTimeout(ctx, importPatience)
	defer cancel()
	err := kube.Until(ctx, func() error {
		cmd, err := n.Inside(ctx, "ctr", "version")
		if err != nil {
			return kube.Final(err)
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(out)))
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("containerd does not answer (its log is %s): %w", n.Paths.Log("containerd"), err)
	}
	return nil
}

// load streams an archive of the images to containerd, so that none is written to the disk twice.
func load(ctx context.Context, n *node.Node, all []image.Image) error {
	cmd, err := n.Inside(ctx, "ctr", "--namespace=k8s.io", "images", "import", "-")
	if err != nil {
		return err
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	reader, writer := io.Pipe()
	cmd.Stdin = reader
	written := make(chan error, 1)
	go func() {
		err := image.Archive(writer, all)
		written <- err
		_ = writer.CloseWithError(err)
	}()
	err = cmd.Run()
	_ = reader.CloseWithError(errors.New("the import has ended"))
	if writeErr := <-written; err == nil && writeErr != nil {
		err = writeErr
	}
	if err != nil {
		return fmt.Errorf("importing %d images: %w: %s", len(all), err, strings.TrimSpace(out.String()))
	}
	return nil
}
