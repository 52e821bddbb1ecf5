package explanation

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/pod"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
)

// mostPods is how many pods of a cluster are named.
const mostPods = 3

// run explains how the workload does in a cluster.
func (in *inputs) run(s *Step, p *place) {
	switch {
	case p.Stale && p.Applied:
		s.add(StateFailed, in.unobserved(p))
		return
	case p.Stale, p.unsent(), p.failure != "", p.workMissing():
		return
	case p.Health == workload.HealthHealthy:
		s.reach(StatePassed)
		return
	case !p.Applied && !p.Suspended:
		// The change has not reached the cluster. What ran there before is not what is asked about.
		return
	case p.pending != "" && p.pending == p.Message:
		s.reach(StatePassed)
		return
	}
	state := StateWaiting
	if p.Health == workload.HealthDegraded {
		state = StateFailed
	}
	code, since := in.rollout(p)
	s.add(state, inCluster(code, p.Cluster, p.Message))
	s.began(object.Time(since))
	s.Reasons = append(s.Reasons, in.pods(p.Cluster)...)
}

// rollout returns the code of what the object in a cluster reports, and since when it does.
func (in *inputs) rollout(p *place) (code Code, since metav1.Time) {
	o := in.Objects[p.Cluster]
	if o == nil || !o.BelongsTo(in.Status.BindingID) {
		if p.Ready == nil && in.Kind != workload.KindCronJob {
			return StatusPending, metav1.Time{}
		}
		o = &workload.Object{}
	}
	find := func(of string, status metav1.ConditionStatus) *workload.ObjectCondition {
		i := slices.IndexFunc(o.Status.Conditions, func(c workload.ObjectCondition) bool { return c.Type == of && c.Status == status })
		if i < 0 {
			return nil
		}
		return &o.Status.Conditions[i]
	}
	for _, sign := range []struct {
		condition string
		status    metav1.ConditionStatus
		code      Code
	}{
		{"ReplicaFailure", metav1.ConditionTrue, ReplicasNotCreated},
		{"Progressing", metav1.ConditionFalse, RolloutFailed},
		{"Failed", metav1.ConditionTrue, JobFailed},
		{"Available", metav1.ConditionFalse, ReplicasNotReady},
	} {
		c := find(sign.condition, sign.status)
		// While a rollout goes on, replicas that are not ready are no failure.
		if c != nil && (sign.code != ReplicasNotReady || p.Health == workload.HealthDegraded) {
			return sign.code, c.LastTransitionTime
		}
	}
	switch {
	case in.Kind == workload.KindCronJob && p.Health == workload.HealthDegraded:
		return CronJobRunFailed, metav1.Time{}
	case p.Health == workload.HealthDegraded:
		return RolloutFailed, metav1.Time{}
	}
	return RolloutProgressing, metav1.Time{}
}

// severity orders the codes of pods, the most telling first.
var severity = []Code{PodImage, PodCrashing, PodConfiguration, PodUnschedulable, PodFailed, PodNotReady, PodStarting}

// pods are the reasons of the pods in a cluster that are not as they should be.
func (in *inputs) pods(cluster string) []Reason {
	var all []Reason
	pods := in.Pods[cluster]
	for i := range pods {
		code, text := podReason(&pods[i])
		if code == "" {
			continue
		}
		r := inCluster(code, cluster, "pod "+pods[i].Name()+": "+text)
		r.Pod = &pods[i]
		all = append(all, r)
	}
	slices.SortStableFunc(all, func(a, b Reason) int {
		return cmp.Compare(slices.Index(severity, a.Code), slices.Index(severity, b.Code))
	})
	return few(all, mostPods, "pods")
}

// waitingCodes are what it means that a container waits for a reason.
var waitingCodes = map[string]Code{
	"CrashLoopBackOff": PodCrashing,
	"ErrImagePull":     PodImage, "ImagePullBackOff": PodImage, "InvalidImageName": PodImage, "ErrImageNeverPull": PodImage,
	"ImageInspectError": PodImage, "RegistryUnavailable": PodImage, "SignatureValidationFailed": PodImage,
	"CreateContainerConfigError": PodConfiguration, "CreateContainerError": PodConfiguration, "RunContainerError": PodConfiguration,
}

// podReason is what a pod is about; empty for one that is well, that has ended well, or that is leaving.
func podReason(p *pod.Pod) (Code, string) {
	if p.Deleting() || p.Ready() || p.Phase() == pod.PhaseSucceeded {
		return "", ""
	}
	containers, err := p.Containers()
	if err != nil {
		return "", "" // Its own fields say what is wrong with it.
	}
	if p.Phase() == pod.PhaseFailed {
		return PodFailed, cmp.Or(value(p.Message()), "it failed")
	}
	for i := range containers {
		c := &containers[i]
		code, known := waitingCodes[value(c.Reason)]
		switch {
		case c.State == pod.ContainerWaiting && known:
			return code, fmt.Sprintf("container %s: %s%s", c.Name, object.JoinReason(value(c.Reason), value(c.Message)), lastRun(c))
		case c.State == pod.ContainerTerminated && c.Termination.ExitCode != 0:
			return PodCrashing, fmt.Sprintf("container %s: %s, exit code %d", c.Name, object.JoinReason(value(c.Reason), value(c.Message)), c.Termination.ExitCode)
		}
	}
	return podCondition(p)
}

// podCondition returns what the conditions of a pod mean.
func podCondition(p *pod.Pod) (Code, string) {
	conditions, err := p.Conditions()
	if err != nil {
		return "", ""
	}
	say := func(of corev1.PodConditionType) (string, bool) {
		i := slices.IndexFunc(conditions, func(c object.Condition) bool {
			return c.Type == string(of) && c.Status == string(corev1.ConditionFalse)
		})
		if i < 0 {
			return "", false
		}
		return object.JoinReason(conditions[i].Reason, conditions[i].Message), true
	}
	if text, unscheduled := say(corev1.PodScheduled); unscheduled {
		return PodUnschedulable, text
	}
	if p.Phase() == pod.PhaseRunning {
		text, _ := say(corev1.PodReady)
		return PodNotReady, cmp.Or(text, "it runs and is not ready")
	}
	return PodStarting, cmp.Or(value(p.Message()), "it has not started yet")
}

// lastRun says how the last run of a container ended.
func lastRun(c *pod.Container) string {
	if c.LastTermination == nil {
		return ""
	}
	return fmt.Sprintf("; its last run ended with exit code %d%s", c.LastTermination.ExitCode, prefixed(", ", value(c.LastTermination.Reason)))
}

func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

func value(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
