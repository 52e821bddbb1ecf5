package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
)

// manifest is an entry of the file manifest.json of an archive, in the format of `docker save`.
type manifest struct {
	Config   string   `json:"Config"`   //nolint:tagliatelle // The format's names.
	RepoTags []string `json:"RepoTags"` //nolint:tagliatelle // The format's names.
	Layers   []string `json:"Layers"`   //nolint:tagliatelle // The format's names.
}

// Archive writes the images in the format of `docker save`. A layer that several have is written once.
func Archive(to io.Writer, images []Image) error {
	archive := tar.NewWriter(to)
	written := map[string]bool{}
	var manifests []manifest
	for _, i := range images {
		digest, err := i.Digest()
		if err != nil {
			return err
		}
		configuration, err := i.configuration()
		if err != nil {
			return err
		}
		m := manifest{Config: digest + ".json", RepoTags: []string{i.Name}}
		for _, l := range i.Layers {
			name := l.digest + "/layer.tar"
			m.Layers = append(m.Layers, name)
			if written[name] {
				continue
			}
			written[name] = true
			compressed, err := l.compressed()
			if err != nil {
				return err
			}
			if err := file(archive, name, compressed); err != nil {
				return err
			}
		}
		if err := file(archive, m.Config, configuration); err != nil {
			return err
		}
		manifests = append(manifests, m)
	}
	content, err := json.Marshal(manifests)
	if err != nil {
		return err
	}
	if err := file(archive, "manifest.json", content); err != nil {
		return err
	}
	return archive.Close()
}

// compressed is the layer's archive as containerd keeps it beside the files that it unpacks.
func (l *Layer) compressed() ([]byte, error) {
	var out bytes.Buffer
	to, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	if err := l.write(to); err != nil {
		return nil, err
	}
	if err := to.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func file(archive *tar.Writer, name string, content []byte) error {
	if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg}); err != nil {
		return err
	}
	_, err := archive.Write(content)
	return err
}
