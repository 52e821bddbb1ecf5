package workload

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/index"
)

// Revision is a pod template that a Deployment had before, as a member keeps it.
//
// An instance keeps none: no controller there makes ReplicaSets of templates. A
// member's are of what Karmada sent to it, and so hold what override policies
// changed on the way.
type Revision struct {
	// Cluster is the member.
	Cluster string
	// Number is the member's own number for it. Members count for themselves.
	Number int64
	// Template is the pod template, without the label that tells ReplicaSets apart.
	Template map[string]any
}

// MemberRevisions are the revisions that one member keeps.
type MemberRevisions struct {
	Cluster string
	// Overridden tells that override policies change what is sent there now.
	Overridden bool
	// Revisions are in order, the current one last.
	Revisions []Revision
}

// revisionAnnotation is the number that the deployment controller gives.
const revisionAnnotation = "deployment.kubernetes.io/revision"

// maxRevisions is how many ReplicaSets of a namespace are looked through.
const maxRevisions = 500

// Revisions tells which revisions the members keep of a Deployment, by cluster;
// nothing where it runs nowhere.
func (s *Service) Revisions(ctx context.Context, instanceName, namespace, name string) ([]MemberRevisions, error) {
	found, err := s.Get(ctx, instanceName, KindDeployment, namespace, name, Needs{Template: index.Whole, Status: true, Overrides: true})
	if err != nil || found == nil {
		return nil, err
	}
	placements, err := s.Placements(ctx, found.Base())
	if err != nil {
		return nil, err
	}
	var all []MemberRevisions
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
		revisions, err := s.revisionsIn(ctx, p.Cluster, o.Indexed)
		if err != nil {
			return nil, apierror.In(err, instanceName)
		}
		all = append(all, MemberRevisions{Cluster: p.Cluster, Overridden: len(overrides) > 0, Revisions: revisions})
	}
	slices.SortFunc(all, func(a, b MemberRevisions) int { return cmp.Compare(a.Cluster, b.Cluster) })
	return all, nil
}

func (s *Service) revisionsIn(ctx context.Context, cluster string, deployment *index.Object) ([]Revision, error) {
	page, err := s.lister.Reader.List(ctx, index.ListQuery{
		Types: []index.Type{index.ReplicaSets}, Clusters: []string{cluster}, Namespaces: []string{deployment.Meta.Namespace},
		Order: index.Order{Field: index.OrderByCreation, Desc: true}, Limit: maxRevisions, Detail: index.Whole,
	})
	if err != nil {
		return nil, err
	}
	var revisions []Revision
	for _, o := range page.Items {
		owner := metav1.GetControllerOfNoCopy(&o.Meta)
		number, err := strconv.ParseInt(o.Meta.Annotations[revisionAnnotation], 10, 64)
		if err != nil || owner == nil || owner.UID != deployment.Meta.UID {
			continue
		}
		template, err := templateOf(o)
		if err != nil {
			return nil, err
		}
		revisions = append(revisions, Revision{Cluster: cluster, Number: number, Template: template})
	}
	slices.SortFunc(revisions, func(a, b Revision) int { return cmp.Compare(a.Number, b.Number) })
	return revisions, nil
}

func templateOf(o *index.Object) (map[string]any, error) {
	replicaSet, err := index.Decode[struct {
		Spec struct {
			Template json.RawMessage `json:"template"`
		} `json:"spec"`
	}](o)
	if err != nil {
		return nil, err
	}
	template := map[string]any{}
	if err := json.Unmarshal(replicaSet.Spec.Template, &template); err != nil {
		return nil, err
	}
	if meta, ok := template["metadata"].(map[string]any); ok {
		if labels, ok := meta["labels"].(map[string]any); ok {
			delete(labels, appsv1.DefaultDeploymentUniqueLabelKey)
		}
	}
	return template, nil
}

// Written is a workload that was just written, as the instance stored it.
func (s *Service) Written(ctx context.Context, instanceName string, o *index.Object) Any {
	return newWorkload(s.settingOf(ctx, instanceName), o)
}
