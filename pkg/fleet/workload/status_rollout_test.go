package workload

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestRollout(t *testing.T) {
	status := func(ready, available, updated, replicas int, conditions string) string {
		return fmt.Sprintf(`"spec":{"replicas":4},"status":{"observedGeneration":5,"readyReplicas":%d,"availableReplicas":%d,`+
			`"updatedReplicas":%d,"replicas":%d,"conditions":[%s]}`, ready, available, updated, replicas, conditions)
	}
	const complete = `{"type":"Progressing","status":"True","reason":"NewReplicaSetAvailable"}`
	on := func(specAndStatus string) func(*testing.T) Facts {
		return func(t *testing.T) Facts {
			in := facts(KindDeployment, "m1").object(t, "m1", 2, specAndStatus)
			in.Binding.Spec.Clusters[0].Replicas = 4
			in.Binding.Spec.Replicas, in.Template.Spec.Replicas = 4, ptr32(4)
			return in
		}
	}
	checkRules(t, []ruleCase{
		{
			reason: "everything that was asked for runs",
			in:     on(status(4, 4, 4, 4, complete)),
			counts: ReplicaCounts{4, 4, 4, 4}, health: HealthHealthy,
		},
		{
			reason: "the member's object is derived from an earlier template: the binding says what is asked for now",
			in: func(t *testing.T) Facts {
				return facts(KindDeployment, "m1").object(t, "m1", 1, status(4, 4, 4, 4, complete))
			},
			counts: ReplicaCounts{2, 4, 4, 4}, health: HealthProgressing, message: "m1: the latest change has not reached the cluster yet",
		},
		{
			reason: "replicas are left to the member: its own spec counts whatever it is derived from",
			in: func(t *testing.T) Facts {
				in := facts(KindDeployment, "m1").object(t, "m1", 1, status(4, 4, 4, 4, complete))
				in.Template.Labels = map[string]string{"resourcetemplate.karmada.io/retain-replicas": "true"}
				return in
			},
			counts: ReplicaCounts{4, 4, 4, 4}, health: HealthProgressing, message: "m1: the latest change has not reached the cluster yet",
		},
		{
			reason: "the template's change came before the division of its replicas: for a moment as many run as are asked for now",
			in: func(t *testing.T) Facts {
				in := on(status(2, 2, 2, 2, complete))(t)
				in.Binding.Spec.Clusters[0].Replicas = 2
				return in
			},
			counts: ReplicaCounts{2, 2, 2, 2}, health: HealthProgressing, message: "m1: the change to 2 replicas has not reached the cluster yet",
		},
		{
			reason: "the member's controller has not looked at the last change",
			in:     on(`"spec":{"replicas":4},"status":{"observedGeneration":4,"readyReplicas":2,"availableReplicas":2,"updatedReplicas":2}`),
			counts: ReplicaCounts{4, 2, 2, 2}, health: HealthProgressing, message: "m1: the cluster has not acted on the latest change yet",
		},
		{
			reason: "replicas of the new template are still to be made",
			in:     on(status(4, 4, 1, 5, `{"type":"Progressing","status":"True","reason":"ReplicaSetUpdated"}`)),
			counts: ReplicaCounts{4, 4, 4, 1}, health: HealthProgressing, message: "m1: 1 of 4 replicas updated",
		},
		{
			reason: "they are made, and not available yet",
			in:     on(status(3, 3, 4, 4, `{"type":"Progressing","status":"True","reason":"ReplicaSetUpdated"}`)),
			counts: ReplicaCounts{4, 3, 3, 4}, health: HealthProgressing, message: "m1: 3 of 4 replicas available",
		},
		{
			reason: "the old ones are still to go",
			in:     on(status(4, 4, 4, 5, complete)),
			counts: ReplicaCounts{4, 4, 4, 4}, health: HealthProgressing, message: "m1: 1 surplus replicas are still to go",
		},
		{
			reason: "one replica less after a complete rollout is within what the Deployment allows",
			in:     on(status(3, 3, 4, 4, complete+`,{"type":"Available","status":"True","reason":"MinimumReplicasAvailable"}`)),
			counts: ReplicaCounts{4, 3, 3, 4}, health: HealthProgressing, message: "m1: 3 of 4 replicas available",
		},
		{
			reason: "fewer than it allows after a complete rollout is a loss",
			in: on(status(1, 1, 4, 4, complete+`,{"type":"Available","status":"False","reason":"MinimumReplicasUnavailable",`+
				`"message":"Deployment does not have minimum availability."}`)),
			counts: ReplicaCounts{4, 1, 1, 4}, health: HealthDegraded,
			message: "m1: only 1 of 4 replicas are available: MinimumReplicasUnavailable: Deployment does not have minimum availability.",
		},
		{
			reason: "fewer than it allows during a rollout is what a rollout looks like",
			in: on(status(0, 0, 4, 4, `{"type":"Progressing","status":"True","reason":"ReplicaSetUpdated"},`+
				`{"type":"Available","status":"False","reason":"MinimumReplicasUnavailable"}`)),
			counts: ReplicaCounts{4, 0, 0, 4}, health: HealthProgressing, message: "m1: 0 of 4 replicas available",
		},
		{
			reason: "the rollout ran out of time",
			in:     on(status(3, 3, 1, 4, `{"type":"Progressing","status":"False","reason":"ProgressDeadlineExceeded","message":"timed out"}`)),
			counts: ReplicaCounts{4, 3, 3, 1}, health: HealthDegraded, message: "m1: the rollout failed: ProgressDeadlineExceeded: timed out",
		},
		{
			reason: "the member refuses to make replicas",
			in:     on(status(0, 0, 0, 0, `{"type":"ReplicaFailure","status":"True","reason":"FailedCreate","message":"exceeded quota"}`)),
			counts: ReplicaCounts{Desired: 4}, health: HealthDegraded, message: "m1: replicas can't be created: FailedCreate: exceeded quota",
		},
		{
			reason: "a paused rollout reports that it is paused",
			in: func(t *testing.T) Facts {
				in := on(status(4, 4, 1, 4, `{"type":"Progressing","status":"Unknown","reason":"DeploymentPaused"}`))(t)
				in.Template.Spec.Paused, in.Objects["m1"].Spec.Paused = true, true
				return in
			},
			counts: ReplicaCounts{4, 4, 4, 1}, health: HealthProgressing, message: "m1: the rollout is paused with 1 of 4 replicas updated",
		},
		{
			reason: "a paused Deployment with nothing to roll out is well",
			in: func(t *testing.T) Facts {
				in := on(status(4, 4, 4, 4, complete))(t)
				in.Template.Spec.Paused, in.Objects["m1"].Spec.Paused = true, true
				return in
			},
			counts: ReplicaCounts{4, 4, 4, 4}, health: HealthHealthy, message: "m1: rollouts are paused",
		},
		{
			reason: "collection from the member is broken: what Karmada aggregated is newer than the object",
			in: func(t *testing.T) Facts {
				in := facts(KindDeployment, "m1").report("m1", good).object(t, "m1", 2, status(0, 0, 0, 0, ""))
				in.Members["m1"] = Member{Ready: metav1.ConditionTrue, CollectionStale: true}
				return in
			},
			counts: ReplicaCounts{2, 2, 2, 2}, health: HealthHealthy,
		},
		{
			reason: "scaled to zero is a state like any other",
			in: func(t *testing.T) Facts {
				in := facts(KindDeployment, "m1").object(t, "m1", 2, `"spec":{"replicas":0},"status":{"observedGeneration":5,"conditions":[`+complete+`]}`)
				in.Binding.Spec.Clusters[0].Replicas = 0
				in.Binding.Spec.Replicas, in.Template.Spec.Replicas = 0, ptr32(0)
				return in
			},
			health: HealthHealthy,
		},
		{
			reason: "a DaemonSet of which the member has not counted its nodes",
			in: func(t *testing.T) Facts {
				return facts(KindDaemonSet, "m1").object(t, "m1", 2, `"status":{"desiredNumberScheduled":0}`)
			},
			health: HealthProgressing, message: "m1: the cluster has not counted its nodes for it yet",
		},
		{
			reason: "a DaemonSet that no node matches is where it should be",
			in: func(t *testing.T) Facts {
				return facts(KindDaemonSet, "m1").object(t, "m1", 2, `"status":{"observedGeneration":5,"desiredNumberScheduled":0}`)
			},
			health: HealthHealthy,
		},
		{
			reason: "a DaemonSet wants what its member says, not what the binding says",
			in: func(*testing.T) Facts {
				return facts(KindDaemonSet, "m1").report("m1",
					`{"generation":1,"observedGeneration":1,"resourceTemplateGeneration":2,"desiredNumberScheduled":3,"numberReady":2,"numberAvailable":1,"updatedNumberScheduled":3}`)
			},
			counts: ReplicaCounts{3, 2, 1, 3}, health: HealthProgressing, message: "m1: 1 of 3 replicas available",
		},
	})
}
