package resources

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kairship-io/kairship/pkg/fleet/write"
)

// Tried are manifests that the instance would accept.
type Tried struct {
	Site *write.Site
	// Objects are as the instance would store them, whatever the caller may see of them: for decisions, and
	// not to be shown.
	Objects []*unstructured.Unstructured
	// Unverified are the paths of the documents that could not be tried, because others bring their namespace or
	// kind.
	Unverified []string
}

// Try has the instance check manifests in a dry run, as the caller, and refuses what Apply refuses.
func (s *Service) Try(ctx context.Context, in ApplyInput) (*Tried, error) {
	site, err := s.Writer.To(ctx, in.Instance)
	if err != nil {
		return nil, err
	}
	documents, err := parseDocuments(in.Manifests)
	if err != nil {
		return nil, err
	}
	options := WriteOptions{Namespace: in.Namespace, Force: in.Force, DryRun: true}
	if options.Namespace != nil {
		if err := write.CheckNamespace(*options.Namespace, "input.namespace"); err != nil {
			return nil, err
		}
	}
	steps, err := s.plan(ctx, site, documents, options)
	if err != nil {
		return nil, err
	}
	tried := &Tried{Site: site}
	if err := s.dryRun(ctx, site, steps, options); err != nil {
		return nil, err
	}
	for _, st := range steps {
		switch {
		case st.err != nil:
			return nil, st.err
		case st.stored == nil:
			tried.Unverified = append(tried.Unverified, st.argument())
		default:
			tried.Objects = append(tried.Objects, st.stored)
		}
	}
	return tried, nil
}
