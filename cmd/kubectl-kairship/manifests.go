package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// manifestFlags are those of commands that read manifests.
type manifestFlags struct {
	files []string
	force bool
}

func (m *manifestFlags) add(flags *pflag.FlagSet) {
	flags.StringSliceVarP(&m.files, "filename", "f", nil, "Files or folders with manifests; - for the standard input")
	flags.BoolVar(&m.force, "force-conflicts", false, "Take over fields that others manage")
}

// read returns all manifests, as one text.
func (m *manifestFlags) read(in io.Reader) (string, error) {
	if len(m.files) == 0 {
		return "", errors.New("say with -f which manifests")
	}
	var all []string
	for _, name := range m.files {
		if name == "-" {
			text, err := io.ReadAll(in)
			if err != nil {
				return "", err
			}
			all = append(all, string(text))
			continue
		}
		texts, err := filesOf(name)
		if err != nil {
			return "", err
		}
		all = append(all, texts...)
	}
	return strings.Join(all, "\n---\n"), nil
}

// filesOf reads a file, or the manifests of a folder.
func filesOf(name string) (texts []string, err error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	names := []string{name}
	if info.IsDir() {
		names = nil
		for _, pattern := range []string{"*.yaml", "*.yml", "*.json"} {
			found, err := filepath.Glob(filepath.Join(name, pattern))
			if err != nil {
				return nil, err
			}
			names = append(names, found...)
		}
		slices.Sort(names)
		if len(names) == 0 {
			return nil, fmt.Errorf("%s has no manifests", name)
		}
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		texts = append(texts, string(text))
	}
	return texts, nil
}

// onlyInstance is the instance that the flag names: what is written goes to one.
func (o *options) onlyInstance() (*string, error) {
	if o.instance == "" {
		return nil, errors.New("say with -i which instance")
	}
	return &o.instance, nil
}

// optional is a value of a request that is not set where it is empty.
func optional(value string) *string {
	if value == "" {
		return nil
	}
	return &value
}
