package postgres

import "testing"

func TestMajorOf(t *testing.T) {
	if majorOf("/usr/lib/postgresql/9/bin/postgres") >= majorOf("/usr/lib/postgresql/15/bin/postgres") {
		t.Error("version 9 is preferred over 15: compared as text")
	}
}
