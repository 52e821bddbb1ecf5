package explanation

import (
	"fmt"
	"time"

	karmadautil "github.com/karmada-io/karmada/pkg/util"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What Helm and other tools write on the objects that are theirs.
const (
	helmRelease          = "meta.helm.sh/release-name"
	helmReleaseNamespace = "meta.helm.sh/release-namespace"
	managedBy            = "app.kubernetes.io/managed-by"
)

// inTheWay says whose the object is that a cluster has instead of the workload, by what is written on it; empty
// where the index has no such object.
func (in *inputs) inTheWay(cluster string) string {
	o := in.Objects[cluster]
	if o == nil || o.BelongsTo(in.Status.BindingID) {
		return ""
	}
	owner := metav1.GetControllerOf(o)
	switch {
	case owner != nil:
		return fmt.Sprintf("; the object there is controlled by %s %s", owner.Kind, owner.Name)
	case o.Annotations[helmRelease] != "":
		return fmt.Sprintf("; the object there belongs to the Helm release %s/%s", o.Annotations[helmReleaseNamespace], o.Annotations[helmRelease])
	case o.Labels[karmadautil.ManagedByKarmadaLabel] == karmadautil.ManagedByKarmadaLabelValue:
		return "; Karmada sent the object there for another binding, or another Karmada did"
	case o.Labels[managedBy] != "":
		return "; the object there is managed by " + o.Labels[managedBy]
	}
	return "; the object there names no owner, and was created at " + o.CreationTimestamp.UTC().Format(time.RFC3339)
}
