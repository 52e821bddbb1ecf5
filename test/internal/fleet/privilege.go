package fleet

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/kairship-io/kairship/deploy/helm/privilege"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// Privileges is what the audit log of the fleet's global cluster reports about how Kairship's
// programs used the chart's roles, since the fleet was made. The suites read the log
// at their ends, because only so much of it is kept.
func Privileges(dir string) (*privilege.Record, error) {
	rendered, err := os.ReadFile(filepath.Join(dir, "config", "chart.yaml"))
	if err != nil {
		return nil, err
	}
	roles, err := privilege.ReadRoles(rendered)
	if err != nil {
		return nil, err
	}
	record := privilege.NewRecord(v1alpha1.SystemNamespace, roles)
	file := filepath.Join(dir, "audit", "record.json")
	if err := record.Load(file); err != nil {
		return nil, err
	}
	if err := record.Follow(filepath.Join(dir, "audit", "*.log")); err != nil {
		return nil, err
	}
	return record, record.Store(file)
}

// recordPrivileges reads what the suites that end had the programs ask. A fleet that was
// made without the chart has no record.
func recordPrivileges(dir string) error {
	if _, err := Privileges(dir); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
