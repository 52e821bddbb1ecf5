// Package real tests Kairship as pods on a real node: its chart, an instance that the Karmada operator installs, an
// application whose pods really run.
//
// The variable KAIRSHIP_REAL names the node's folder (docs/real.md); `make test-real` starts one for it. Nothing
// here is simulated, and what a test breaks it mends.
package real
