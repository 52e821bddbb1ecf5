// Package controllers tests, against a running fleet, what the controllers do to
// real control planes and clusters: how they join clusters and take them out
// again, and whether what they report about everything is true.
//
// It moves the fleet's own members, and breaks parts of the fleet on purpose.
// Everything is as before when it ends.
package controllers

import (
	"os"
	"testing"

	"github.com/kairship-io/kairship/test/internal/fleet"
)

func TestMain(m *testing.M) { os.Exit(fleet.Main(m)) }
