package main

import (
	"fmt"
	"os"

	"github.com/kairship-io/kairship/pkg/projection"
)

// openProjection opens the database of the index whose DSN a file has, for reading; nil
// without a file. It does not connect yet.
func openProjection(file string, connections int) (*projection.DB, error) {
	if file == "" {
		return nil, nil //nolint:nilnil // Lists by state are then refused, with the reason.
	}
	dsn := func() (string, error) {
		text, err := os.ReadFile(file) //nolint:gosec // The operator names it.
		return string(text), err
	}
	db, err := projection.OpenReader(dsn, connections)
	if err != nil {
		return nil, fmt.Errorf("--index-database-file: %w", err)
	}
	return db, nil
}
