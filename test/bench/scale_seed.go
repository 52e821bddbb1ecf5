package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"
)

const (
	// seedWorkers write at the same time.
	seedWorkers = 2
	// seedChunk is how many workloads one COPY writes.
	seedChunk = 500
)

// scaleIndex is the database of the index, as its owner sees it.
type scaleIndex struct{ dsn string }

// newScaleIndex finds the database of a fleet.
func newScaleIndex(dir string, f *fleet) (*scaleIndex, error) {
	if f.DB != "postgres" {
		return nil, fmt.Errorf("the index of this fleet is in %s, and it takes PostgreSQL: start the fleet with --db postgres", f.DB)
	}
	text, err := os.ReadFile(filepath.Join(dir, "config", "index-database-postgres"))
	if err != nil {
		return nil, fmt.Errorf("finding the database of the index: %w", err)
	}
	return &scaleIndex{dsn: strings.TrimSpace(string(text))}, nil
}

// exec executes statements, one after the other.
func (x *scaleIndex) exec(ctx context.Context, statements ...string) error {
	conn, err := pgx.Connect(ctx, x.dsn)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	for _, statement := range statements {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// seed writes the objects of the workloads from one number up to another into the index,
// cluster by cluster, as the collector does. The triggers of the projection are off
// meanwhile, so that it has to be rebuilt.
func (x *scaleIndex) seed(ctx context.Context, f scaleFleet, from, to int) error {
	if err := x.exec(ctx, "ALTER TABLE resources DISABLE TRIGGER USER"); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(seedWorkers)
	begun := time.Now()
	for n := range scaleInstances {
		g.Go(func() error {
			conn, err := pgx.Connect(ctx, x.dsn)
			if err != nil {
				return err
			}
			defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
			var rows [][]any
			if from == 0 {
				rows = around(n)
			}
			for i := n; i < to; i += scaleInstances {
				if i < from {
					continue
				}
				if rows = append(rows, f.objects(i)...); len(rows) < seedChunk*objectsEach {
					continue
				}
				if err := write(ctx, conn, rows); err != nil {
					return err
				}
				rows = rows[:0]
			}
			if err := write(ctx, conn, rows); err != nil {
				return err
			}
			sayf("seed: %s is written after %.0f s", scaleInstance(n), time.Since(begun).Seconds())
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return fmt.Errorf("writing into the index: %w", err)
	}
	return nil
}

func write(ctx context.Context, conn *pgx.Conn, rows [][]any) error {
	if len(rows) == 0 {
		return nil
	}
	_, err := conn.CopyFrom(ctx, pgx.Identifier{"resources"}, indexedColumns, pgx.CopyFromRows(rows))
	return err
}

// remove removes everything that was written.
func (x *scaleIndex) remove(ctx context.Context) error {
	return x.exec(ctx,
		"ALTER TABLE resources DISABLE TRIGGER USER",
		"DELETE FROM resources WHERE cluster LIKE 'scale-__-_' OR cluster LIKE 'k-scale-__'",
	)
}
