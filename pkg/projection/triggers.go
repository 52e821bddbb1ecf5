package projection

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// tracked are the resources whose changes matter, with their groups.
var tracked = []string{
	"apps/deployments", "apps/statefulsets", "apps/daemonsets", "batch/jobs", "batch/cronjobs",
	"work.karmada.io/resourcebindings", "work.karmada.io/works",
	"policy.karmada.io/propagationpolicies", "policy.karmada.io/clusterpropagationpolicies",
	"policy.karmada.io/overridepolicies", "policy.karmada.io/clusteroverridepolicies",
	"cluster.karmada.io/clusters",
}

func isTracked(row string) string {
	return fmt.Sprintf(`%[1]s"group" || '/' || %[1]sresource IN ('%[2]s')`, row, strings.Join(tracked, "', '"))
}

const appendTo = `INSERT INTO kairship.outbox (cluster, grp, resource, namespace, name)`

// functions are the bodies of the functions that PostgreSQL's triggers call, by name.
// They run with the rights of their owner, so that Clusterpedia needs none on our tables.
// The conditions are in them, because a trigger that names a column keeps Clusterpedia
// from changing the column's type.
func functions() map[string]string {
	body := func(condition, into, values string) string {
		return fmt.Sprintf(`
BEGIN
	%s
	BEGIN
		%s %s;
	EXCEPTION WHEN OTHERS THEN
		RAISE WARNING 'kairship: a change was not recorded: %%', SQLERRM;
	END;
	RETURN NULL;
END `, condition, into, values)
	}
	row := func(of string) string {
		return `IF NOT (` + of + `) THEN
		RETURN NULL;
	END IF;
	IF TG_OP = 'UPDATE' THEN
		IF NEW.uid = OLD.uid AND NEW.resource_version = OLD.resource_version THEN
			RETURN NULL;
		END IF;
	END IF;`
	}
	return map[string]string{
		"record_row":                  body(row(isTracked("NEW.")), appendTo, `VALUES (NEW.cluster, NEW."group", NEW.resource, NEW.namespace, NEW.name)`),
		"record_deleted":              body("", appendTo, `SELECT cluster, "group", resource, namespace, name FROM gone WHERE `+isTracked("")),
		"record_custom":               body(row(isCustomTemplate("NEW.")), appendTo, `VALUES (NEW.cluster, NEW."group", NEW.resource, NEW.namespace, NEW.name)`),
		"record_deleted_custom":       body("", appendTo, `SELECT cluster, "group", resource, namespace, name FROM gone WHERE `+isCustomTemplate("")),
		"record_interpreter":          body(row(isInterpreter("NEW.")), appendTo, `VALUES (NEW.cluster, NEW."group", NEW.resource, NEW.namespace, NEW.name)`),
		"record_deleted_interpreters": body("", appendTo, `SELECT cluster, "group", resource, namespace, name FROM gone WHERE `+isInterpreter("")),
		"record_pod":                  body(row(isPod("NEW.")), appendPod, `VALUES (NEW.cluster, NEW.namespace, NEW.name)`),
		"record_deleted_pods":         body("", appendPod, `SELECT cluster, namespace, name FROM gone WHERE `+isPod("")),
		"record_moved": body(`IF TG_OP = 'UPDATE' THEN
		IF NEW.instance = OLD.instance THEN
			RETURN NULL;
		END IF;
	END IF;`, appendPod, `VALUES (NEW.cluster, '', '')`),
	}
}

// function is the statement that makes a function.
func function(name string) string {
	return "CREATE OR REPLACE FUNCTION kairship." + name + "() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$" + functions()[name] + "$$"
}

// trigger is a trigger on a table, with the function that it calls on PostgreSQL.
type trigger struct{ table, name, function, statement string }

// triggers are those that record changes of what the states of workloads are computed from.
func (db *DB) triggers() []trigger {
	return db.recording("kairship", "record_row", "record_deleted", isTracked)
}

// recording are the triggers, and on PostgreSQL the functions, that append those changes of the table
// resources to the outbox for which a condition holds.
func (db *DB) recording(name, row, deleted string, is func(row string) string) []trigger {
	if db.postgres {
		return []trigger{
			{"resources", name + "_inserted", row, "CREATE TRIGGER " + name + "_inserted AFTER INSERT ON resources FOR EACH ROW EXECUTE FUNCTION kairship." + row + "()"},
			{"resources", name + "_updated", row, "CREATE TRIGGER " + name + "_updated AFTER UPDATE ON resources FOR EACH ROW EXECUTE FUNCTION kairship." + row + "()"},
			{"resources", name + "_deleted", deleted, "CREATE TRIGGER " + name + "_deleted AFTER DELETE ON resources REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION kairship." + deleted + "()"},
		}
	}
	body := func(row string) string {
		return fmt.Sprintf(` BEGIN `+db.text(appendTo)+` VALUES (%[1]scluster, %[1]s"group", %[1]sresource, %[1]snamespace, %[1]sname); END`, row)
	}
	return []trigger{
		{"resources", name + "_inserted", "", "CREATE TRIGGER " + name + "_inserted AFTER INSERT ON resources WHEN " + is("NEW.") + body("NEW.")},
		{"resources", name + "_updated", "", "CREATE TRIGGER " + name + "_updated AFTER UPDATE ON resources WHEN (NEW.uid <> OLD.uid OR NEW.resource_version <> OLD.resource_version) AND " +
			is("NEW.") + body("NEW.")},
		{"resources", name + "_deleted", "", "CREATE TRIGGER " + name + "_deleted AFTER DELETE ON resources WHEN " + is("OLD.") + body("OLD.")},
	}
}

// installTriggers makes those of some triggers that are missing, switched off or not as they
// should be, and reports whether there were any.
func (db *DB) installTriggers(ctx context.Context, s session, all []trigger) (installed bool, err error) {
	intact, err := db.intactTriggers(ctx, s, all)
	if err != nil {
		return false, err
	}
	for _, t := range all {
		if intact[t.name] {
			continue
		}
		installed = true
		steps := []string{"DROP TRIGGER IF EXISTS " + t.name, t.statement}
		if db.postgres {
			steps = []string{function(t.function), "REVOKE ALL ON FUNCTION kairship." + t.function + "() FROM PUBLIC", steps[0] + " ON " + t.table, t.statement}
		}
		for _, each := range steps {
			if err := db.exec(ctx, s, each); err != nil {
				return false, fmt.Errorf("making the trigger %s on the table %s: %w", t.name, t.table, err)
			}
		}
	}
	return installed, nil
}

// intactTriggers finds those of some triggers that are as they should be.
func (db *DB) intactTriggers(ctx context.Context, s session, all []trigger) (map[string]bool, error) {
	look := "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
	if db.postgres {
		look = `SELECT t.tgname, f.prosrc FROM pg_trigger t JOIN pg_proc f ON f.oid = t.tgfoid
			WHERE t.tgrelid IN ('resources'::regclass, 'kairship.collection'::regclass) AND t.tgenabled IN ('O', 'A') AND f.pronamespace = 'kairship'::regnamespace`
	}
	want := map[string]string{}
	for _, t := range all {
		want[t.name] = db.text(t.statement)
		if db.postgres {
			want[t.name] = functions()[t.function]
		}
	}
	intact := map[string]bool{}
	return intact, db.query(ctx, s, func(rows *sql.Rows) error {
		var name, is string
		err := rows.Scan(&name, &is)
		intact[name] = is == want[name]
		return err
	}, look)
}
