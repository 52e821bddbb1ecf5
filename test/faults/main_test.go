// Package faults breaks parts of a running fleet, looks at what Kairship says
// while they are broken, and heals them again: real parts are killed, stopped
// and taken away, and nothing is played by a stand-in.
//
// These tests must be alone with their fleet. Every test waits first until the
// fleet is well, leaves it well, and looks through what all processes wrote
// into their logs meanwhile.
package faults

import (
	"os"
	"testing"

	"github.com/kairship-io/kairship/test/internal/fleet"
)

func TestMain(m *testing.M) { os.Exit(fleet.Main(m)) }
