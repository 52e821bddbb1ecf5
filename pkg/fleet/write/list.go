package write

import (
	"context"
	"encoding/json"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/kairship-io/kairship/pkg/instanceproxy"
)

const (
	// PageSize is how many objects one request of Each asks for.
	PageSize = 500
	// MostListed is how many objects Each looks at before it stops.
	MostListed = 5000
)

// metadataOnly asks for lists of metadata, so that the values of Secrets are not sent. An
// aggregated API that has no such lists sends whole objects.
const metadataOnly = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"

// Listing says which objects Each lists.
type Listing struct {
	Kind Kind
	// Namespace narrows the list; empty for all namespaces.
	Namespace string
	// Selector is a label selector; empty for all objects.
	Selector string
	// Name is the name of the only object wanted; empty for all objects.
	Name string
	// MetadataOnly lists nothing but the metadata.
	MetadataOnly bool
	// Paths says which inputs errors are about.
	Paths Paths
}

// Each calls found with the objects that the instance itself lists for the user of ctx,
// page by page. It reports whether it stopped before the end.
func Each[T any](ctx context.Context, client instanceproxy.Client, l Listing, found func(*T) error) (more bool, err error) {
	segments := []string{"apis", l.Kind.Group, l.Kind.Version}
	if l.Kind.Group == "" {
		segments = []string{"api", l.Kind.Version}
	}
	if l.Kind.Namespaced && l.Namespace != "" {
		segments = append(segments, "namespaces", l.Namespace)
	}
	segments = append(segments, l.Kind.Resource)
	options := metav1.ListOptions{LabelSelector: l.Selector, Limit: PageSize}
	if l.Name != "" {
		options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, l.Name).String()
	}
	for seen := 0; ; {
		request := client.REST().Verb(http.MethodGet).AbsPath(segments...).VersionedParams(&options, metav1.ParameterCodec)
		if l.MetadataOnly {
			request = request.SetHeader("Accept", metadataOnly)
		}
		result := request.Do(ctx)
		raw, err := result.Raw()
		if err != nil {
			err = result.Error() // The reason that the instance gives in the body.
			return false, Translate(client.Instance(), err, l.Kind, http.MethodGet, l.Namespace, "", l.Paths)
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
		options.Continue = list.Metadata.Continue
		if options.Continue == "" || seen >= MostListed {
			return options.Continue != "", nil
		}
	}
}
