package privilege

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kairship-io/kairship/deploy/helm/privilege"
	"github.com/kairship-io/kairship/test/internal/fleet"
)

// Complete is the environment variable that reports that all suites ran before this one.
const Complete = "KAIRSHIP_COMPLETE"

// byDesign are refusals that suites bring about, by what the API server says, and why.
var byDesign = map[string]string{}

// TestRolesSuffice finds whatever was refused to the programs in their own name. What was
// refused to a person, for whom they asked, is not among it.
func TestRolesSuffice(t *testing.T) {
	record := recorded(t)
	for _, account := range []string{"kairship-apiserver", "kairship-controller-manager"} {
		if record.Requests[account] < 20 {
			t.Errorf("%s sent %d requests: this proves nothing", account, record.Requests[account])
		}
		t.Logf("%s sent %d requests", account, record.Requests[account])
	}
	for request, said := range record.Refused {
		if !slices.ContainsFunc(keys(byDesign), func(part string) bool { return strings.Contains(said, part) }) {
			t.Errorf("%s was refused: %s", request, said)
		}
	}
	t.Logf("%d refusals were those of an API server that had just started and knew no roles yet", record.Early)
}

// recorded is what the programs asked of the fleet that the suites ran against.
func recorded(t *testing.T) *privilege.Record {
	t.Helper()
	record, err := fleet.Privileges(fleet.Open(t).Dir)
	if err != nil {
		t.Fatal(err)
	}
	return record
}

// TestEveryRightIsNeeded finds rights that no suite had the programs use.
func TestEveryRightIsNeeded(t *testing.T) {
	idle := recorded(t).Idle()
	var unexplained []string
	for _, right := range idle {
		if _, ok := reason(right); !ok {
			unexplained = append(unexplained, right)
		}
	}
	t.Logf("%d rights were not used by any suite, for reasons given here", len(idle)-len(unexplained))
	if len(unexplained) == 0 {
		return
	}
	said := "not used by any suite, so the chart should not give it, or a reason should be here:\n  " + strings.Join(unexplained, "\n  ")
	if os.Getenv(Complete) == "" {
		t.Skipf("not all suites ran: %s", said)
	}
	t.Error(said)
}

// reason is why the chart gives a right that the suites do not use, or that the audit
// log does not show.
func reason(right string) (string, bool) {
	for _, u := range unused {
		if u.right.MatchString(right) {
			return u.why, true
		}
	}
	return "", false
}

// unused are such rights.
var unused = []struct {
	right *regexp.Regexp
	why   string
}{
	{
		regexp.MustCompile(`: list [^/]+$`),
		"what is watched is listed first, unless the API server streams lists (since Kubernetes 1.34, which the fleet runs)",
	},
	{
		regexp.MustCompile(`^kairship-controller-manager: \w+ instances\.kairship\.io/(access|management|namespaces|proxy|resources|secrets)$`),
		"people are given these, and RBAC lets no user give away what they do not have",
	},
	{
		regexp.MustCompile(`: update \w+\.kairship\.io/finalizers$`),
		"asked by admission (OwnerReferencesPermissionEnforcement, on in the fleet) when something is made that goes with its owner; such questions are not in the log",
	},
	{
		regexp.MustCompile(`: update (clusters\.kairship\.io/membership|instances\.kairship\.io/management)$`),
		"asked by the chart's admission policy when a Cluster is written that is joined; such questions are not in the log",
	},
	{
		regexp.MustCompile(`: create karmadas\.operator\.karmada\.io$`),
		"an object that is made by applying it needs this; the log calls it patch",
	},
	{
		regexp.MustCompile(`: get secrets in kairship-system$`),
		"the fleet has the credentials of Managed instances read in all namespaces; without these, this is the right to the program's own Secrets",
	},
	{
		regexp.MustCompile(`: impersonate userextras\.authentication\.k8s\.io/authentication\.kubernetes\.io/(node|pod)-(name|uid)$`),
		"tokens of pods have these; no pod runs in the fleet's global cluster",
	},
	{
		regexp.MustCompile(`^kairship-controller-manager: create (tokenreviews\.authentication|subjectaccessreviews\.authorization)\.k8s\.io$`),
		"who reads metrics over TLS is asked about; the fleet serves those of the controller manager on loopback",
	},
	{
		regexp.MustCompile(`: patch clusterrolebindings\.rbac\.authorization\.k8s\.io$`),
		"a binding whose labels a user changed is set right",
	},
	{
		regexp.MustCompile(`: delete instancerolebindings\.kairship\.io$`),
		"a revoked binding is removed after days",
	},
}

func keys(m map[string]string) []string {
	var all []string
	for key := range m {
		all = append(all, key)
	}
	return all
}
