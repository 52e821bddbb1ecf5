package image

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// authorities is where Debian and its like have the world's certificate authorities, and images too.
const authorities = "/etc/ssl/certs/ca-certificates.crt"

// Base is what every image has: accounts, certificate authorities where this machine has them, and /tmp.
func Base() *Layer {
	l := &Layer{Entries: []Entry{
		{Path: "/tmp", Mode: fs.ModeDir | fs.ModeSticky | 0o777},
		{Path: "/etc/passwd", Content: []byte("root:x:0:0:root:/root:/bin/sh\npostgres:x:999:999::/tmp:/bin/sh\nnonroot:x:65532:65532::/tmp:/bin/sh\n"), Mode: 0o644},
		{Path: "/etc/group", Content: []byte("root:x:0:\npostgres:x:999:\nnonroot:x:65532:\n"), Mode: 0o644},
		{Path: "/etc/nsswitch.conf", Content: []byte("hosts: files dns\n"), Mode: 0o644},
	}}
	if _, err := os.Stat(authorities); err == nil {
		l.Entries = append(l.Entries, Entry{Path: authorities, Source: authorities, Mode: 0o644})
	}
	return l
}

// Program is a layer with one program.
func Program(path, source string) *Layer {
	return &Layer{Entries: []Entry{{Path: path, Source: source, Mode: 0o755}}}
}

// Folder adds the files of folders of this machine at the same places.
func (l *Layer) Folder(folders ...string) error {
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			info, err := os.Stat(path) // Links are followed: they may lead out of the folder.
			if errors.Is(err, fs.ErrNotExist) {
				return nil // a link to what another package has
			}
			if err != nil || info.IsDir() {
				return err
			}
			l.Entries = append(l.Entries, Entry{Path: path, Source: path, Mode: info.Mode().Perm()})
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Sort orders the files by their paths, so that the layer is the same each time.
func (l *Layer) Sort() {
	slices.SortFunc(l.Entries, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
}

// Libraries is a layer with the shared libraries that programs of this machine are linked to, and the loader. It
// has none of those in the layers that are given.
func Libraries(ctx context.Context, programs []string, besides ...*Layer) (*Layer, error) {
	have := map[string]bool{}
	for _, l := range besides {
		for _, e := range l.Entries {
			have[e.Path] = true
		}
	}
	var paths []string
	for _, program := range programs {
		libraries, err := libraries(ctx, program)
		if err != nil {
			return nil, err
		}
		for _, library := range libraries {
			if !have[library] {
				have[library] = true
				paths = append(paths, library)
			}
		}
	}
	slices.Sort(paths)
	l := &Layer{}
	for _, path := range paths {
		l.Entries = append(l.Entries, Entry{Path: path, Source: path, Mode: 0o755})
	}
	return l, nil
}

// libraries asks ldd, which prints "name => path (address)", and "path (address)" of the loader.
func libraries(ctx context.Context, program string) ([]string, error) {
	var problems bytes.Buffer
	cmd := exec.CommandContext(ctx, "ldd", program)
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if strings.Contains(problems.String(), "not a dynamic executable") || strings.Contains(string(out), "statically linked") {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ldd %s: %w: %s", program, err, strings.TrimSpace(problems.String()))
	}
	var found []string
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "not found") {
			return nil, fmt.Errorf("%s needs a library that is not installed: %s", program, strings.TrimSpace(line))
		}
		for word := range strings.FieldsSeq(line) {
			if strings.HasPrefix(word, "/") {
				found = append(found, word)
			}
		}
	}
	return found, nil
}
