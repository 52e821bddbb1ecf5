package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func TestArchive(t *testing.T) {
	source := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(source, []byte("a program"), 0o600); err != nil {
		t.Fatal(err)
	}
	shared := Base()
	images := []Image{
		{Name: "localhost/a:1", Layers: []*Layer{shared, Program("/bin/a", source)}, Entrypoint: []string{"/bin/a"}, User: "65532:65532"},
		{Name: "localhost/b:1", Layers: []*Layer{shared}},
	}
	var first, second bytes.Buffer
	for _, to := range []io.Writer{&first, &second} {
		if err := Archive(to, images); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("the same images are not the same bytes: they would be imported each time")
	}
	files := read(t, &first)
	var manifests []manifest
	if err := json.Unmarshal(files["manifest.json"], &manifests); err != nil {
		t.Fatal(err)
	}
	if len(manifests) != 2 || len(manifests[0].Layers) != 2 || len(manifests[1].Layers) != 1 || manifests[0].Layers[0] != manifests[1].Layers[0] {
		t.Fatalf("manifest.json has %+v, want two images that share a layer", manifests)
	}
	if layers := len(files) - 3; layers != 2 {
		t.Errorf("there are %d layers, want each once", layers)
	}
	for _, m := range manifests {
		var c config
		if err := json.Unmarshal(files[m.Config], &c); err != nil {
			t.Fatal(err)
		}
		for i, layer := range m.Layers {
			if want := "sha256:" + Hash(uncompressed(t, files[layer])); c.RootFS.DiffIDs[i] != want {
				t.Errorf("%s: layer %d is %s in the configuration, and its content is %s", m.RepoTags[0], i, c.RootFS.DiffIDs[i], want)
			}
		}
	}
	if got := read(t, bytes.NewReader(uncompressed(t, files[manifests[0].Layers[1]])))["bin/a"]; string(got) != "a program" {
		t.Errorf("the program in the image is %q", got)
	}
}

func TestDigest(t *testing.T) {
	base := Image{Layers: []*Layer{{Entries: []Entry{{Path: "/a", Content: []byte("1"), Mode: 0o644}}}}}
	before, err := base.Digest()
	if err != nil {
		t.Fatal(err)
	}
	for reason, other := range map[string]Image{
		"other content":     {Layers: []*Layer{{Entries: []Entry{{Path: "/a", Content: []byte("2"), Mode: 0o644}}}}},
		"another user":      {Layers: base.Layers, User: "1:1"},
		"other permissions": {Layers: []*Layer{{Entries: []Entry{{Path: "/a", Content: []byte("1"), Mode: 0o600}}}}},
	} {
		if after, err := other.Digest(); err != nil || after == before {
			t.Errorf("%s: the digest stays %s (error %v): the old image would run on", reason, after, err)
		}
	}
}

func uncompressed(t *testing.T, layer []byte) []byte {
	t.Helper()
	from, err := gzip.NewReader(bytes.NewReader(layer))
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(from)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func read(t *testing.T, from io.Reader) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for archive := tar.NewReader(from); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[header.Name], err = io.ReadAll(archive); err != nil {
			t.Fatal(err)
		}
	}
}
