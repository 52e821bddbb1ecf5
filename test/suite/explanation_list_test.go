package suite

import (
	"strings"
	"testing"

	"github.com/kairship-io/kairship/test/internal/schema"
)

// provokedElsewhere are codes that another test reads from the API of a fleet.
var provokedElsewhere = map[string]string{
	"APPLY_UNAUTHORIZED": "TestReasonsOfAMember of test/faults",
	"APPLY_UNREACHABLE":  "TestReasonsOfAMember of test/faults",
	"CLUSTER_NOT_READY":  "TestReasonsOfAMember of test/faults",
}

// unprovoked are the codes that no test provokes in a fleet, and why. Those of pkg/fleet/explanation try them in tables.
var unprovoked = map[string]string{
	"NO_CLUSTER_CHOSEN": "Karmada's scheduler fails instead of choosing nothing",
	"QUOTA_EXCEEDED":    "Karmada's feature gate FederatedQuotaEnforcement is off in the fleet",
	"CLUSTER_DELETING":  "a member that stays in the state of leaving would have to be imported",
	"APPLY_PENDING":     "Karmada reports a failure or a success with the first attempt, which takes less than a second",
	"STATUS_PENDING":    "the status follows the object within less than a second",
	"APPLY_API_MISSING": "the scheduler leaves out members that do not serve the kind, before anything is sent there",
}

// TestEveryCodeIsProvoked walks the list of codes, and fails for one that no test provokes in a fleet.
func TestEveryCodeIsProvoked(t *testing.T) {
	provoked := map[string]bool{}
	read := func(reasons []string) {
		for _, reason := range reasons {
			code, _, _ := strings.Cut(reason, " ")
			provoked[code] = true
		}
	}
	for _, one := range stalled {
		read(one.reasons)
	}
	for _, all := range []map[string][]string{given, unfinished} {
		for _, reasons := range all {
			read(reasons)
		}
	}
	for code := range provokedElsewhere {
		provoked[code] = true
	}
	for _, code := range schema.Values(theSchema, "ExplanationCode") {
		switch reason, excused := unprovoked[code]; {
		case !provoked[code] && !excused:
			t.Errorf("no test provokes %s in a fleet", code)
		case provoked[code] && excused:
			t.Errorf("%s is provoked, and excused: %s", code, reason)
		}
	}
}
