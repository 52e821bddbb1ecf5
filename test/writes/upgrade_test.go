package writes

import (
	"context"
	"fmt"
	"maps"
	"testing"

	"github.com/kairship-io/kairship/internal/poll"
	kairshipv1alpha1 "github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// checkedUpgrade tries an upgrade of an instance of v1.18.2 that is not installed, by two minor versions.
func checkedUpgrade(t *testing.T, admin *gql.Client, instance string) {
	t.Helper()
	type checked struct {
		Operation *string
		Checks    []struct {
			Name    string
			Passed  bool
			Message string
		}
	}
	const fields = "operation checks { name passed message }"
	poll.Until(t, within, "the checks of an upgrade", func(context.Context) error {
		now, _ := storedIn(t, "global", "", instance, &kairshipv1alpha1.Instance{})
		in := map[string]any{"instance": instance, "resourceVersion": now.ResourceVersion}
		if _, errs := mutate[checked](t, admin, "updateInstance", but(in, "karmadaVersion", "v1.18.3", "dryRun", true), fields); len(errs) != 1 || errs[0].Extensions.Argument != "input.karmadaVersion" {
			return fmt.Errorf("a version that is not listed: %v", errs)
		}
		listed, _ := gql.MustQuery[struct {
			Instance struct{ UpgradeVersions []string }
		}](t, admin, `query ($name: String!) { instance(name: $name) { upgradeVersions } }`, map[string]any{"name": instance})
		if got := fmt.Sprint(listed.Instance.UpgradeVersions); got != "[v1.19.0]" {
			return fmt.Errorf("it can be upgraded to %s", got)
		}
		p, errs := mutate[checked](t, admin, "updateInstance", but(in, "karmadaVersion", "v1.20.0", "dryRun", true), fields)
		found := map[string]bool{}
		for _, c := range p.Checks {
			found[c.Name] = c.Passed
		}
		want := map[string]bool{"VERSION_KNOWN": true, "NO_DOWNGRADE": true, "ONE_MINOR_VERSION": false, "DATA_KEPT": true, "INSTALLED": false, "INSTANCE_READY": false, "CLUSTERS_READY": true}
		if len(errs) > 0 || p.Operation != nil || !maps.Equal(found, want) {
			return fmt.Errorf("%+v, %v", p, errs)
		}
		p, errs = mutate[checked](t, admin, "updateInstance", but(in, "alias", "Checked"), fields)
		if len(errs) > 0 || p.Operation == nil || len(p.Checks) > 0 {
			return fmt.Errorf("%+v, %v", p, errs)
		}
		return nil
	})
}
