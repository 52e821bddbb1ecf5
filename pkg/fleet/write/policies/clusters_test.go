package policies

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"

	"github.com/kairship-io/kairship/pkg/fleet/write"
	"github.com/kairship-io/kairship/pkg/fleet/write/specs"
)

func TestUnknownClusters(t *testing.T) {
	in := func(names ...string) string { return `{"clusterNames":["` + strings.Join(names, `","`) + `"]}` }
	arguments := func(named []specs.NamedCluster) []string {
		var got []string
		for _, w := range specs.UnknownClusters("alpha", named, map[string]bool{"m1": true, "m2": true}) {
			if w.Code != write.WarningUnknownCluster || !strings.Contains(w.Message, `instance "alpha" has no member cluster "m`) {
				t.Errorf("%+v", w)
			}
			got = append(got, w.Argument)
		}
		slices.Sort(got)
		return got
	}
	propagation := specOf[policyv1alpha1.PropagationSpec](t, `{"placement":{
		"clusterAffinity":{"clusterNames":["m1","m8"],"exclude":["m9"]},
		"clusterAffinities":[{"affinityName":"a","clusterNames":["m2"],"overflowAffinities":[`+in("m9", "m1")+`]},{"affinityName":"b","exclude":["m7"]}],
		"replicaScheduling":{"weightPreference":{"staticWeightList":[{"targetCluster":`+in("m1")+`,"weight":1},{"targetCluster":`+in("m9")+`,"weight":3}]}}},
		"suspension":{"dispatchingOnClusters":`+in("m9")+`}}`)
	if diff := cmp.Diff([]string{
		"input.spec.placement.clusterAffinities[0].overflowAffinities[0].clusterNames[0]",
		"input.spec.placement.clusterAffinities[1].exclude[0]",
		"input.spec.placement.clusterAffinity.clusterNames[1]",
		"input.spec.placement.clusterAffinity.exclude[0]",
		"input.spec.placement.replicaScheduling.weightPreference.staticWeightList[1].targetCluster.clusterNames[0]",
		"input.spec.suspension.dispatchingOnClusters.clusterNames[0]",
	}, arguments(propagationClusters(propagation))); diff != "" {
		t.Errorf("every place that names clusters (-want +got):\n%s", diff)
	}
	override := specOf[policyv1alpha1.OverrideSpec](t, `{"targetCluster":`+in("m9")+`,"overrideRules":[{"targetCluster":`+in("m1")+`,"overriders":{}},{"overriders":{}},{"overriders":{},"targetCluster":{"exclude":["m9"]}}]}`)
	if diff := cmp.Diff([]string{"input.spec.overrideRules[2].targetCluster.exclude[0]", "input.spec.targetCluster.clusterNames[0]"},
		arguments(overrideClusters(override))); diff != "" {
		t.Errorf("every place that names clusters (-want +got):\n%s", diff)
	}
}
