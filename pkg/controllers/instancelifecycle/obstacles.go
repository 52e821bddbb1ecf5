package instancelifecycle

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kairship-io/kairship/internal/excerpt"
)

// obstaclesShown is how many obstacles a message has: one usually is the cause of the others.
const obstaclesShown = 2

// obstacleLength is how long the words of the host about one may be.
const obstacleLength = 300

// obstacles says why components do not start on the host, and what to do, in the words of its kubelet, scheduler
// and quotas. It returns nothing where the host reports none.
func obstacles(instance string, pods []corev1.Pod, events []corev1.Event) string {
	var found []string
	for i := range pods {
		if text := obstacleOf(&pods[i]); text != "" {
			found = append(found, shortName(pods[i].Name, instance)+" "+text)
		}
	}
	// The last word about each object that has no pods to look at.
	refused := map[string]corev1.Event{}
	for _, e := range events {
		if e.Reason == "FailedCreate" && !refused[e.InvolvedObject.Name].LastTimestamp.After(e.LastTimestamp.Time) {
			refused[e.InvolvedObject.Name] = e
		}
	}
	for name, e := range refused {
		if !hasPods(name, pods) {
			found = append(found, fmt.Sprintf("%s has no pod: %s (change what refuses it on the host, such as a quota)", shortName(name, instance), excerpt.Of(e.Message, obstacleLength)))
		}
	}
	if len(found) == 0 {
		return ""
	}
	slices.Sort(found)
	more := ""
	if len(found) > obstaclesShown {
		more = fmt.Sprintf("; and %d more", len(found)-obstaclesShown)
	}
	return "Not started: " + strings.Join(found[:min(len(found), obstaclesShown)], "; ") + more + "."
}

// obstacleOf is what keeps a pod from running.
func obstacleOf(pod *corev1.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return fmt.Sprintf("is on no node: %s (give the host room or the volume that it asks for)", excerpt.Of(c.Message, obstacleLength))
		}
	}
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		waiting := c.State.Waiting
		if waiting == nil {
			continue
		}
		switch waiting.Reason {
		case "ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName":
			return fmt.Sprintf("cannot have the image %s (put it there, or change imageRegistry or karmadaVersion)", c.Image)
		case "CrashLoopBackOff":
			return fmt.Sprintf("ends again and again after its start (see the log of pod %s in namespace %s of the host)", pod.Name, pod.Namespace)
		case "CreateContainerConfigError", "CreateContainerError", "RunContainerError":
			return fmt.Sprintf("cannot be started: %s: %s", waiting.Reason, excerpt.Of(waiting.Message, obstacleLength))
		}
	}
	return ""
}

// hasPods reports whether there is a pod of the object of that name: pods have its name in front.
func hasPods(name string, pods []corev1.Pod) bool {
	return slices.ContainsFunc(pods, func(p corev1.Pod) bool { return strings.HasPrefix(p.Name, name) })
}

// shortName leaves out what all names of an instance begin with.
func shortName(name, instance string) string {
	return strings.TrimPrefix(strings.TrimPrefix(name, instance+"-"), "karmada-")
}
