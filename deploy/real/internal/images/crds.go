package images

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"os"
	"path"

	"github.com/karmada-io/karmada/operator/pkg/constants"

	"github.com/kairship-io/kairship/deploy/real/internal/image"
)

// downloadedCRDs is a layer of the operator's image with Karmada's definitions where the operator keeps what it
// has downloaded from the URL: a node without a way to the outside downloads nothing.
func downloadedCRDs(folder, url string) (*image.Layer, error) {
	content, err := crdArchive(folder)
	if err != nil {
		return nil, fmt.Errorf("reading Karmada's definitions: %w", err)
	}
	cache := path.Join(constants.KarmadaDataDir, "cache", image.Hash([]byte(url)))
	return &image.Layer{Entries: []image.Entry{{Path: path.Join(cache, "crds.tar.gz"), Content: content, Mode: 0o644}}}, nil
}

// crdArchive has the files of the folder below crds, as the archive of a release has them.
func crdArchive(folder string) ([]byte, error) {
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	archive := tar.NewWriter(compressed)
	files := os.DirFS(folder)
	err := fs.WalkDir(files, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := path.Join("crds", file)
		if entry.IsDir() {
			return archive.WriteHeader(&tar.Header{Name: name + "/", Mode: 0o755, Typeflag: tar.TypeDir})
		}
		content, err := fs.ReadFile(files, file)
		if err != nil {
			return err
		}
		if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg}); err != nil {
			return err
		}
		_, err = archive.Write(content)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	if err := compressed.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
