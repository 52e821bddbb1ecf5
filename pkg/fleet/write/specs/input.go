package specs

import (
	"encoding/json"
	"fmt"

	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/write"
)

// Inputs hold Karmada's own specs, as the types that are read do: there is no
// conversion that could forget a field. What GraphQL says otherwise than Karmada
// (labels are a list, enums have other names, what is left out is null) is turned
// into Karmada's words while the input is read.

// CreateInput is an object to create. Kinds without namespace leave it empty.
type CreateInput[S any] struct {
	Instance, Namespace, Name string
	Labels, Annotations       []object.Pair
	Spec                      S
	// Expect is the fingerprint of the preview that the change was decided by; nil for none.
	Expect *string
	DryRun bool
}

// UpdateInput is a change of an object. Labels, annotations and spec are replaced as
// a whole where they are given, and left where they are nil.
type UpdateInput[S any] struct {
	Instance, Namespace, Name string
	// ResourceVersion is the version that the change is based on.
	ResourceVersion     string
	Labels, Annotations []object.Pair
	Spec                *S
	// Sent is the input spec as it was sent, which distinguishes a field that is null from one that
	// is omitted.
	Sent any
	// Expect is the fingerprint of the preview that the change was decided by; nil for none.
	Expect *string
	DryRun bool
}

// DeleteInput is an object to delete.
type DeleteInput struct {
	Instance, Namespace, Name string
	// ResourceVersion of the object to delete; nil for any.
	ResourceVersion *string
	// AllowInUse deletes it even when something uses it.
	AllowInUse bool
	// Expect is the fingerprint of the preview that the deletion was decided by; nil for none.
	Expect *string
	DryRun bool
}

// Written is an object that was created or changed.
type Written[T any] struct {
	// Object is what the instance stored, or would have stored in a dry run.
	Object *T
	// Warnings are what the change does and its author may not mean.
	Warnings []write.Warning
	// ConsistencyToken names the version that was written; nil for a dry run.
	ConsistencyToken *string
}

// Deleted is an object that was deleted.
type Deleted[T any] struct {
	// Object is what is left of it while Karmada cleans up; nil when it no longer exists.
	Object *T
	// UsedBy are the objects that used it.
	UsedBy *Use
	// ConsistencyToken names the deletion; nil for a dry run.
	ConsistencyToken *string
}

// Canonical returns a spec as Kubernetes stores it: fields that Karmada's types omit when empty are
// omitted, so that an empty list and none are the same. Null and empty stay distinct where Karmada
// distinguishes them, in objects.
func Canonical[S any](spec S) (S, error) {
	var out S
	raw, err := json.Marshal(spec)
	if err != nil {
		return out, fmt.Errorf("encoding a spec: %w", err)
	}
	return out, json.Unmarshal(raw, &out)
}
