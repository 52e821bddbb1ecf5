package specs

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/pkg/fleet/write"
)

// document reads JSON as GraphQL and Kubernetes give it.
func document(t *testing.T, text string) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestNotKept(t *testing.T) {
	const split = `"replicaScheduling":{"replicaSchedulingType":"Divided","weightPreference":{"staticWeightList":[{"targetCluster":{"clusterNames":["m1"]},"weight":1},{"targetCluster":{"clusterNames":["m2"]},"weight":3}]}}`
	const names = `"clusterAffinity":{"clusterNames":["m1","m2"]}`
	for _, tt := range []struct {
		reason              string
		before, after, sent string
		want                []string
	}{
		{
			"a part was read and sent back", `{"placement":{` + names + `,` + split + `},"priority":5}`, `{"placement":{` + names + `},"priority":0}`, `{"placement":{` + names + `}}`,
			[]string{"input.spec.placement.replicaScheduling", "input.spec.priority"},
		},
		{"null is meant", `{"placement":{` + names + `,` + split + `}}`, `{"placement":{` + names + `}}`, `{"placement":{` + names + `,"replicaScheduling":null}}`, nil},
		{"what is sent with another value is meant", `{"placement":{` + names + `}}`, `{"placement":{"clusterAffinity":{"clusterNames":["m3"]}}}`, `{"placement":{"clusterAffinity":{"clusterNames":["m3"]}}}`, nil},
		{"the instance puts defaults back", `{"schedulerName":"default","placement":{"clusterTolerations":[{"key":"a"}]}}`, `{"schedulerName":"default","placement":{"clusterTolerations":[{"key":"a"}]}}`, `{"placement":{}}`, nil},
		{"it was empty before", `{"placement":{"spreadConstraints":[]},"suspension":{}}`, `{"placement":{}}`, `{"placement":{}}`, nil},
		{"the whole spec", `{"placement":{` + split + `},"propagateDeps":true}`, `{}`, `{}`, []string{"input.spec.placement", "input.spec.propagateDeps"}},
		{"a field deep inside", `{"placement":{` + split + `}}`, `{"placement":{"replicaScheduling":{"replicaSchedulingType":"Divided"}}}`, `{"placement":{"replicaScheduling":{"replicaSchedulingType":"DIVIDED"}}}`, []string{"input.spec.placement.replicaScheduling.weightPreference"}},
		{
			"a field of an item", `{"overrideRules":[{"targetCluster":{"clusterNames":["m2"]},"overriders":{"imageOverrider":[{"value":"1"}]}}]}`,
			`{"overrideRules":[{"overriders":{"imageOverrider":[{"value":"1"}]}}]}`, `{"overrideRules":[{"overriders":{"imageOverrider":[{"value":"1"}]}}]}`,
			[]string{"input.spec.overrideRules[0].targetCluster"},
		},
		{"an item that goes is meant: the list was sent", `{"overrideRules":[{"targetCluster":{"clusterNames":["m2"]}},{"overriders":{"a":1}}]}`, `{"overrideRules":[{"overriders":{"a":1}}]}`, `{"overrideRules":[{"overriders":{"a":1}}]}`, nil},
		{"items in another order", `{"resourceSelectors":[{"kind":"A","name":"x"},{"kind":"B"}]}`, `{"resourceSelectors":[{"kind":"B"},{"kind":"A","name":"x"}]}`, `{"resourceSelectors":[{"kind":"B"},{"kind":"A","name":"x"}]}`, nil},
		{
			"labels are a list in GraphQL, and sent as a whole", `{"resourceSelectors":[{"kind":"A","labelSelector":{"matchLabels":{"a":"1","b":"2"}}}]}`, `{"resourceSelectors":[{"kind":"A","labelSelector":{"matchLabels":{"a":"1"}}}]}`,
			`{"resourceSelectors":[{"kind":"A","labelSelector":{"matchLabels":[{"key":"a","value":"1"}]}}]}`, nil,
		},
		{"what Kairship does not know cannot be sent", `{"placement":{},"newer":{"x":1}}`, `{"placement":{}}`, `{"placement":{}}`, []string{"input.spec.newer"}},
	} {
		var got []string
		for _, w := range notKept(document(t, tt.before), document(t, tt.after), document(t, tt.sent)) {
			got = append(got, w.Argument)
			if w.Code != write.WarningFieldNotKept || !strings.Contains(w.Message, strings.TrimPrefix(w.Argument, "input.")) {
				t.Errorf("%s: %+v", tt.reason, w)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}

// A warning shows what was there, cut where it is long, and what is there instead.
func TestNotKeptShowsValues(t *testing.T) {
	long := `"` + strings.Repeat("é", 3*mostShown) + `"`
	warnings := notKept(document(t, `{"priority":5,"schedulerName":`+long+`}`), document(t, `{"priority":0}`), map[string]any{})
	if len(warnings) != 2 || !strings.Contains(warnings[0].Message, "is 5, so that the update sets it to 0") {
		t.Fatalf("%+v", warnings)
	}
	if m := warnings[1].Message; strings.Count(m, "é") != mostShown-1 || !strings.Contains(m, "removes it") {
		t.Errorf("%s", m)
	}
	// Without a spec in the input nothing is replaced, and without knowing what was sent nothing is claimed.
	if got := notKept(document(t, `{"priority":5}`), map[string]any{}, nil); got != nil {
		t.Errorf("%+v", got)
	}
}
