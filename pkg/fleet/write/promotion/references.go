package promotion

import (
	"cmp"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kairship-io/kairship/pkg/apierror"
)

// Reference is an object of the core group that another one names.
type Reference struct{ Kind, Namespace, Name string }

// References returns what an object names, in one order: what Karmada propagates along
// with it when a policy says propagateDeps.
func References(live *unstructured.Unstructured) ([]Reference, error) {
	named := names{}
	spec := &corev1.PodSpec{}
	switch live.GroupVersionKind().GroupKind().String() {
	case "Deployment.apps", "StatefulSet.apps", "DaemonSet.apps", "Job.batch":
		if err := read(live, spec, "spec", "template", "spec"); err != nil {
			return nil, err
		}
	case "CronJob.batch":
		if err := read(live, spec, "spec", "jobTemplate", "spec", "template", "spec"); err != nil {
			return nil, err
		}
	case "Ingress.networking.k8s.io":
		ingress := &networkingv1.IngressSpec{}
		if err := read(live, ingress, "spec"); err != nil {
			return nil, err
		}
		for _, tls := range ingress.TLS {
			named.add("Secret", tls.SecretName)
		}
	default:
		return nil, nil
	}
	named.pod(spec)
	return slices.SortedFunc(maps.Keys(named.in(live.GetNamespace())), func(a, b Reference) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	}), nil
}

func read(u *unstructured.Unstructured, into any, path ...string) error {
	m, _, err := unstructured.NestedMap(u.Object, path...)
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(m, into)
	}
	if err != nil {
		return apierror.Invalid("input.name", "what %s %q names cannot be told", u.GetKind(), u.GetName())
	}
	return nil
}

// names are objects by kind and name.
type names map[Reference]struct{}

func (n names) add(kind, name string) {
	if name != "" {
		n[Reference{Kind: kind, Name: name}] = struct{}{}
	}
}

func (n names) in(namespace string) names {
	out := names{}
	for r := range n {
		r.Namespace = namespace
		out[r] = struct{}{}
	}
	return out
}

// pod adds what the pods of a template name. Every namespace has a ServiceAccount
// default of its own.
func (n names) pod(spec *corev1.PodSpec) {
	if spec.ServiceAccountName != "default" {
		n.add("ServiceAccount", spec.ServiceAccountName)
	}
	for _, s := range spec.ImagePullSecrets {
		n.add("Secret", s.Name)
	}
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		for _, from := range c.EnvFrom {
			if from.ConfigMapRef != nil {
				n.add("ConfigMap", from.ConfigMapRef.Name)
			}
			if from.SecretRef != nil {
				n.add("Secret", from.SecretRef.Name)
			}
		}
		for _, e := range c.Env {
			switch from := e.ValueFrom; {
			case from == nil:
			case from.ConfigMapKeyRef != nil:
				n.add("ConfigMap", from.ConfigMapKeyRef.Name)
			case from.SecretKeyRef != nil:
				n.add("Secret", from.SecretKeyRef.Name)
			}
		}
	}
	for i := range spec.Volumes {
		n.volume(&spec.Volumes[i].VolumeSource)
	}
}

func (n names) volume(v *corev1.VolumeSource) {
	switch {
	case v.ConfigMap != nil:
		n.add("ConfigMap", v.ConfigMap.Name)
	case v.Secret != nil:
		n.add("Secret", v.Secret.SecretName)
	case v.PersistentVolumeClaim != nil:
		n.add("PersistentVolumeClaim", v.PersistentVolumeClaim.ClaimName)
	case v.CSI != nil && v.CSI.NodePublishSecretRef != nil:
		n.add("Secret", v.CSI.NodePublishSecretRef.Name)
	case v.Projected != nil:
		for _, from := range v.Projected.Sources {
			if from.ConfigMap != nil {
				n.add("ConfigMap", from.ConfigMap.Name)
			}
			if from.Secret != nil {
				n.add("Secret", from.Secret.Name)
			}
		}
	}
}

// made are the labels that Kubernetes gives to a Job and its pods.
var made = []string{"controller-uid", "job-name", batchv1.ControllerUidLabel, batchv1.JobNameLabel}

// revisions are the annotations of a Deployment's controller.
var revisions = []string{"deployment.kubernetes.io/revision", "deployment.kubernetes.io/revision-history", appsv1.DeprecatedTemplateGeneration}
