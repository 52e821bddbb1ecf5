package fleet

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
)

// task is one piece of bringing the fleet up. It runs when all tasks it needs have succeeded;
// tasks that do not need each other run at once.
type task struct {
	name  string
	needs []string
	run   func(ctx context.Context) error
}

// checkGraph finds names that are missing or given twice and tasks that wait for each other.
func checkGraph(tasks []task) error {
	byName := map[string]task{}
	for _, t := range tasks {
		if _, ok := byName[t.name]; ok {
			return fmt.Errorf("two tasks are named %s", t.name)
		}
		byName[t.name] = t
	}
	const visiting, visited = 1, 2
	marks := map[string]int{}
	var visit func(name string, path []string) error
	visit = func(name string, path []string) error {
		t, ok := byName[name]
		switch {
		case !ok:
			return fmt.Errorf("task %s needs %s, which does not exist", path[len(path)-1], name)
		case marks[name] == visiting:
			return fmt.Errorf("tasks wait for each other: %s", strings.Join(append(path, name), " -> "))
		case marks[name] == visited:
			return nil
		}
		marks[name] = visiting
		for _, need := range t.needs {
			if err := visit(need, append(path, name)); err != nil {
				return err
			}
		}
		marks[name] = visited
		return nil
	}
	for _, t := range tasks {
		if err := visit(t.name, []string{t.name}); err != nil && marks[t.name] != visited {
			return err
		}
	}
	return nil
}

// runGraph runs all tasks. At the first failure the others are cancelled, and that failure is
// returned; what was cancelled because of it is not an error of its own.
func runGraph(ctx context.Context, tasks []task) error {
	if err := checkGraph(tasks); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := map[string]chan struct{}{}
	for _, t := range tasks {
		done[t.name] = make(chan struct{})
	}
	var wg sync.WaitGroup
	for _, t := range tasks {
		wg.Go(func() {
			for _, need := range t.needs {
				select {
				case <-done[need]:
				case <-ctx.Done():
					return
				}
			}
			if ctx.Err() != nil {
				return
			}
			if err := t.run(ctx); err != nil {
				cancel(err) // only the first cause is kept
				return
			}
			close(done[t.name])
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return ctx.Err()
}
