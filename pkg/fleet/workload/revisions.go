package workload

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"sync"
	"time"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/index"
)

// Revision is a pod template that a workload had before, as a member keeps it.
//
// An instance keeps none: no controller there makes ReplicaSets or
// ControllerRevisions of templates. A member's are of what Karmada sent to it, and
// so hold what override policies changed on the way.
type Revision struct {
	// Cluster is the member.
	Cluster string
	// Number is the member's own number for it. Members count for themselves.
	Number int
	// Template is the pod template, as the workload itself would have it.
	Template  map[string]any
	CreatedAt time.Time
	// ChangeCause is the annotation of that name when it was made; nil for none.
	ChangeCause *string
	// Images are those of its containers, those of init containers last.
	Images []string
	// Current reports whether it is the newest of its member, which is what the member runs.
	Current bool
	// Overridden reports whether override policies change what is sent there now.
	Overridden bool
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

// maxRevisions is how many revisions of one copy of a workload are read, and mostRevisions how many of all workloads of a page.
const maxRevisions, mostRevisions = 500, 20_000

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

// RevisionNeeds are the needs of the revisions of workloads.
func RevisionNeeds() Needs {
	return Needs{Template: index.Metadata, Status: true, Overrides: true, Objects: true, ObjectDetail: index.Known}
}

// Revisions returns which revisions the members keep of a workload, by cluster;
// nothing where it runs nowhere.
func (s *Service) Revisions(ctx context.Context, instanceName string, kind Kind, namespace, name string) ([]MemberRevisions, error) {
	if _, ok := records[kind]; !ok {
		return nil, nil
	}
	found, err := s.Get(ctx, instanceName, kind, namespace, name, RevisionNeeds())
	if err != nil || found == nil {
		return nil, err
	}
	return s.RevisionsOf(ctx, found.Base())
}

// RevisionsOf is Revisions of a workload that was read.
func (s *Service) RevisionsOf(ctx context.Context, w *Workload) ([]MemberRevisions, error) {
	c, err := s.copiesOf(ctx, w)
	if err != nil || len(c.objects) == 0 {
		return nil, err
	}
	kept, err := s.keptOf(ctx, []*copies{c})
	if err != nil {
		return nil, apierror.In(err, w.Instance)
	}
	return c.revisions(kept)
}

// copies are the objects of a workload in its members, of which these keep revisions.
type copies struct {
	of *Workload
	// members has no revisions yet; objects are in the same order.
	members []MemberRevisions
	objects []*index.Object
}

// copiesOf finds the copies of a workload, and what overrides are applied to them; none of a kind that has no revisions.
func (s *Service) copiesOf(ctx context.Context, w *Workload) (*copies, error) {
	c := &copies{of: w}
	if _, ok := records[w.kind]; !ok {
		return c, nil
	}
	placements, err := s.Placements(ctx, w)
	if err != nil {
		return nil, err
	}
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
		c.members, c.objects = append(c.members, m), append(c.objects, o.Indexed)
	}
	return c, nil
}

// revisions are those of the copies among what members keep, by cluster.
func (c *copies) revisions(kept map[index.Type][]*index.Object) ([]MemberRevisions, error) {
	r := records[c.of.kind]
	all := slices.Clone(c.members)
	for i := range all {
		var err error
		if all[i].Revisions, err = revisionsOf(r, all[i].Cluster, c.objects[i], kept[r.of]); err != nil {
			return nil, apierror.In(err, c.of.Instance)
		}
		for j := range all[i].Revisions {
			all[i].Revisions[j].Overridden = len(all[i].Overrides) > 0
		}
	}
	slices.SortFunc(all, func(a, b MemberRevisions) int { return cmp.Compare(a.Cluster, b.Cluster) })
	return all, nil
}

// keptOf reads what the controllers of the members keep of the copies of workloads: one request for each type of objects,
// however many workloads there are. Of more than mostRevisions, the newest are read.
func (s *Service) keptOf(ctx context.Context, all []*copies) (map[index.Type][]*index.Object, error) {
	queries := map[index.Type]*index.ListQuery{}
	for _, c := range all {
		for _, o := range c.objects {
			of := records[c.of.kind].of
			q := queries[of]
			if q == nil {
				q = &index.ListQuery{Types: []index.Type{of}, Order: index.Order{Field: index.OrderByCreation, Desc: true}, Detail: index.Whole}
				queries[of] = q
			}
			q.Clusters, q.Namespaces, q.Owners = append(q.Clusters, o.Cluster), append(q.Namespaces, o.Meta.Namespace), append(q.Owners, string(o.Meta.UID))
		}
	}
	kept, mu := map[index.Type][]*index.Object{}, sync.Mutex{}
	g, ctx := errgroup.WithContext(ctx)
	for of, q := range queries {
		q.Limit = min(maxRevisions*len(q.Owners), mostRevisions)
		for _, list := range []*[]string{&q.Clusters, &q.Namespaces} {
			slices.Sort(*list)
			*list = slices.Compact(*list)
		}
		g.Go(func() error {
			page, err := s.lister.Reader.List(ctx, *q)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			kept[of] = page.Items
			return nil
		})
	}
	return kept, g.Wait()
}

// revisionsOf are the revisions among some objects that belong to a workload.
func revisionsOf(kept record, cluster string, workload *index.Object, objects []*index.Object) ([]Revision, error) {
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
		r := Revision{Cluster: cluster, Number: int(number), Template: template, CreatedAt: o.Meta.CreationTimestamp.Time, Images: imagesOfTemplate(template)}
		if cause, ok := o.Meta.Annotations[changeCause]; ok {
			r.ChangeCause = &cause
		}
		revisions = append(revisions, r)
	}
	slices.SortFunc(revisions, func(a, b Revision) int { return cmp.Compare(a.Number, b.Number) })
	if n := len(revisions); n > 0 {
		revisions[n-1].Current = true
	}
	return revisions, nil
}

// imagesOfTemplate are the images of the containers of a pod template, those of init containers last.
func imagesOfTemplate(template map[string]any) []string {
	images := []string{}
	for _, list := range []string{"containers", "initContainers"} {
		containers, _, _ := unstructured.NestedSlice(template, "spec", list)
		for _, c := range containers {
			fields, _ := c.(map[string]any)
			if image, ok := fields["image"].(string); ok {
				images = append(images, image)
			}
		}
	}
	return images
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
