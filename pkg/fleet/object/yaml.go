package object

import (
	"fmt"

	"go.yaml.in/yaml/v2"
)

// marshalYAML writes an object that was read from JSON as YAML. Package sigs.k8s.io/yaml writes the same text, but
// writes JSON first and parses that as YAML, which takes three times as long (BenchmarkYAML).
func marshalYAML(object map[string]any) (string, error) {
	text, err := yaml.Marshal(object)
	if err != nil {
		return "", fmt.Errorf("write the object as YAML: %w", err)
	}
	return string(text), nil
}
