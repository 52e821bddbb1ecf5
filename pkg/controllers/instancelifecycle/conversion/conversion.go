// Package conversion converts an Instance of mode Managed into the Karmada operator's own resource
// Karmada. It reads nothing and writes nothing.
//
// It sets only the fields that the Instance decides. The operator writes its own defaults into the
// rest of the same object, and server-side apply keeps the two apart.
package conversion

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	operatorv1alpha1 "github.com/karmada-io/karmada/operator/pkg/apis/operator/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/internal/ownership"
)

// GVK is the operator's kind.
var GVK = schema.GroupVersion(operatorv1alpha1.GroupVersion).WithKind("Karmada")

// ReleaseURL is where the CRDs of a version are, as the operator itself has it
// for its own version.
const ReleaseURL = "https://github.com/karmada-io/karmada/releases/download/%s/crds.tar.gz"

// Host is the cluster that an instance is installed on.
type Host struct {
	// Local reports whether it is the cluster in which the operator runs: it needs no
	// credentials then, and takes its own.
	Local bool
	// Endpoint is the URL of its apiserver.
	Endpoint string
	// Secret holds its kubeconfig in the operator's format.
	Secret v1alpha1.SecretReference
}

// Namespace is where the Karmada of an instance is, in the global cluster, and
// where its components run in the host cluster. Each has one of its own: the
// operator removes no namespace, and nothing of one instance is in another's.
func Namespace(instance string) string { return v1alpha1.VirtualClusterName(instance) }

// Karmada returns the Karmada to apply for an Instance.
func Karmada(instance *v1alpha1.Instance, host Host) *operatorv1alpha1.Karmada {
	karmada := &operatorv1alpha1.Karmada{
		TypeMeta: metav1.TypeMeta{APIVersion: GVK.GroupVersion().String(), Kind: GVK.Kind},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: Namespace(instance.Name),
			Name:      instance.Name,
			// No owner reference: the garbage collector would uninstall a retained Karmada.
			Labels: ownership.ByInstance(instance).Labels(),
		},
	}
	settings := instance.Spec.Components
	if settings == nil {
		settings = &v1alpha1.InstanceComponents{}
	}
	karmada.Spec = operatorv1alpha1.KarmadaSpec{
		HostCluster: hostCluster(host),
		CRDTarball:  crdTarball(instance.Spec.KarmadaVersion, settings.CRDTarballURL),
		Components:  components(settings, host),
	}
	setFeatureGates(karmada.Spec.Components, settings)
	setImages(karmada.Spec.Components, settings.ImageRegistry, instance.Spec.KarmadaVersion)
	return karmada
}

// Object is a Karmada as it is applied: without the fields that say nothing,
// which would make them ours.
func Object(karmada *operatorv1alpha1.Karmada) (*unstructured.Unstructured, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(karmada)
	if err != nil {
		return nil, fmt.Errorf("convert the Karmada %s/%s: %w", karmada.Namespace, karmada.Name, err)
	}
	delete(fields, "status")
	prune(fields)
	return &unstructured.Unstructured{Object: fields}, nil
}

// prune removes what is null or empty, at every depth.
func prune(fields map[string]any) {
	for key, value := range fields {
		below, nested := value.(map[string]any)
		if nested {
			prune(below)
		}
		if value == nil || nested && len(below) == 0 {
			delete(fields, key)
		}
	}
}

// hostCluster names the cluster to install on; nil stands for the operator's own.
func hostCluster(host Host) *operatorv1alpha1.HostCluster {
	if host.Local {
		return nil
	}
	cluster := &operatorv1alpha1.HostCluster{
		// The operator reads the namespace from here and not from its own object's.
		SecretRef: &operatorv1alpha1.LocalSecretReference{Namespace: host.Secret.Namespace, Name: host.Secret.Name},
	}
	// The operator requires host and port. It reaches the cluster by the kubeconfig anyway; this is
	// for people who read the object.
	if endpoint, err := url.Parse(host.Endpoint); err == nil {
		cluster.APIEndpoint = endpoint.Host
	}
	return cluster
}

// crdTarball is where the CRDs of the version are: the operator alone would take
// those of its own.
func crdTarball(version, from string) *operatorv1alpha1.CRDTarball {
	if from == "" && version != "" {
		from = fmt.Sprintf(ReleaseURL, version)
	}
	if from == "" {
		return nil
	}
	// The operator's own default: it keeps what it has downloaded, by the URL.
	policy := operatorv1alpha1.DownloadIfNotPresent
	return &operatorv1alpha1.CRDTarball{HTTPSource: &operatorv1alpha1.HTTPSource{URL: from}, CRDDownloadPolicy: &policy}
}

// setFeatureGates gives the feature gates to each component that knows the argument. The operator's own field
// for them is left empty, because the operator passes it to the descheduler too, which does not start with it.
func setFeatureGates(components *operatorv1alpha1.KarmadaComponents, settings *v1alpha1.InstanceComponents) {
	gates := maps.Clone(settings.FeatureGates)
	if settings.Failover != nil {
		if gates == nil {
			gates = map[string]bool{}
		}
		gates["Failover"] = settings.Failover.Enabled
	}
	if len(gates) == 0 {
		return
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(gates)) {
		parts = append(parts, name+"="+strconv.FormatBool(gates[name]))
	}
	for _, arguments := range []*map[string]string{
		&components.KarmadaAggregatedAPIServer.ExtraArgs, &components.KarmadaControllerManager.ExtraArgs,
		&components.KarmadaScheduler.ExtraArgs, &components.KarmadaWebhook.ExtraArgs,
	} {
		if *arguments == nil {
			*arguments = map[string]string{}
		}
		(*arguments)["feature-gates"] = strings.Join(parts, ",")
	}
}

// serviceType is how the instance is reached. The operator refuses ClusterIP for
// a host that is not its own cluster, where no other client could reach it.
func serviceType(settings *v1alpha1.APIServerSettings, host Host) corev1.ServiceType {
	switch {
	case settings != nil && settings.ServiceType != "":
		return corev1.ServiceType(settings.ServiceType)
	case host.Local:
		return corev1.ServiceTypeClusterIP
	}
	return corev1.ServiceTypeNodePort
}
