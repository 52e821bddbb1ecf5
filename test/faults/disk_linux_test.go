package faults

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // The driver "pgx".
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/internal/smalldisk"
	"github.com/kairship-io/kairship/test/internal/fleet"
)

// TestDiskOfTheIndexFull: what is created while the database has no room is in the index once it has some; nothing is
// restarted. Clusterpedia's collector drops it unless it is told to try again.
func TestDiskOfTheIndexFull(t *testing.T) {
	if fleet.Open(t).DB != "postgres" {
		t.Skip("the fleet's database is no PostgreSQL (make test-faults FLAGS='--db postgres')")
	}
	s := begin(t)
	const refusals = 3
	before := s.refusals(t)
	disk, folder := smalldisk.New(t, 64)
	s.moveIndexTo(t, folder)
	empty := smalldisk.Fill(t, disk)

	const objects, kilobytes = 20, 100
	c := s.Client(t, "alpha")
	var names []string
	for range objects {
		text := make([]byte, kilobytes<<9)
		_, _ = rand.Read(text) // It never fails. PostgreSQL makes it no smaller.
		o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "faults-"}, Data: map[string]string{"text": hex.EncodeToString(text)}}
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := c.Delete(context.Background(), o); err != nil {
				t.Error(err)
			}
		})
		names = append(names, o.Name)
	}
	poll.Until(t, noticeWithin, "the collector is refused again and again", func(context.Context) error {
		if now := s.refusals(t) - before; now < refusals {
			return fmt.Errorf("it was %d times", now)
		}
		return nil
	})
	missing := 0
	for _, name := range names {
		if shown, err := s.shows(t.Context(), "alpha", name); err != nil {
			t.Errorf("a list while the disk is full: %v", err)
		} else if !shown {
			missing++
		}
	}
	if missing == 0 {
		t.Fatal("everything has found its room")
	}
	empty()
	poll.Until(t, recoverWithin, "all of it is shown", func(ctx context.Context) error {
		for _, name := range names {
			switch shown, err := s.shows(ctx, "alpha", name); {
			case err != nil:
				return err
			case !shown:
				return fmt.Errorf("%s is not; %d were missing", name, missing)
			}
		}
		return nil
	})
	s.NoDifference(t.Context(), t, s.Projection(t))
}

// moveIndexTo has PostgreSQL keep Clusterpedia's table in a folder for the length of a test.
func (s *scene) moveIndexTo(t *testing.T, folder string) {
	t.Helper()
	var server syscall.Stat_t
	if err := syscall.Stat(fmt.Sprintf("/proc/%d", s.PID(t, "postgres")), &server); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(folder, int(server.Uid), int(server.Gid)); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("pgx", strings.Replace(s.IndexDSN(t), "clusterpedia:clusterpedia@", "postgres@", 1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	for _, statement := range []string{"CREATE TABLESPACE small LOCATION '" + folder + "'", "ALTER TABLE resources SET TABLESPACE small"} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, statement := range []string{"ALTER TABLE resources SET TABLESPACE pg_default", "DROP TABLESPACE small"} {
			if _, err := db.ExecContext(context.Background(), statement); err != nil {
				t.Error(err)
			}
		}
	})
}

// refusals is how often PostgreSQL had no room.
func (s *scene) refusals(t *testing.T) int {
	t.Helper()
	log, err := os.ReadFile(s.Logs + "/postgres.log")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(log), "No space left on device")
}
