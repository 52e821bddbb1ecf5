package write

import (
	"context"
	"encoding/json"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// PageSize is how many objects one request of Each asks for.
	PageSize = 500
	// MostListed is how many objects Each looks at before it stops.
	MostListed = 5000
)

// metadataOnly asks for lists of metadata, so that the values of Secrets are not sent.
const metadataOnly = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

// Listing says which objects Each lists.
type Listing struct {
	Kind Kind
	// Namespace narrows the list; empty for all namespaces.
	Namespace string
	// Selector is a label selector; empty for all objects.
	Selector string
	// MetadataOnly lists nothing but the metadata.
	MetadataOnly bool
	// Paths says which inputs errors are about.
	Paths Paths
}

// Each calls found with the objects that the instance itself lists for the caller,
// page by page. It reports whether it stopped before the end.
func Each[T any](ctx context.Context, s *Site, l Listing, found func(*T) error) (more bool, err error) {
	segments := []string{"apis", l.Kind.Group, l.Kind.Version}
	if l.Kind.Group == "" {
		segments = []string{"api", l.Kind.Version}
	}
	if l.Kind.Namespaced && l.Namespace != "" {
		segments = append(segments, "namespaces", l.Namespace)
	}
	segments = append(segments, l.Kind.Resource)
	next := ""
	for seen := 0; ; {
		request := s.rest().Verb(http.MethodGet).AbsPath(segments...).
			VersionedParams(&metav1.ListOptions{LabelSelector: l.Selector, Limit: PageSize, Continue: next}, metav1.ParameterCodec)
		if l.MetadataOnly {
			request = request.SetHeader("Accept", metadataOnly)
		}
		result := request.Do(ctx)
		raw, err := result.Raw()
		if err != nil {
			err = result.Error() // The reason that the instance gives in the body.
			return false, Translate(s.Instance, err, l.Kind, http.MethodGet, l.Namespace, "", l.Paths)
		}
		var list struct {
			Metadata metav1.ListMeta `json:"metadata"`
			Items    []T             `json:"items"`
		}
		if err := json.Unmarshal(raw, &list); err != nil {
			return false, err
		}
		for i := range list.Items {
			if err := found(&list.Items[i]); err != nil {
				return false, err
			}
		}
		seen += len(list.Items)
		next = list.Metadata.Continue
		if next == "" || seen >= MostListed {
			return next != "", nil
		}
	}
}
