package build

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// edit inserts text into a file of a copied module, right after (or before) an anchor that must
// occur exactly once. Anchors rather than line numbers: an edit that no longer fits its module
// version fails by name instead of landing in the wrong place.
type edit struct {
	file   string // relative to the module root
	anchor string
	after  string // inserted right behind the anchor
	before string // inserted right in front of the anchor
}

// apply changes the file below root.
func (e edit) apply(root string) error {
	path := filepath.Join(root, e.file)
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("patch: %w", err)
	}
	if n := strings.Count(string(text), e.anchor); n != 1 {
		return fmt.Errorf("patch: %s: the anchor %q occurs %d times, want 1: the patch was written for another version of the module", e.file, e.anchor, n)
	}
	patched := strings.Replace(string(text), e.anchor, e.before+e.anchor+e.after, 1)
	return os.WriteFile(path, []byte(patched), 0o644)
}

// copyTree copies a folder out of the module cache, whose files are read-only, to dst, where they can
// be written. What was at dst is removed.
func copyTree(src, dst string) error {
	if err := os.RemoveAll(dst); err != nil {
		return err
	}
	return filepath.WalkDir(src, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(src, path)
		if err != nil {
			return err
		}
		target := filepath.Join(dst, rel)
		if entry.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, content, 0o644)
	})
}
