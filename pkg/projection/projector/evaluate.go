package projector

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
)

// rowOf is the row of a workload: what its template says, and the state that its facts
// give, and whether an object has drifted. A state that cannot be computed is UNKNOWN, with the reason.
func rowOf(key projection.WorkloadKey, template *workload.Object, facts *workload.Facts, err error, drifted func(*workload.Facts, *workload.Status) bool) projection.Workload {
	kind := workload.Kind(key.Kind)
	row := projection.Workload{
		WorkloadKey: key,
		WorkloadState: projection.WorkloadState{
			Projection: projection.Version, Health: string(workload.HealthUnknown), LabelKV: []string{}, Clusters: []string{}, Scheduled: []string{}, WorkName: kind.WorkName(key.Namespace, key.Name),
		},
		WorkloadDoc: projection.WorkloadDoc{
			Images: []string{}, Placements: []projection.Placement{}, Labels: map[string]string{},
		},
		WorkloadSearch: projection.WorkloadSearch{
			ImageKeys: []string{},
		},
		WorkloadObject: projection.WorkloadObject{
			Object: json.RawMessage("{}"),
		},
	}
	if template != nil {
		row.UID, row.ResourceVersion = string(template.UID), template.ResourceVersion
		row.CreatedAt, row.Deleting = template.CreationTimestamp.Unix(), template.Deleting()
		for _, name := range slices.Sorted(maps.Keys(template.Labels)) {
			row.Labels[name] = template.Labels[name]
			row.LabelKV = append(row.LabelKV, name+"="+template.Labels[name])
		}
		row.Images, row.Object = template.Images(), stored(template)
		row.Search, row.ImageKeys = workload.SearchText(template), workload.ImageKeys(row.Images)
		if ref := workload.PolicyRefOf(template); ref != nil {
			row.PolicyNamespace, row.PolicyName = ref.Namespace, ref.Name
		}
	}
	if err != nil {
		row.Message = "the state cannot be computed: " + err.Error()
		return row
	}
	status := workload.Evaluate(*facts)
	row.Drifted = drifted(facts, &status)
	row.Health, row.Message, row.Suspended, row.BindingID = string(status.Health), status.Message, status.Suspended, status.BindingID
	row.Desired, row.Updated, row.Ready, row.Available = status.Replicas.Desired, status.Replicas.Updated, status.Replicas.Ready, status.Replicas.Available
	for _, p := range status.Placements {
		row.Clusters = append(row.Clusters, p.Cluster)
		if p.Scheduled {
			row.Scheduled = append(row.Scheduled, p.Cluster)
		}
		row.Placements = append(row.Placements, projection.Placement{
			Cluster: p.Cluster, Scheduled: p.Scheduled, Evicting: p.Evicting, Suspended: p.Suspended, Applied: p.Applied, Stale: p.Stale,
			Desired: p.Desired, Ready: p.Ready, Available: p.Available, Updated: p.Updated, Health: string(p.Health), Message: p.Message,
		})
	}
	return row
}

// storedCustom is the template of a custom workload, with its resource where the index has it.
func storedCustom(template *workload.Object, resource string) json.RawMessage {
	if template == nil {
		return json.RawMessage("{}")
	}
	o := *template
	o.ManagedFields, o.Annotations = nil, index.WithoutShadow(o.Annotations)
	text, err := json.Marshal(&struct {
		*workload.Object

		Resource string `json:"resource,omitempty"`
	}{&o, resource})
	if err != nil {
		panic(err) // It was read from JSON.
	}
	return text
}

// stored is a template without what the index adds to it.
func stored(template *workload.Object) json.RawMessage {
	o := *template
	o.ManagedFields = nil
	o.Annotations = index.WithoutShadow(o.Annotations)
	text, err := json.Marshal(&o)
	if err != nil {
		panic(err) // It was read from JSON.
	}
	return text
}
