package projection_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kairship-io/kairship/pkg/projection"
	"github.com/kairship-io/kairship/pkg/projection/projectiontest"
)

// TestStatementsStayCompiled reads with few texts and with more than stay compiled, from several
// goroutines, and sees that no statement stays open between them: the log of the database can be emptied.
func TestStatementsStayCompiled(t *testing.T) {
	index, instances := projectiontest.SQLite(t), slices.Repeat([]string{"alpha"}, 20)
	db := filled(t, index, []projection.Workload{manyth(instances, 0), manyth(instances, 1)})
	names := func(q *projection.Query) []string {
		q.Instances, q.Limit = []string{"alpha"}, 10
		page, err := db.Select(t.Context(), q)
		if err != nil {
			t.Error(err)
			return nil
		}
		var all []string
		for i := range page.Items {
			all = append(all, page.Items[i].Name)
		}
		return all
	}
	for range 3 {
		for i := range 2 {
			name := fmt.Sprintf("workload-%06d", i)
			if got := names(&projection.Query{Names: []string{name}}); !slices.Equal(got, []string{name}) {
				t.Errorf("with other values: got %v, want %s", got, name)
			}
		}
	}
	if n := projection.Compiled(db); n != 1 {
		t.Errorf("one text is compiled %d times", n)
	}
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for n := range projection.MaxCompiled + 10 {
				if got, err := projection.Look(t.Context(), db, fmt.Sprintf("SELECT %d + $1", n), 1); err != nil || got != n+1 {
					t.Errorf("%d + 1: got %d, %v", n, got, err)
				}
			}
		})
	}
	all.Wait()
	if n := projection.Compiled(db); n > projection.MaxCompiled+3 || n < projection.MaxCompiled {
		t.Errorf("%d statements stay compiled, want about %d", n, projection.MaxCompiled)
	}
	index.Exec(t, "PRAGMA wal_checkpoint(TRUNCATE)")
	log, err := os.Stat(strings.TrimPrefix(index.DSN, "file:") + "-wal")
	if err != nil || log.Size() > 0 {
		t.Errorf("the log of the database cannot be emptied, a statement that reads is open: %+v, %v", log, err)
	}
}
