package drift

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Object names an object in a member cluster, and keeps what was read of it there.
type Object struct {
	Instance, Member         string
	Group, Version, Resource string
	Namespace, Name          string
	// UID is that of the object that was compared.
	UID string

	once     sync.Once
	managers []metav1.ManagedFieldsEntry
	err      error
}

// Managers returns the managed fields of the object, which are read once for all of its fields.
func (o *Object) Managers(read func() ([]metav1.ManagedFieldsEntry, error)) ([]metav1.ManagedFieldsEntry, error) {
	o.once.Do(func() { o.managers, o.err = read() })
	return o.managers, o.err
}
