package workload

import (
	"testing"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
)

func TestJobs(t *testing.T) {
	job := func(t *testing.T, spec string) Facts {
		t.Helper()
		in := facts(KindJob, "m1")
		template, err := parseObject([]byte(`{"metadata":{"generation":2},"spec":` + spec + `}`))
		if err != nil {
			t.Fatal(err)
		}
		template.Annotations = in.Template.Annotations
		in.Template = template
		return in
	}
	checkRules(t, []ruleCase{
		{
			reason: "running: what succeeded is ready, what is active is updated too",
			in: func(t *testing.T) Facts {
				return job(t, `{"completions":5,"parallelism":2}`).report("m1", `{"active":2,"succeeded":1,"failed":1}`)
			},
			counts: ReplicaCounts{5, 1, 1, 3}, health: HealthProgressing, message: "m1: 1 of 5 completions, 2 pods active, 1 failed",
		},
		{
			reason: "complete",
			in: func(t *testing.T) Facts {
				return job(t, `{"completions":5}`).report("m1", `{"succeeded":5,"conditions":[{"type":"Complete","status":"True"}]}`)
			},
			counts: ReplicaCounts{5, 5, 5, 5}, health: HealthHealthy, message: "m1: completed",
		},
		{
			reason: "failed for good",
			in: func(t *testing.T) Facts {
				return job(t, `{"completions":5}`).report("m1",
					`{"succeeded":2,"failed":3,"conditions":[{"type":"Failed","status":"True","reason":"BackoffLimitExceeded","message":"too many"}]}`)
			},
			counts: ReplicaCounts{5, 2, 2, 2}, health: HealthDegraded, message: "m1: the Job failed: BackoffLimitExceeded: too many",
		},
		{
			reason: "suspended, as it was asked to be",
			in: func(t *testing.T) Facts {
				return job(t, `{"completions":5,"suspend":true}`).report("m1", `{"conditions":[{"type":"Suspended","status":"True"}]}`)
			},
			counts: ReplicaCounts{Desired: 5}, health: HealthHealthy, message: "m1: the Job is suspended",
		},
		{
			reason: "a work queue wants as many as run side by side",
			in: func(t *testing.T) Facts {
				return job(t, `{"parallelism":3}`).report("m1", `{"active":3}`)
			},
			counts: ReplicaCounts{3, 0, 0, 3}, health: HealthProgressing, message: "m1: 0 of 3 completions, 3 pods active",
		},
		{
			reason: "a Job that says neither runs one pod",
			in:     func(t *testing.T) Facts { return job(t, `{}`).report("m1", `{"active":1}`) },
			counts: ReplicaCounts{1, 0, 0, 1}, health: HealthProgressing, message: "m1: 0 of 1 completions, 1 pods active",
		},
		{
			reason: "divided: the whole is known, the share of each cluster only from the cluster",
			in: func(t *testing.T) Facts {
				in := facts(KindJob, "m1", "m2")
				in.Template = job(t, `{"completions":5}`).Template
				in.Binding.Spec.Placement = &policyv1alpha1.Placement{ReplicaScheduling: &policyv1alpha1.ReplicaSchedulingStrategy{
					ReplicaSchedulingType: policyv1alpha1.ReplicaSchedulingTypeDivided}}
				return in.report("m1", `{"active":1}`).object(t, "m2", 2, `"spec":{"completions":2},"status":{"active":1}`)
			},
			counts: ReplicaCounts{5, 0, 0, 2}, health: HealthProgressing,
			message: "m1: 0 of ? completions, 1 pods active; m2: 0 of 2 completions, 1 pods active",
		},
		{
			reason: "duplicated: each cluster does it all",
			in: func(t *testing.T) Facts {
				in := facts(KindJob, "m1", "m2")
				in.Template = job(t, `{"completions":5}`).Template
				return in.report("m1", `{"active":1}`).report("m2", `{"active":1}`)
			},
			counts: ReplicaCounts{10, 0, 0, 2}, health: HealthProgressing, message: "m1, m2: 0 of 5 completions, 1 pods active",
		},
	})
}

func TestCronJobs(t *testing.T) {
	cron := func(suspended bool, status string) func(*testing.T) Facts {
		return func(*testing.T) Facts {
			in := facts(KindCronJob, "m1")
			in.Template.Spec.Suspend = suspended
			if status == "" {
				return in
			}
			return in.report("m1", status)
		}
	}
	checkRules(t, []ruleCase{
		{
			reason: "never ran; Karmada does not aggregate an empty status", in: cron(false, ""),
			health: HealthHealthy, message: "m1: has not run yet",
		},
		{
			reason: "runs now: active is a list here", in: cron(false, `{"active":[{"name":"a"},{"name":"b"}],"lastScheduleTime":"2026-01-02T03:00:00Z"}`),
			health: HealthHealthy, message: "m1: 2 runs active",
		},
		{
			reason: "the last run succeeded, which it did after it was scheduled",
			in:     cron(false, `{"lastScheduleTime":"2026-01-02T03:00:00Z","lastSuccessfulTime":"2026-01-02T03:00:09Z"}`),
			health: HealthHealthy, message: "m1: last run succeeded at 2026-01-02T03:00:09Z",
		},
		{
			reason: "the last run did not succeed, an earlier one did",
			in:     cron(false, `{"lastScheduleTime":"2026-01-02T04:00:00Z","lastSuccessfulTime":"2026-01-02T03:00:09Z"}`),
			health: HealthDegraded, message: "m1: the last run, scheduled for 2026-01-02T04:00:00Z, did not succeed",
		},
		{
			reason: "no run ever succeeded", in: cron(false, `{"lastScheduleTime":"2026-01-02T04:00:00Z"}`),
			health: HealthDegraded, message: "m1: the last run, scheduled for 2026-01-02T04:00:00Z, did not succeed",
		},
		{
			reason: "suspended, as it was asked to be", in: cron(true, `{"lastScheduleTime":"2026-01-02T03:00:00Z","lastSuccessfulTime":"2026-01-02T03:00:09Z"}`),
			health: HealthHealthy, message: "m1: the CronJob is suspended; last run succeeded at 2026-01-02T03:00:09Z",
		},
		{
			reason: "suspension does not make a failure undone", in: cron(true, `{"lastScheduleTime":"2026-01-02T04:00:00Z"}`),
			health: HealthDegraded, message: "m1: the CronJob is suspended; the last run, scheduled for 2026-01-02T04:00:00Z, did not succeed",
		},
	})
}
