package main

import (
	"context"
	"fmt"
	"os"

	"github.com/kairship-io/kairship/pkg/fleet/instance"
	"github.com/kairship-io/kairship/pkg/fleet/write"
	"github.com/kairship-io/kairship/pkg/projection"
)

// openProjection opens the database of the index whose DSN a file has, for reading; nil
// without a file. It does not connect yet.
func openProjection(file string, connections int) (*projection.DB, error) {
	if file == "" {
		return nil, nil //nolint:nilnil // Lists by state are then refused, with the reason.
	}
	db, err := projection.OpenReader(dsnIn(file), connections)
	if err != nil {
		return nil, fmt.Errorf("--index-database-file: %w", err)
	}
	return db, nil
}

// dsnIn reads the DSN that a file has now.
func dsnIn(file string) func() (string, error) {
	return func() (string, error) {
		text, err := os.ReadFile(file) //nolint:gosec // The operator names it.
		return string(text), err
	}
}

// recordWrites has what users write added to the history; nothing without a file.
func recordWrites(file string, instances *instance.Service) (*write.Recorder, error) {
	if file == "" {
		return nil, nil //nolint:nilnil // There is no history.
	}
	db, err := projection.OpenRecorder(dsnIn(file))
	if err != nil {
		return nil, fmt.Errorf("--index-database-file: %w", err)
	}
	uid := func(ctx context.Context, name string) string {
		i, err := instances.Get(ctx, name)
		if err != nil || i == nil {
			return "" // It was deleted meanwhile.
		}
		return string(i.UID)
	}
	return &write.Recorder{History: db, InstanceUID: uid}, nil
}
