package workload

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/index"
)

// Revision is a pod template that a workload had before, as a member keeps it.
//
// An instance keeps none: no controller there makes ReplicaSets or
// ControllerRevisions of templates. A member's are of what Karmada sent to it, and
// so hold what override policies changed on the way.
type Revision struct {
	// Number is the member's own number for it. Members count for themselves.
	Number int
	// Template is the pod template, as the workload itself would have it.
	Template  map[string]any
	CreatedAt time.Time
	// ChangeCause is the annotation of that name when it was made; nil for none.
	ChangeCause *string
}

// MemberRevisions are the revisions that one member keeps.
type MemberRevisions struct {
	Cluster string
	// Overrides are those that were applied last to what is sent there.
	Overrides []policyv1alpha1.Overriders
	// Revisions are in order, the current one last.
	Revisions []Revision
}

// revisionAnnotation is the number that the deployment controller gives.
const revisionAnnotation = "deployment.kubernetes.io/revision"

// changeCause is the annotation that the controllers copy from a workload.
const changeCause = "kubernetes.io/change-cause"

// maxRevisions is how many revisions of one workload are read.
const maxRevisions = 500

// record is how the controllers of a kind of workload keep its revisions: in
// objects that belong to it.
type record struct {
	of   index.Type
	read func(*index.Object) (number int64, template map[string]any, err error)
}

var (
	replicaSets         = record{index.ReplicaSets, replicaSet}
	controllerRevisions = record{index.ControllerRevisions, controllerRevision}
	records             = map[Kind]record{
		KindDeployment: replicaSets, KindStatefulSet: controllerRevisions, KindDaemonSet: controllerRevisions,
	}
)

// KindsWithRevisions are the kinds that members keep revisions of.
func KindsWithRevisions() []Kind { return []Kind{KindDeployment, KindStatefulSet, KindDaemonSet} }

// Revisions returns which revisions the members keep of a workload, by cluster;
// nothing where it runs nowhere.
func (s *Service) Revisions(ctx context.Context, instanceName string, kind Kind, namespace, name string) ([]MemberRevisions, error) {
	kept, ok := records[kind]
	if !ok {
		return nil, nil
	}
	found, err := s.Get(ctx, instanceName, kind, namespace, name, Needs{Template: index.Metadata, Status: true, Overrides: true, Objects: true, ObjectDetail: index.Known})
	if err != nil || found == nil {
		return nil, err
	}
	w := found.Base()
	placements, err := s.Placements(ctx, w)
	if err != nil {
		return nil, err
	}
	var (
		all     []MemberRevisions
		objects []*index.Object
	)
	for i := range placements {
		p := &placements[i]
		o, err := s.Object(ctx, p, index.Known)
		if err != nil {
			return nil, err
		}
		if o == nil {
			continue
		}
		overrides, err := s.Overrides(ctx, p)
		if err != nil {
			return nil, err
		}
		m := MemberRevisions{Cluster: p.Cluster}
		for j := range overrides {
			m.Overrides = append(m.Overrides, overrides[j].Overriders)
		}
		all, objects = append(all, m), append(objects, o.Indexed)
	}
	if len(all) == 0 {
		return nil, nil
	}
	kepts, err := s.keptOf(ctx, kept, objects)
	if err != nil {
		return nil, apierror.In(err, w.Instance)
	}
	for i := range all {
		if all[i].Revisions, err = revisionsOf(kept, objects[i], kepts); err != nil {
			return nil, apierror.In(err, w.Instance)
		}
	}
	slices.SortFunc(all, func(a, b MemberRevisions) int { return cmp.Compare(a.Cluster, b.Cluster) })
	return all, nil
}

// keptOf reads what the controllers of the members keep of some objects, in one request.
func (s *Service) keptOf(ctx context.Context, kept record, of []*index.Object) ([]*index.Object, error) {
	q := index.ListQuery{
		Types: []index.Type{kept.of}, Namespaces: []string{of[0].Meta.Namespace},
		Order: index.Order{Field: index.OrderByCreation, Desc: true}, Limit: maxRevisions, Detail: index.Whole,
	}
	for _, o := range of {
		q.Clusters, q.Owners = append(q.Clusters, o.Cluster), append(q.Owners, string(o.Meta.UID))
	}
	page, err := s.lister.Reader.List(ctx, q)
	if err != nil {
		return nil, err
	}
	return page.Items, nil
}

// revisionsOf are the revisions among some objects that belong to a workload.
func revisionsOf(kept record, workload *index.Object, objects []*index.Object) ([]Revision, error) {
	var revisions []Revision
	for _, o := range objects {
		owner := metav1.GetControllerOfNoCopy(&o.Meta)
		if owner == nil || owner.UID != workload.Meta.UID || o.Cluster != workload.Cluster {
			continue
		}
		number, template, err := kept.read(o)
		if err != nil {
			return nil, err
		}
		if template == nil {
			continue
		}
		r := Revision{Number: int(number), Template: template, CreatedAt: o.Meta.CreationTimestamp.Time}
		if cause, ok := o.Meta.Annotations[changeCause]; ok {
			r.ChangeCause = &cause
		}
		revisions = append(revisions, r)
	}
	slices.SortFunc(revisions, func(a, b Revision) int { return cmp.Compare(a.Number, b.Number) })
	return revisions, nil
}

// replicaSet reads the revision in a ReplicaSet; nil when it is none.
func replicaSet(o *index.Object) (int64, map[string]any, error) {
	number, err := strconv.ParseInt(o.Meta.Annotations[revisionAnnotation], 10, 64)
	if err != nil {
		return 0, nil, nil //nolint:nilerr // The controller has not numbered it yet.
	}
	r, err := index.Decode[struct {
		Spec struct {
			Template json.RawMessage `json:"template"`
		} `json:"spec"`
	}](o)
	if err != nil {
		return 0, nil, err
	}
	template := map[string]any{}
	if err := json.Unmarshal(r.Spec.Template, &template); err != nil {
		return 0, nil, err
	}
	if meta, ok := template["metadata"].(map[string]any); ok {
		if labels, ok := meta["labels"].(map[string]any); ok {
			delete(labels, appsv1.DefaultDeploymentUniqueLabelKey)
		}
	}
	return number, template, nil
}

// controllerRevision reads the revision in a ControllerRevision; nil when it holds
// no template. Its data is a patch that puts the template in the place of another.
func controllerRevision(o *index.Object) (int64, map[string]any, error) {
	r, err := index.Decode[struct {
		Revision int64 `json:"revision"`
		Data     struct {
			Spec struct {
				Template map[string]any `json:"template"`
			} `json:"spec"`
		} `json:"data"`
	}](o)
	if err != nil {
		return 0, nil, err
	}
	template := r.Data.Spec.Template
	delete(template, "$patch")
	return r.Revision, template, nil
}

// Written is a workload that was just written, as the instance stored it.
func (s *Service) Written(ctx context.Context, instanceName string, o *index.Object) Any {
	return newWorkload(s.settingOf(ctx, instanceName, time.Time{}), o)
}
