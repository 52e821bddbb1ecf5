package projection

import (
	"context"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// isInterpreter is the condition that a row of the index is a customization of an instance's resource
// interpreter, which decides whether a field that differs is drift.
func isInterpreter(row string) string {
	return row + `"group" = 'config.karmada.io' AND ` + row + "resource = 'resourceinterpretercustomizations' AND " + row + "cluster LIKE '" + v1alpha1.VirtualClusterPrefix + "%'"
}

// interpreterTriggers are those that record changes of customizations. They are apart from the others, so that
// all rows are read while those of a release without them are computed again.
func (db *DB) interpreterTriggers() []trigger {
	return db.recording("kairship_interpreter", "record_interpreter", "record_deleted_interpreters", isInterpreter)
}

// installInterpreters makes the triggers that are missing. Where they were, all rows are computed again.
func (db *DB) installInterpreters(ctx context.Context, s session) error {
	return db.installBeside(ctx, s, db.interpreterTriggers())
}
