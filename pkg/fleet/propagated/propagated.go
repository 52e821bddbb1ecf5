// Package propagated decides which objects of an instance Karmada sends to a member
// cluster, and reports that they keep the cluster in the instance. The controller that
// takes clusters out and the mutation that asks for it decide by the same functions.
package propagated

import (
	"fmt"
	"strings"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
)

// mostNamed is how many objects are named; all are counted.
const mostNamed = 10

// Object is an object that Karmada sends to a cluster.
type Object struct {
	APIVersion, Kind, Namespace, Name string
}

// NamespaceOrNil returns its namespace; nil when it has none.
func (o Object) NamespaceOrNil() *string {
	if o.Namespace == "" {
		return nil
	}
	return &o.Namespace
}

// String names the object for a person.
func (o Object) String() string {
	if o.Namespace == "" {
		return o.Kind + " " + o.Name
	}
	return o.Kind + " " + o.Namespace + "/" + o.Name
}

// Objects are the objects that an instance sends to one cluster.
type Objects struct {
	// Instance and Cluster say which.
	Instance, Cluster string
	// Count is how many there are. More reports whether there are others, which were not counted.
	Count int
	More  bool
	// Named are the first of them, at most mostNamed.
	Named []Object
}

// Add counts the object of a binding, if the binding sends it to the cluster.
func (o *Objects) Add(binding *workv1alpha2.ResourceBindingSpec) {
	if !binding.TargetContains(o.Cluster) {
		return
	}
	o.Count++
	if len(o.Named) < mostNamed {
		r := &binding.Resource
		o.Named = append(o.Named, Object{APIVersion: r.APIVersion, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name})
	}
}

// Message says for a person that the objects keep the cluster in the instance.
func (o *Objects) Message() string {
	names := make([]string, len(o.Named))
	for i, named := range o.Named {
		names[i] = named.String()
	}
	list, count, noun := strings.Join(names, ", "), fmt.Sprint(o.Count), "objects are"
	if more := o.Count - len(o.Named); more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	switch {
	case o.More:
		count = "at least " + count
	case o.Count == 1:
		noun = "object is"
	}
	return fmt.Sprintf("%s %s propagated to the cluster by instance %q: %s. It leaves once there are none; or set spec.join.removalPolicy to Force, and Karmada removes them from it.",
		count, noun, o.Instance, list)
}
