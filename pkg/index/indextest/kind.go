package indextest

import (
	"context"
	"encoding/json"
	"strings"
)

// kind is the type of an endpoint of its own.
type kind struct{ group, version, resource string }

// kindAt reads the type of an endpoint from its path; nil where the index has no
// such endpoint, as it has none for a type that was never collected.
func (x *Index) kindAt(ctx context.Context, path string) (*kind, error) {
	path, ok := strings.CutPrefix(path, "/resources/")
	if !ok {
		return nil, nil
	}
	k := kind{}
	steps := strings.Split(path, "/")
	switch {
	case len(steps) == 3 && steps[0] == "api":
		k.version, k.resource = steps[1], steps[2]
	case len(steps) == 4 && steps[0] == "apis":
		k.group, k.version, k.resource = steps[1], steps[2], steps[3]
	default:
		return nil, nil
	}
	var n int
	err := x.db.QueryRowContext(ctx, `SELECT COUNT(*) FROM resources WHERE "group" = ? AND version = ? AND resource = ?`,
		k.group, k.version, k.resource).Scan(&n)
	if err != nil || n == 0 {
		return nil, err
	}
	return &k, nil
}

// typed reports whether Clusterpedia reads the objects into Go types of its own.
func (k *kind) typed() bool {
	return k != nil && (!strings.Contains(k.group, ".") || strings.HasSuffix(k.group, ".k8s.io"))
}

// NewField is a field of a spec that no Go type of Clusterpedia has.
const NewField = "newerThanTheIndex"

// withoutType is an object as an item of a typed list: it does not say what it
// is, and a field that the Go type lacks is lost.
func withoutType(item json.RawMessage) (json.RawMessage, error) {
	var fields map[string]any
	if err := json.Unmarshal(item, &fields); err != nil {
		return nil, err
	}
	delete(fields, "apiVersion")
	delete(fields, "kind")
	if spec, ok := fields["spec"].(map[string]any); ok {
		delete(spec, NewField)
	}
	return json.Marshal(fields)
}
