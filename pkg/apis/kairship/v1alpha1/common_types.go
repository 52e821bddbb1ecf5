package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
)

// Keys of the Secrets that hold credentials.
const (
	// KubeconfigSecretKey holds a kubeconfig with its certificates and tokens
	// inlined. It is also the default key of an Instance's kubeconfigSecretRef.
	KubeconfigSecretKey = "kubeconfig"
	// TokenSecretKey holds a bearer token.
	TokenSecretKey = "token"
	// CABundleSecretKey holds the PEM certificates that the apiserver's serving
	// certificate is checked against; the host's trust store when it is absent.
	CABundleSecretKey = "caBundle"
	// ServerSecretKey holds the URL of the only server that the token may be sent to
	// without a CABundleSecretKey.
	ServerSecretKey = "server"
	// TLSCertSecretKey holds a PEM client certificate.
	TLSCertSecretKey = "tls.crt"
	// TLSKeySecretKey holds the PEM private key of TLSCertSecretKey.
	TLSKeySecretKey = "tls.key"
)

// SecretReference names a Secret in the global cluster.
type SecretReference struct {
	// Namespace of the Secret.
	// +optional
	// +kubebuilder:default=kairship-system
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="must be the name of a namespace: lower-case letters, digits and '-', beginning and ending with a letter or digit"
	Namespace string `json:"namespace,omitempty"`

	// Name of the Secret.
	// +required
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="must be the name of a Secret: lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit"
	Name string `json:"name"`
}

// NamespacedName is the reference in the form that clients take.
func (r SecretReference) NamespacedName() types.NamespacedName {
	return types.NamespacedName{Namespace: r.Namespace, Name: r.Name}
}

// SecretKeyReference names one key of a Secret in the global cluster.
type SecretKeyReference struct {
	SecretReference `json:",inline"`

	// Key of the Secret's data that holds the kubeconfig.
	// +optional
	// +kubebuilder:default=kubeconfig
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-._a-zA-Z0-9]+$')",message="must be a key of a Secret: letters, digits, '-', '_' and '.'"
	Key string `json:"key,omitempty"`
}

// ReadyCount says how many there are, and how many of them are ready.
type ReadyCount struct {
	// Total is how many exist.
	// +kubebuilder:validation:Minimum=0
	Total int64 `json:"total"`

	// Ready is how many of them are ready.
	// +kubebuilder:validation:Minimum=0
	Ready int64 `json:"ready"`
}

// Capacity is what a resource offers, and what is taken of it.
type Capacity struct {
	// Allocatable is what workloads may use in total.
	Allocatable resource.Quantity `json:"allocatable"`

	// Allocated is the sum of what scheduled pods request.
	Allocated resource.Quantity `json:"allocated"`
}

// KindCount is how many objects of one kind exist.
type KindCount struct {
	// Group is the API group; empty for the core group.
	// +optional
	// +kubebuilder:default=""
	Group string `json:"group"`

	// Kind of the objects, such as Deployment.
	// +required
	Kind string `json:"kind"`

	// Total is how many exist.
	// +kubebuilder:validation:Minimum=0
	Total int64 `json:"total"`
}

// WorkloadCount is how many workloads of one kind exist, and how many of them
// are ready.
type WorkloadCount struct {
	// Kind of the workloads: Deployment, StatefulSet, DaemonSet, Job or CronJob.
	// +required
	Kind string `json:"kind"`

	ReadyCount `json:",inline"`
}
