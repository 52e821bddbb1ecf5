package workload

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// RevisionList is what the members keep of a workload.
type RevisionList struct {
	// Nodes are the revisions of each member by name, the newest first; nil where Message says why they are not known.
	Nodes   []*ListedRevision
	Message *string
}

// ListedRevision is a revision in a list.
type ListedRevision struct {
	ClusterName string
	Number      int
	CreatedAt   time.Time
	ChangeCause *string
	// Images are those of its containers, those of init containers last.
	Images []string
	// Current reports whether it is the newest of its member, which is what the member runs or rolls out.
	Current bool
	// Overridden reports whether override policies change what is sent there now.
	Overridden bool
}

// ListRevisions returns the revisions that Revisions finds, for a reader.
func (s *Service) ListRevisions(ctx context.Context, instanceName string, kind Kind, namespace, name string) (*RevisionList, error) {
	if !slices.Contains(KindsWithRevisions(), kind) {
		return unlisted("No controller keeps revisions of the kind %s.", kind), nil
	}
	members, err := s.Revisions(ctx, instanceName, kind, namespace, name)
	if err != nil {
		return nil, err
	}
	if len(members) == 0 {
		return unlisted("No member cluster that you may see runs this workload, so none is known to keep revisions of it."), nil
	}
	return listed(members), nil
}

func unlisted(format string, args ...any) *RevisionList {
	message := fmt.Sprintf(format, args...)
	return &RevisionList{Message: &message}
}

// listed makes the list of what members keep.
func listed(members []MemberRevisions) *RevisionList {
	list := &RevisionList{Nodes: []*ListedRevision{}}
	for i := range members {
		m := &members[i]
		for j, r := range slices.Backward(m.Revisions) {
			list.Nodes = append(list.Nodes, &ListedRevision{
				ClusterName: m.Cluster, Number: r.Number, CreatedAt: r.CreatedAt, ChangeCause: r.ChangeCause, Images: imagesOfTemplate(r.Template),
				Current: j == len(m.Revisions)-1, Overridden: len(m.Overrides) > 0,
			})
		}
	}
	return list
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
