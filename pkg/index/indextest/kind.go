package indextest

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
)

// kind is the type of an endpoint of its own.
type kind struct {
	group, version, resource string
	// one: the endpoint is that of one object.
	one                      bool
	cluster, namespace, name string
}

// kindAt reads the type of an endpoint from its path; nil where the index has no
// such endpoint, as it has none for a type that was never collected.
func (x *Index) kindAt(ctx context.Context, path string) (*kind, error) {
	path, ok := strings.CutPrefix(path, "/resources/")
	if !ok {
		return nil, nil
	}
	k := kind{}
	steps := strings.Split(path, "/")
	if len(steps) > 2 && steps[0] == "clusters" {
		k.one, k.cluster, steps = true, steps[1], steps[2:]
		k.name, steps = steps[len(steps)-1], steps[:len(steps)-1]
		if n := len(steps); n > 3 && steps[n-3] == "namespaces" {
			k.namespace = steps[n-2]
			steps = append(steps[:n-3:n-3], steps[n-1])
		}
	}
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

// typed tells that Clusterpedia reads the objects into Go types of its own.
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

// replyOne writes one object.
func (x *Index) replyOne(w http.ResponseWriter, r *http.Request, k *kind) error {
	var object string
	err := x.db.QueryRowContext(r.Context(), `SELECT object FROM resources
		WHERE "group" = ? AND version = ? AND resource = ? AND cluster = ? AND namespace = ? AND name = ?`,
		k.group, k.version, k.resource, k.cluster, k.namespace, k.name).Scan(&object)
	w.Header().Set("Content-Type", "application/json")
	switch {
	case errors.Is(err, sql.ErrNoRows):
		w.WriteHeader(http.StatusNotFound)
		return json.NewEncoder(w).Encode(map[string]any{
			"kind": "Status", "status": "Failure", "reason": "NotFound", "code": http.StatusNotFound,
			"details": map[string]any{"name": k.name, "group": k.group, "kind": k.resource},
		})
	case err != nil:
		return err
	case k.typed():
		object, err = withoutNewField(object)
		if err != nil {
			return err
		}
	}
	_, err = io.WriteString(w, object)
	return err
}

// withoutNewField is an object as a typed endpoint writes it.
func withoutNewField(object string) (string, error) {
	var fields map[string]any
	if err := json.Unmarshal([]byte(object), &fields); err != nil {
		return "", err
	}
	if spec, ok := fields["spec"].(map[string]any); ok {
		delete(spec, NewField)
	}
	out, err := json.Marshal(fields)
	return string(out), err
}
