package karmadaresource

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/kairship-io/kairship/pkg/fleet/fleettest"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/index"
)

// made makes an object of one kind of its spec and status in YAML.
func made[T any](t *testing.T, of index.Type, m maker[T], namespace, body string) *T {
	t.Helper()
	row := fleettest.Row(of, "k-alpha", namespace, "web")
	if err := yaml.Unmarshal([]byte(body), &row.Body); err != nil {
		t.Fatal(err)
	}
	one, err := m("alpha", fleettest.Object(t, row, index.Whole), freshness.Freshness{})
	if err != nil {
		t.Fatal(err)
	}
	return one
}

func TestFederatedHPA(t *testing.T) {
	h := made(t, index.FederatedHPAs, decoded(newFederatedHPA), "shop", `
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  maxReplicas: 5
  metrics:
  - {type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}
  - {type: ContainerResource, containerResource: {name: cpu, container: side, target: {type: AverageValue, averageValue: 500m}}}
  - {type: Pods, pods: {metric: {name: requests}, target: {type: AverageValue, averageValue: "9"}}}
  - {type: Object, object: {metric: {name: requests}, describedObject: {kind: Ingress, name: a}, target: {type: Value, value: "1"}}}
  - {type: Later}
status:
  currentReplicas: 2
  desiredReplicas: 3
  lastScaleTime: "2026-01-02T03:04:05Z"
  currentMetrics:
  - {type: Object, object: {metric: {name: requests}, describedObject: {kind: Ingress, name: b}, current: {value: "7"}}}
  - {type: ContainerResource, containerResource: {name: cpu, container: main, current: {averageValue: 300m}}}
  - {type: Resource, resource: {name: cpu, current: {averageUtilization: 93}}}
  conditions:
  - {type: AbleToScale, status: "True", reason: ReadyForNewScale}
`)
	var got []string
	for _, m := range h.Metrics() {
		seen := "none"
		if m.Current != nil {
			seen = "seen"
			if m.Current.AverageUtilization == nil || *m.Current.AverageUtilization != 93 {
				t.Errorf("%s has the value of another metric", m.Name)
			}
		}
		got = append(got, strings.Join([]string{string(m.Type), m.Name, container(m), seen}, " "))
	}
	// A metric of another object or container is another metric; one of an unknown type is in the spec.
	want := []string{"Resource cpu  seen", "ContainerResource cpu side none", "Pods requests  none", "Object requests  none"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
	if h.CurrentReplicas() != 2 || h.DesiredReplicas() != 3 || h.LastScaleTime().Minute() != 4 {
		t.Errorf("%d, %d, %v", h.CurrentReplicas(), h.DesiredReplicas(), h.LastScaleTime())
	}
	if diff := cmp.Diff([]object.Condition{{Type: "AbleToScale", Status: "True", Reason: "ReadyForNewScale"}}, h.Conditions()); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
}

func TestTarget(t *testing.T) {
	web := workload.Named{Instance: "alpha", Kind: workload.KindDeployment, Namespace: "shop", Name: "web"}
	for _, tt := range []struct {
		ref  string
		want bool
		why  string
	}{
		{`{apiVersion: apps/v1, kind: Deployment, name: web}`, true, "a workload"},
		{`{apiVersion: apps/v1beta1, kind: Deployment, name: web}`, true, "the kind means the same in every version"},
		{`{apiVersion: autoscaling.karmada.io/v1alpha1, kind: FederatedHPA, name: web}`, false, "no workload"},
		{`{apiVersion: extensions/v1, kind: Deployment, name: web}`, false, "a kind of that name of another group"},
		{`{apiVersion: a/b/c, kind: Deployment, name: web}`, false, "no group and version"},
		{`{apiVersion: apps/v1, kind: Deployment, name: ""}`, false, "no name"},
	} {
		c := made(t, index.CronFederatedHPAs, decoded(newCronFederatedHPA), "shop", "spec: {scaleTargetRef: "+tt.ref+"}")
		got, ok := c.Target()
		if ok != tt.want || ok && got != web {
			t.Errorf("%s: %+v, %t: %s", tt.ref, got, ok, tt.why)
		}
		if all := TargetsOf([]*index.Object{c.Indexed, c.Indexed}); (len(all) == 1) != tt.want {
			t.Errorf("%s: read ahead %v", tt.ref, all)
		}
	}
	custom := made(t, index.CronFederatedHPAs, decoded(newCronFederatedHPA), "shop", "spec: {scaleTargetRef: {apiVersion: argoproj.io/v1, kind: Rollout, name: web}}")
	if got, ok := custom.Target(); !ok || got.Kind != "Rollout.argoproj.io" || got.Name != "web" {
		t.Errorf("of a custom workload: %+v, %t", got, ok)
	}
}

func TestExecutionHistories(t *testing.T) {
	c := made(t, index.CronFederatedHPAs, decoded(newCronFederatedHPA), "shop", `
status:
  executionHistories:
  - ruleName: night
    nextExecutionTime: "2026-01-03T22:00:00Z"
    successfulExecutions:
    - {scheduleTime: "2026-01-01T22:00:00Z", executionTime: "2026-01-01T22:00:01Z", appliedReplicas: 2}
    - {scheduleTime: "2026-01-02T22:00:00Z", executionTime: "2026-01-02T22:00:01Z", appliedReplicas: 2}
    failedExecutions:
    - {scheduleTime: "2026-01-02T23:00:00Z", executionTime: "2026-01-02T23:00:01Z", message: no such workload}
  - ruleName: idle
`)
	all := c.ExecutionHistories()
	night, idle := all[0], all[1]
	if night.LastExecutionTime.Hour() != 23 || night.SuccessfulExecutions[0].ExecutionTime.Day() != 2 || night.FailedExecutions[0].Message != "no such workload" {
		t.Errorf("%+v", night)
	}
	if idle.LastExecutionTime != nil || idle.NextExecutionTime != nil || idle.SuccessfulExecutions == nil || idle.FailedExecutions == nil {
		t.Errorf("a rule that did nothing: %+v", idle)
	}
}

func TestFederatedResourceQuota(t *testing.T) {
	q := made(t, index.FederatedResourceQuotas, decoded(newFederatedResourceQuota), "shop", `
spec: {overall: {cpu: "10", memory: 1Gi}}
status:
  overall: {cpu: "10", memory: 1Gi}
  overallUsed: {cpu: 2500m, pods: "3"}
  aggregatedStatus:
  - {clusterName: m1, hard: {cpu: "4"}, used: {cpu: "1"}}
`)
	// What is limited and what is used are joined by name.
	want := []QuotaUse{{"cpu", new("10"), new("2500m")}, {"memory", new("1Gi"), nil}, {"pods", nil, new("3")}}
	if diff := cmp.Diff(want, q.Overall()); diff != "" {
		t.Errorf("overall (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]ClusterQuota{{"m1", []QuotaUse{{"cpu", new("4"), new("1")}}}}, q.Clusters()); diff != "" {
		t.Errorf("clusters (-want +got):\n%s", diff)
	}
	if got := Quantities(q.Spec().Overall); len(got) != 2 || got[0].Name != "cpu" || got[1].Quantity.String() != "1Gi" {
		t.Errorf("the spec has %v", got)
	}
	if again := q.Overall(); len(again) != 3 {
		t.Errorf("looking at it changed it: %v", again)
	}
}

func TestOthers(t *testing.T) {
	r := made(t, index.WorkloadRebalancers, decoded(newWorkloadRebalancer), "", `
status:
  finishTime: "2026-01-02T03:04:05Z"
  observedWorkloads:
  - {workload: {apiVersion: apps/v1, kind: Deployment, name: web, namespace: shop}, result: Successful}
  - {workload: {apiVersion: v1, kind: Namespace, name: x}, result: Failed, reason: ReferencedBindingNotFound}
  - {workload: {apiVersion: v1, kind: Namespace, name: z}}
`)
	want := []RebalancedWorkload{
		{"apps/v1", "Deployment", "web", new("shop"), "Successful", nil},
		{"v1", "Namespace", "x", nil, "Failed", new("ReferencedBindingNotFound")},
		{"v1", "Namespace", "z", nil, "", nil},
	}
	if diff := cmp.Diff(want, r.ObservedWorkloads()); diff != "" || r.FinishTime() == nil || r.NamespaceOrNil() != nil {
		t.Errorf("(-want +got):\n%s", diff)
	}
	m := made(t, index.MultiClusterServices, decoded(newMultiClusterService), "shop", `
status:
  loadBalancer: {ingress: [{ip: 192.0.2.1}, {hostname: lb.example.com}]}
  conditions: [{type: EndpointSliceDispatched, status: "True", reason: Done, message: ""}]
`)
	if diff := cmp.Diff([]LoadBalancerIngress{{new("192.0.2.1"), nil}, {nil, new("lb.example.com")}}, m.LoadBalancerIngress()); diff != "" || len(m.Conditions()) != 1 {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, want := NamesOf([]*index.Object{m.Indexed, r.Indexed}), []object.Name{{Instance: "alpha", Namespace: "shop", Name: "web"}, {Instance: "alpha", Name: "web"}}; !cmp.Equal(got, want) {
		t.Errorf("names %v", got)
	}
}
