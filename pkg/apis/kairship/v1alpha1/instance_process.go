package v1alpha1

// ProcessSettings say how the processes of a component are started.
type ProcessSettings struct {
	// ExtraArgs are further flags of the component, by name without dashes. Only
	// those are passed on that tune it: amounts, times and logs. With another one the
	// Instance is not installed, or stays as it is, and condition Installed says why.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(name, size(name) <= 64 && name.matches('^[a-z][a-z0-9-]*$'))",message="must be names of flags without their dashes, such as kube-api-qps"
	ExtraArgs map[string]ArgumentValue `json:"extraArgs,omitempty"`

	// Resources of each pod of the component; the operator's default without them.
	// +optional
	Resources *ComponentResources `json:"resources,omitempty"`
}

// ArgumentValue is the value of a flag.
// +kubebuilder:validation:MaxLength=1024
type ArgumentValue string

// ComponentResources are the resources of each pod of a component.
// +kubebuilder:validation:XValidation:rule="!has(self.requests) || !has(self.limits) || !has(self.requests.cpu) || !has(self.limits.cpu) || quantity(self.requests.cpu).compareTo(quantity(self.limits.cpu)) <= 0",message="must be at least what is requested of cpu",fieldPath=".limits"
// +kubebuilder:validation:XValidation:rule="!has(self.requests) || !has(self.limits) || !has(self.requests.memory) || !has(self.limits.memory) || quantity(self.requests.memory).compareTo(quantity(self.limits.memory)) <= 0",message="must be at least what is requested of memory",fieldPath=".limits"
type ComponentResources struct {
	// Requests are reserved for it.
	// +optional
	Requests *ResourceAmounts `json:"requests,omitempty"`

	// Limits are the most that it may use.
	// +optional
	Limits *ResourceAmounts `json:"limits,omitempty"`
}

// ResourceAmounts are amounts of CPU and memory.
type ResourceAmounts struct {
	// CPU in cores, such as 500m.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="isQuantity(self) && quantity(self).isGreaterThan(quantity('0'))",message="must be a quantity above 0, such as 500m"
	CPU *string `json:"cpu,omitempty"`

	// Memory in bytes, such as 512Mi.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="isQuantity(self) && quantity(self).isGreaterThan(quantity('0'))",message="must be a quantity above 0, such as 512Mi"
	Memory *string `json:"memory,omitempty"`
}
