package v1alpha1

// CollectedKinds are the kinds of objects that the index collects besides those that it always
// collects. Who may view the instance, or a namespace in it, sees objects of these kinds there.
type CollectedKinds struct {
	// OfInstance are kinds that the instance's own apiserver serves.
	// +optional
	// +listType=map
	// +listMapKey=group
	// +listMapKey=resource
	// +kubebuilder:validation:MaxItems=64
	OfInstance []CollectedKind `json:"ofInstance,omitempty"`

	// OfMembers are kinds that the instance's member clusters serve.
	// +optional
	// +listType=map
	// +listMapKey=group
	// +listMapKey=resource
	// +kubebuilder:validation:MaxItems=64
	OfMembers []CollectedKind `json:"ofMembers,omitempty"`
}

// CollectedKind names a kind of objects, custom resources among them.
// +kubebuilder:validation:XValidation:rule="size(self.group) > 0 || self.resource != 'secrets'",message="Secrets are not collected: their values would be in the index's database",fieldPath=".resource",reason=FieldValueForbidden
type CollectedKind struct {
	// Group is the API group, such as argoproj.io; it is empty for the core group.
	// +optional
	// +kubebuilder:default=""
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="size(self) == 0 || self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="must be an API group such as argoproj.io, or empty for the core group"
	Group string `json:"group"`

	// Version is the one to collect; each version would be an object of its own.
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="must be a version such as v1"
	Version string `json:"version"`

	// Resource is the plural name, such as rollouts.
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="must be the plural name of a kind in lower case, such as rollouts"
	Resource string `json:"resource"`
}
