// Package image builds images of containers without a container engine: it writes files into layers, and
// images of these layers into one archive that containerd imports.
package image

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strings"
)

// Entry is a file, a folder or a link of a layer.
type Entry struct {
	// Path is absolute in the image.
	Path string
	// Source is the file of this machine whose content it has; Content is used where it is empty.
	Source  string
	Content []byte
	// Link is the target of a symbolic link.
	Link string
	// Mode has the permissions, and whether it is a folder.
	Mode fs.FileMode
}

// Layer is a set of files that several images may share.
type Layer struct {
	Entries []Entry
	digest  string // of the archive, without "sha256:"
}

// Image is what a container is started from.
type Image struct {
	// Name is the whole name with registry and tag.
	Name       string
	Layers     []*Layer
	Entrypoint []string
	// User is the user and group that it runs as, as numbers; root where it is empty.
	User string
}

// path is where containers look for programs.
const path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// config is the part of an image's configuration that is needed, by the OCI's specification.
type config struct {
	Architecture string        `json:"architecture"`
	OS           string        `json:"os"`
	Config       runtimeConfig `json:"config"`
	RootFS       rootFS        `json:"rootfs"`
}

type runtimeConfig struct {
	User       string   `json:"User,omitempty"`       //nolint:tagliatelle // The specification's names.
	Env        []string `json:"Env,omitempty"`        //nolint:tagliatelle // The specification's names.
	Entrypoint []string `json:"Entrypoint,omitempty"` //nolint:tagliatelle // The specification's names.
}

type rootFS struct {
	Type    string   `json:"type"`
	DiffIDs []string `json:"diff_ids"`
}

// configuration returns the image's configuration; its layers have been measured.
func (i Image) configuration() ([]byte, error) {
	c := config{Architecture: runtime.GOARCH, OS: "linux", Config: runtimeConfig{User: i.User, Env: []string{path}, Entrypoint: i.Entrypoint}, RootFS: rootFS{Type: "layers"}}
	for _, l := range i.Layers {
		c.RootFS.DiffIDs = append(c.RootFS.DiffIDs, "sha256:"+l.digest)
	}
	return json.Marshal(c)
}

// Digest returns the hash of all that the image consists of, which names it.
func (i Image) Digest() (string, error) {
	for _, l := range i.Layers {
		if err := l.measure(); err != nil {
			return "", fmt.Errorf("image %s: %w", i.Name, err)
		}
	}
	content, err := i.configuration()
	if err != nil {
		return "", err
	}
	return Hash(content), nil
}

// measure finds out the digest of the layer's archive, once.
func (l *Layer) measure() error {
	if l.digest != "" {
		return nil
	}
	h := sha256.New()
	if err := l.write(h); err != nil {
		return err
	}
	l.digest = hex.EncodeToString(h.Sum(nil))
	return nil
}

// write writes the layer's archive: the same bytes each time, whenever the files were made.
func (l *Layer) write(to io.Writer) error {
	archive := tar.NewWriter(to)
	for _, e := range l.Entries {
		if err := e.write(archive); err != nil {
			return fmt.Errorf("%s: %w", e.Path, err)
		}
	}
	return archive.Close()
}

func (e Entry) write(archive *tar.Writer) error {
	header := &tar.Header{Name: strings.TrimPrefix(e.Path, "/"), Mode: permissions(e.Mode), Typeflag: tar.TypeReg}
	switch {
	case e.Mode.IsDir():
		header.Typeflag, header.Name = tar.TypeDir, header.Name+"/"
		return archive.WriteHeader(header)
	case e.Link != "":
		header.Typeflag, header.Linkname = tar.TypeSymlink, e.Link
		return archive.WriteHeader(header)
	case e.Source == "":
		header.Size = int64(len(e.Content))
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		_, err := archive.Write(e.Content)
		return err
	}
	file, err := os.Open(e.Source)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	header.Size = info.Size()
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(archive, file)
	return err
}

// permissions are those of a mode, with the bit by which only owners remove files of a shared folder.
func permissions(mode fs.FileMode) int64 {
	bits := int64(mode.Perm())
	if mode&fs.ModeSticky != 0 {
		bits |= 0o1000
	}
	return bits
}

// Hash names content.
func Hash(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
