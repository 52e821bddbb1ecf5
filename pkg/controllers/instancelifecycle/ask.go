package instancelifecycle

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	operatorv1alpha1 "github.com/karmada-io/karmada/operator/pkg/apis/operator/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/instancelifecycle/conversion"
	"github.com/kairship-io/kairship/pkg/controllers/internal/activity"
	"github.com/kairship-io/kairship/pkg/controllers/internal/phase"
	"github.com/kairship-io/kairship/pkg/extraargs"
	"github.com/kairship-io/kairship/pkg/projection"
)

// Annotations of a Karmada.
const (
	// appliedAnnotation is a digest of the spec that was applied last: it shows when a field has to
	// be removed, which the stored object cannot.
	appliedAnnotation = v1alpha1.GroupName + "/applied"
	// judgedAnnotation is the operator's judgement that the last change came after.
	// Until the operator writes another one, it is about the past: the operator
	// writes no observedGeneration.
	judgedAnnotation = v1alpha1.GroupName + "/judged-before-change"
)

// ask applies the Karmada of the Instance, unless exactly that was applied before. It does not
// apply components from sources or with arguments that are not permitted: the operator would run
// them on the host cluster.
func (r *Reconciler) ask(ctx context.Context, s *scope) error {
	if reason, refusal := r.refusal(s.instance.Spec.Components); refusal != "" {
		if s.karmada == nil {
			return &phase.Stop{Condition: v1alpha1.NotInstalled(reason, refusal)}
		}
		s.concern = join(s.concern, refusal+" Nothing is changed until then.")
		return nil
	}
	wanted, err := conversion.Object(conversion.Karmada(s.instance, s.host))
	if err != nil {
		return err
	}
	if s.cluster == nil && s.karmada != nil && s.karmada.Spec.HostCluster != nil {
		// The endpoint is unknown now, so the applied one stays.
		if err := unstructured.SetNestedField(wanted.Object, s.karmada.Spec.HostCluster.APIEndpoint, "spec", "hostCluster", "apiEndpoint"); err != nil {
			return err
		}
	}
	digest, err := digestOf(wanted)
	if err != nil {
		return err
	}
	stored := s.karmada
	if stored != nil {
		same, err := asked(stored, wanted, digest)
		if err != nil || same {
			return err
		}
	}
	var since string
	if stored != nil {
		since = judged(stored)
		// For this version only: a replica that was frozen must not undo what its
		// successor asked for.
		wanted.SetResourceVersion(stored.ResourceVersion)
	}
	applied, err := r.apply(ctx, wanted, digest, since)
	if err != nil {
		return err
	}
	if since != "" && applied.Generation == stored.Generation {
		// Nothing changed that the operator would look at: its judgement stands.
		wanted.SetResourceVersion(applied.ResourceVersion)
		if applied, err = r.apply(ctx, wanted, digest, ""); err != nil {
			return err
		}
	}
	if stored != nil && stored.Annotations[v1alpha1.RetainedAnnotation] != "" {
		patch := client.MergeFromWithOptions(applied.DeepCopy(), client.MergeFromWithOptimisticLock{})
		delete(applied.Annotations, v1alpha1.RetainedAnnotation)
		if err := r.Client.Patch(ctx, applied, patch); err != nil {
			return fmt.Errorf("take over the Karmada of instance %q: %w", s.instance.Name, err)
		}
	}
	// The answer to the write is newer than the cache.
	s.karmada = applied
	r.tellChange(s, stored)
	return nil
}

// refusal returns why components are not applied, and what to do; empty when they are. Instances
// are also written without the API, which refuses such arguments at once.
func (r *Reconciler) refusal(components *v1alpha1.InstanceComponents) (reason, message string) {
	if message := r.Sources.refusal(components); message != "" {
		return v1alpha1.ReasonSourceNotPermitted, message
	}
	if refused := extraargs.Refused(components); refused != nil {
		return v1alpha1.ReasonArgumentNotPermitted, fmt.Sprintf("An argument is not permitted (spec.components.%s.extraArgs): %s. Take it out.", refused.Component, refused.Message)
	}
	return "", ""
}

// apply writes what is wanted, and gives what is stored then.
func (r *Reconciler) apply(ctx context.Context, wanted *unstructured.Unstructured, digest, since string) (*operatorv1alpha1.Karmada, error) {
	annotations := map[string]string{appliedAnnotation: digest}
	if since != "" {
		annotations[judgedAnnotation] = since
	}
	object := wanted.DeepCopy()
	object.SetAnnotations(annotations)
	if err := r.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner(Name), client.ForceOwnership); err != nil {
		return nil, fmt.Errorf("apply the Karmada %s/%s: %w", wanted.GetNamespace(), wanted.GetName(), err)
	}
	applied := &operatorv1alpha1.Karmada{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, applied); err != nil {
		return nil, fmt.Errorf("read the Karmada %s/%s: %w", wanted.GetNamespace(), wanted.GetName(), err)
	}
	return applied, nil
}

func (r *Reconciler) tellChange(s *scope, stored *operatorv1alpha1.Karmada) {
	name := s.karmada.Namespace + "/" + s.karmada.Name
	switch {
	case stored == nil:
		r.Metrics.changes.WithLabelValues("created").Inc()
		r.record(s, projection.ActivityCreate)
		r.Recorder.Eventf(s.instance, nil, corev1.EventTypeNormal, "KarmadaCreated", "Manage", "Asked the operator to install Karmada %s on cluster %q", name, s.instance.Spec.HostCluster)
	case !s.owner.Owns(stored):
		r.Metrics.changes.WithLabelValues("taken-over").Inc()
		r.record(s, projection.ActivityApply)
		r.Recorder.Eventf(s.instance, nil, corev1.EventTypeNormal, "KarmadaTakenOver", "Manage", "Took over Karmada %s, which an earlier Instance of this name had retained", name)
	case stored.Generation != s.karmada.Generation:
		r.Metrics.changes.WithLabelValues("changed").Inc()
		r.record(s, projection.ActivityApply)
		r.Recorder.Eventf(s.instance, nil, corev1.EventTypeNormal, "KarmadaChanged", "Manage", "Asked the operator to change Karmada %s", name)
	}
}

// record records a change of the Karmada of an Instance, as of an object without a namespace: its own is none of the instance.
func (r *Reconciler) record(s *scope, verb projection.ActivityVerb) {
	karmada := &metav1.ObjectMeta{Name: s.instance.Name}
	r.Activity.Record(activity.InInstance(s.instance, verb, operatorv1alpha1.GroupName, "Karmada", karmada))
}

// asked reports whether the operator has been asked for exactly this.
func asked(stored *operatorv1alpha1.Karmada, wanted *unstructured.Unstructured, digest string) (bool, error) {
	if stored.Annotations[appliedAnnotation] != digest {
		return false, nil
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(stored)
	if err != nil {
		return false, fmt.Errorf("read the Karmada %s/%s: %w", stored.Namespace, stored.Name, err)
	}
	return covers(fields["spec"], wanted.Object["spec"]) && covers(fields["metadata"], map[string]any{"labels": asMap(wanted.GetLabels())}), nil
}

// covers reports whether everything that is wanted is there. What is there besides
// belongs to others, such as the operator's defaults.
func covers(there, wanted any) bool {
	fields, nested := wanted.(map[string]any)
	if !nested {
		return equality.Semantic.DeepEqual(there, wanted)
	}
	stored, _ := there.(map[string]any)
	for key, value := range fields {
		if !covers(stored[key], value) {
			return false
		}
	}
	return true
}

func asMap(labels map[string]string) map[string]any {
	out := make(map[string]any, len(labels))
	for key, value := range labels {
		out[key] = value
	}
	return out
}

// digestOf returns a digest of the spec, from which the spec can't be read.
func digestOf(wanted *unstructured.Unstructured) (string, error) {
	text, err := json.Marshal(wanted.Object["spec"])
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8]), nil
}

// judged identifies the operator's last report of the condition Ready; empty while there is none.
// Its time alone has whole seconds only.
func judged(karmada *operatorv1alpha1.Karmada) string {
	ready := meta.FindStatusCondition(karmada.Status.Conditions, string(operatorv1alpha1.Ready))
	if ready == nil {
		return ""
	}
	sum := sha256.Sum256([]byte(ready.Message))
	return ready.LastTransitionTime.UTC().Format(time.RFC3339) + "/" + ready.Reason + "/" + hex.EncodeToString(sum[:4])
}
