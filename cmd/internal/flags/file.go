package flags

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// readFile finds settings in a YAML file: a mapping from names of flags to their
// values. A key that is no setting is refused, because it is most likely one that is
// misspelt.
func readFile(path string, s *Settings, problems *Problems) sources {
	found := sources{}
	if path == "" {
		return found
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		problems.Checkf(false, "--%s: %v", configFlag, err)
		return found
	}
	root, err := parseYAML(raw)
	if err != nil {
		problems.Checkf(false, "--%s: %s: %v", configFlag, path, err)
		return found
	}
	if root == nil {
		return found
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		place := fmt.Sprintf("%s:%d", path, key.Line)
		flag := s.lookup(key.Value)
		if flag == nil {
			problems.Checkf(false, "%s: there is no setting %q%s", place, key.Value, suggestion(key.Value, s.names(), ""))
			continue
		}
		if before, twice := found[key.Value]; twice {
			problems.Checkf(false, "%s: %q is given already, at %s; leave one of them out", place, key.Value, before.from)
			continue
		}
		text, err := fileValue(flag, value)
		if err != nil {
			problems.Checkf(false, "%s: %s: %v", place, key.Value, err)
			continue
		}
		found[key.Value] = given{values: []string{text}, from: place}
	}
	return found
}

// parseYAML reads the one mapping of a document; nil when there is nothing in it. Its
// errors name lines and show no value.
func parseYAML(raw []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(raw))
	var document, second yaml.Node
	err := decoder.Decode(&document)
	if errors.Is(err, io.EOF) {
		return nil, nil //nolint:nilnil // No document is no mapping.
	}
	if err != nil {
		return nil, fmt.Errorf("not YAML: %w", err)
	}
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("line %d: a second document begins; all settings belong into one", second.Line)
	}
	root := document.Content[0]
	switch {
	case root.Kind == yaml.ScalarNode && root.Tag == "!!null":
		return nil, nil //nolint:nilnil // Only comments.
	case root.Kind != yaml.MappingNode:
		return nil, fmt.Errorf("line %d: must be settings such as `log-level: debug`, one on each line", root.Line)
	}
	return root, nil
}

// fileValue is the text that a flag takes for a value of the file.
func fileValue(flag *pflag.Flag, value *yaml.Node) (string, error) {
	if value.Kind == yaml.AliasNode {
		value = value.Alias
	}
	_, list := flag.Value.(pflag.SliceValue)
	mapping := strings.HasPrefix(flag.Value.Type(), "stringTo")
	switch {
	case value.Kind == yaml.ScalarNode && value.Tag == "!!null":
		return "", errors.New("has no value; leave the line out for the default, or write \"\" for an empty one")
	case value.Kind == yaml.ScalarNode:
		return value.Value, nil
	case value.Kind == yaml.SequenceNode && list:
		return commaSeparated(value.Content, 1)
	case value.Kind == yaml.MappingNode && mapping:
		return commaSeparated(value.Content, 2)
	case list:
		return "", errors.New("must be a list of texts")
	case mapping:
		return "", errors.New("must be names and values, such as {name: value}")
	default:
		return "", errors.New("must be one value, not a list or a mapping")
	}
}

// commaSeparated joins scalars the way flags take them: a,b or, in twos, a=b,c=d.
func commaSeparated(nodes []*yaml.Node, in int) (string, error) {
	record := make([]string, 0, len(nodes))
	for i := 0; i < len(nodes); i += in {
		words := make([]string, in)
		for j := range words {
			if nodes[i+j].Kind != yaml.ScalarNode {
				return "", fmt.Errorf("line %d: must be one value, not a list or a mapping", nodes[i+j].Line)
			}
			words[j] = nodes[i+j].Value
		}
		record = append(record, strings.Join(words, "="))
	}
	var joined strings.Builder
	w := csv.NewWriter(&joined)
	err := w.Write(record)
	w.Flush()
	return strings.TrimSuffix(joined.String(), "\n"), err
}

// suggestion is the name that was probably meant.
func suggestion(name string, known []string, prefix string) string {
	// Half of a short name could be another one.
	farthest := min(3, len(name)/4+1)
	plain := strings.ToLower(strings.NewReplacer("_", "-", " ", "-").Replace(strings.TrimLeft(name, "-")))
	best, distance := "", farthest+1
	for _, candidate := range known {
		// Without dashes, so that indexQPS finds index-qps.
		d := levenshtein.ComputeDistance(strings.ReplaceAll(plain, "-", ""), strings.ReplaceAll(candidate, "-", ""))
		if d < distance {
			best, distance = candidate, d
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + prefix + best + "?"
}
