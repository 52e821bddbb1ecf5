// Command openapi writes what is generated of the named operations in api/v1: the OpenAPI document of the REST API, and
// the documents with their hashes, in the format of Apollo's persisted query manifests.
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"

	"github.com/kairship-io/kairship/graph/generated"
	"github.com/kairship-io/kairship/graph/operation"
	"github.com/kairship-io/kairship/graph/operation/openapi"
)

// manifest are documents that clients may name by their hash.
type manifest struct {
	Format     string     `json:"format"`
	Version    int        `json:"version"`
	Operations []document `json:"operations"`
}

type document struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Type string `json:"type"`
	Body string `json:"body"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// run works in the folder of the operations.
func run() error {
	schema := generated.NewExecutableSchema(generated.Config{}).Schema()
	operations, err := operation.Load(os.DirFS("."), schema)
	if err != nil {
		return err
	}
	text, err := openapi.Of(operations, schema)
	if err != nil {
		return err
	}
	list := manifest{Format: "apollo-persisted-query-manifest", Version: 1}
	for _, op := range operations {
		sum := sha256.Sum256([]byte(op.Document))
		list.Operations = append(list.Operations, document{ID: hex.EncodeToString(sum[:]), Name: op.Name, Type: string(op.Definition.Operation), Body: op.Document})
	}
	documents, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{"openapi.json": text, "documents.json": append(documents, '\n')} {
		if err := os.WriteFile(name, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
