package instancelifecycle

import (
	"context"
	"fmt"
	"strings"

	operatorv1alpha1 "github.com/karmada-io/karmada/operator/pkg/apis/operator/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/internal/excerpt"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/internal/phase"
)

// The reasons of the operator's condition Ready.
const (
	operatorProgressing = "Progressing"
	operatorFailed      = "Failed"
	operatorRejects     = "ValidationError"
)

// operatorKubeconfigKey is the key of the Secret that the operator publishes.
const operatorKubeconfigKey = "karmada.config"

// follow says in the Instance's status how far the operator has got.
func (r *Reconciler) follow(ctx context.Context, s *scope) error {
	before := s.installed()
	found := judge(s.karmada, before, s.instance)
	if found.KubeconfigSecretRef != nil {
		s.after.KubeconfigSecretRef = found.KubeconfigSecretRef
	}
	condition := found.Condition
	if found.AtWork {
		condition.Message = join(condition.Message, r.progress(ctx, s))
	}
	condition.Message = join(condition.Message, s.concern)
	s.tell(condition)
	if condition.Status == metav1.ConditionTrue && (before == nil || before.Status != metav1.ConditionTrue) && s.instance.Status.KubeconfigSecretRef == nil {
		r.Metrics.installationSeconds.Observe(r.Now().Sub(s.instance.CreationTimestamp.Time).Seconds())
	}
	switch {
	case found.AtWork && found.Failed:
		return &phase.Stop{Condition: condition, Retry: whileFailing}
	case found.AtWork:
		return &phase.Stop{Condition: condition, Retry: whileAtWork}
	}
	return nil
}

// join joins two sentences, either of which may be missing.
func join(first, second string) string { return strings.TrimSpace(first + " " + second) }

// finding is what a Karmada says.
type finding struct {
	Condition metav1.Condition
	// KubeconfigSecretRef is where the operator has put the kubeconfig; nil before.
	KubeconfigSecretRef *v1alpha1.SecretKeyReference
	// AtWork reports whether how far the operator has got may change without a word from it.
	AtWork bool
	// Failed reports whether it failed the last time.
	Failed bool
}

// judge converts the operator's report about a Karmada into the condition Installed. It depends on
// the previous condition: the operator forgets what failed as soon as it tries again, which it does
// forever.
func judge(karmada *operatorv1alpha1.Karmada, before *metav1.Condition, instance *v1alpha1.Instance) finding {
	var found finding
	if ref := karmada.Status.SecretRef; ref != nil && ref.Name != "" {
		found.KubeconfigSecretRef = &v1alpha1.SecretKeyReference{
			SecretReference: v1alpha1.SecretReference{Namespace: ref.Namespace, Name: ref.Name}, Key: operatorKubeconfigKey,
		}
	}
	name := fmt.Sprintf("Karmada %s/%s", karmada.Namespace, karmada.Name)
	// A change is an update only of what was installed once.
	working, failed := v1alpha1.ReasonInstalling, v1alpha1.ReasonInstallationFailed
	if instance.Status.KubeconfigSecretRef != nil || found.KubeconfigSecretRef != nil {
		working, failed = v1alpha1.ReasonUpdating, v1alpha1.ReasonUpdateFailed
	}

	ready := meta.FindStatusCondition(karmada.Status.Conditions, string(operatorv1alpha1.Ready))
	switch {
	case ready == nil:
		found.Condition = v1alpha1.InstalledUnknown(v1alpha1.ReasonPending,
			fmt.Sprintf("The operator has not begun with %s. If that lasts, see whether it runs.", name))
	case ready.Reason == operatorRejects: // It says so once, also of what is changed and no better.
		found.Condition = v1alpha1.NotInstalled(v1alpha1.ReasonRejectedByOperator, fmt.Sprintf("The operator does not accept %s: %s", name, sentence(excerpt.Of(ready.Message, mostOfOperator))))
	case karmada.Annotations[judgedAnnotation] != "" && karmada.Annotations[judgedAnnotation] == judged(karmada):
		found.Condition = v1alpha1.NotInstalled(working,
			fmt.Sprintf("The operator has not taken up the last change of %s. If that lasts, see whether it runs.", name))
	case ready.Status == metav1.ConditionTrue && found.KubeconfigSecretRef == nil:
		found.Condition = v1alpha1.NotInstalled(working, fmt.Sprintf("The operator says that %s is ready, but not where its kubeconfig is.", name))
	case ready.Status == metav1.ConditionTrue:
		message := fmt.Sprintf("The operator has installed %s on cluster %q.", name, instance.Spec.HostCluster)
		if !instance.Spec.Components.KeepsData() {
			message += " Its etcd has no volume: everything in it is lost with the pod of etcd, which an operator of another version makes anew."
		}
		found.Condition = v1alpha1.Installed(message)
	case ready.Reason == operatorFailed:
		found.AtWork, found.Failed = true, true
		found.Condition = v1alpha1.NotInstalled(failed, fmt.Sprintf("The operator failed, and will try again: %s", sentence(excerpt.Of(ready.Message, mostOfOperator))))
	default:
		found.AtWork = true
		found.Condition = v1alpha1.NotInstalled(working, fmt.Sprintf("The operator is at work on %s (%s).", name, progressing(ready)))
		if before != nil && before.Reason == failed && before.ObservedGeneration == instance.Generation {
			// It tries again what failed before. Why it failed is what matters until it is
			// known to go better, and a status that alternates does not help.
			found.Failed = true
			found.Condition = v1alpha1.NotInstalled(failed, firstSentence(before.Message))
		}
	}
	return found
}

// progressing is what the operator reports about itself while it works.
func progressing(ready *metav1.Condition) string {
	if ready.Message == "" {
		return operatorProgressing
	}
	return excerpt.Of(ready.Message, mostOfOperator)
}

// mostOfOperator is how much of what the operator says a message has, in characters.
const mostOfOperator = 700

// sentence ends a text as a sentence does.
func sentence(text string) string {
	if strings.HasSuffix(text, ".") || strings.HasSuffix(text, "…") {
		return text
	}
	return text + "."
}

// firstSentence is a message without what was found in the host cluster then.
func firstSentence(message string) string {
	before, _, _ := strings.Cut(message, " "+progressBegins)
	return before
}
