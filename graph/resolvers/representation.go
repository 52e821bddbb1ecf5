package resolvers

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/cluster"
	"github.com/kairship-io/kairship/pkg/fleet/instance"
	"github.com/kairship-io/kairship/pkg/fleet/membercluster"
	"github.com/kairship-io/kairship/pkg/fleet/namespace"
	"github.com/kairship-io/kairship/pkg/fleet/nodeid"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
)

// keyed is a type that other subgraphs can refer to: one with the directive key.
type keyed struct {
	// ids are the types that its IDs may be of.
	ids []string
	// kind is the kind of a workload of the type; empty where it can be any.
	kind workload.Kind
	// name are the fields that name it too, in the order of the parts of its IDs;
	// nil where only the ID does. An empty one is a part that is always empty.
	name []string
}

// keyedTypes are the types with a key. A test holds them against the schema.
var keyedTypes = map[string]keyed{
	"Instance":      {ids: []string{instance.TypeName}, name: []string{"name"}},
	"Cluster":       {ids: []string{cluster.TypeName}, name: []string{"name"}},
	"MemberCluster": {ids: []string{membercluster.TypeName}, name: []string{"instance.name", "name"}},
	"Namespace":     {ids: []string{namespace.TypeName}, name: []string{"instance.name", "name"}},

	"Workload":       {ids: []string{workload.TypeName}, name: workloadName},
	"Deployment":     {ids: []string{workload.TypeName}, name: workloadName, kind: workload.KindDeployment},
	"StatefulSet":    {ids: []string{workload.TypeName}, name: workloadName, kind: workload.KindStatefulSet},
	"DaemonSet":      {ids: []string{workload.TypeName}, name: workloadName, kind: workload.KindDaemonSet},
	"Job":            {ids: []string{workload.TypeName}, name: workloadName, kind: workload.KindJob},
	"CronJob":        {ids: []string{workload.TypeName}, name: workloadName, kind: workload.KindCronJob},
	"CustomWorkload": {ids: []string{workload.TypeName}, name: []string{"instance.name", "customKind", "namespace", "name"}, kind: workload.KindCustom},

	"Policy":                   {ids: policyTypes},
	"PropagationPolicy":        {ids: policyTypes[0:1], name: []string{"instance.name", "namespace", "name"}},
	"ClusterPropagationPolicy": {ids: policyTypes[1:2], name: []string{"instance.name", "", "name"}},
	"OverridePolicy":           {ids: policyTypes[2:3], name: []string{"instance.name", "namespace", "name"}},
	"ClusterOverridePolicy":    {ids: policyTypes[3:4], name: []string{"instance.name", "", "name"}},
}

var (
	workloadName = []string{"instance.name", kindField, "namespace", "name"}
	policyTypes  = []string{"PropagationPolicy", "ClusterPropagationPolicy", "OverridePolicy", "ClusterOverridePolicy"}
)

// kindField is the field of a workload that its type may say already.
const kindField = "kind"

// referenceOf reads what a representation names. The error is INVALID and names the
// part of it that is wrong; at is where the representation stands. What a router
// sends besides a key is not looked at.
func referenceOf(at string, representation any) (nodeid.ID, error) {
	fields, ok := representation.(map[string]any)
	if !ok {
		return nodeid.ID{}, apierror.Invalid(at, "A representation is an object: __typename and the fields of one of the type's keys")
	}
	name, ok := fields["__typename"].(string)
	if !ok {
		return nodeid.ID{}, apierror.Invalid(at+".__typename", "Give the name of the entity's type")
	}
	typ, ok := keyedTypes[name]
	if !ok {
		return nodeid.ID{}, apierror.Invalid(at+".__typename", "No type of this name has a key here")
	}
	if id, given := fields["id"]; given && id != nil {
		return typ.byID(at+".id", id)
	}
	if typ.name == nil {
		return nodeid.ID{}, apierror.Invalid(at+".id", "Give the ID of the entity")
	}
	return typ.byName(at, fields)
}

// byID reads the key id.
func (k keyed) byID(at string, value any) (nodeid.ID, error) {
	text, ok := value.(string)
	if !ok {
		return nodeid.ID{}, apierror.Invalid(at, "An ID is a string")
	}
	id, err := nodeid.Parse(text)
	if err != nil {
		return nodeid.ID{}, apierror.Invalid(at, "This is not an ID; give the id of an object as Kairship returned it")
	}
	if !slices.Contains(k.ids, id.Type) || len(id.Parts) != finders[id.Type].parts || !k.fits(id) {
		return nodeid.ID{}, apierror.Invalid(at, "This is the ID of an object of another type")
	}
	return id, nil
}

// fits reports whether the ID of a workload is one of its kind.
func (k keyed) fits(id nodeid.ID) bool {
	if id.Type != workload.TypeName {
		return true
	}
	kind := workload.Kind(id.Parts[1])
	return kind.Valid() && (k.kind == "" || k.kind == kind.Shown())
}

// byName reads the key of names.
func (k keyed) byName(at string, fields map[string]any) (nodeid.ID, error) {
	id := nodeid.ID{Type: k.ids[0], Parts: make([]string, len(k.name))}
	for i, path := range k.name {
		if path == "" {
			continue
		}
		value := valueAt(fields, path)
		if path == kindField && value == nil && k.kind != "" {
			value = string(k.kind)
		}
		text, ok := value.(string)
		if !ok {
			return nodeid.ID{}, apierror.Invalid(at+"."+path, "Give a string here, or the ID of the entity; this type is named by %s", k.fields())
		}
		id.Parts[i] = text
	}
	if id.Type == workload.TypeName && id.Parts[1] == string(workload.KindCustom) {
		return nodeid.ID{}, apierror.Invalid(at+"."+kindField, "CUSTOM stands for many kinds: name the entity by its ID, or a CustomWorkload by its customKind")
	}
	if !k.fits(id) {
		return nodeid.ID{}, apierror.Invalid(at+"."+kindField, "This is not the kind of a workload of this type")
	}
	return id, nil
}

// fields are the names of the fields of the key, for a person.
func (k keyed) fields() string {
	names := slices.DeleteFunc(slices.Clone(k.name), func(path string) bool { return path == "" || (path == kindField && k.kind != "") })
	return fmt.Sprintf("%s and %s", strings.Join(names[:len(names)-1], ", "), names[len(names)-1])
}

// valueAt is the value of a field, or of a field of a field; nil where there is none.
func valueAt(fields map[string]any, path string) any {
	name, below, nested := strings.Cut(path, ".")
	if !nested {
		return fields[name]
	}
	inner, ok := fields[name].(map[string]any)
	if !ok {
		return nil
	}
	return inner[below]
}
