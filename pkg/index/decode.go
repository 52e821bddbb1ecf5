package index

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/clusterpedia-io/client-go/constants"

	"github.com/kairship-io/kairship/pkg/projection"
)

// Most of what a query costs Kairship is reading the index's answers, so each
// answer is read once: its objects' metadata on the way in, and the rest of an
// object, without its metadata, when a caller asks for it.

// errNoCluster is an object of the index that does not say where it is from.
// Serving it could show one instance's object as another's, so it is refused.
var errNoCluster = errors.New("an object of the index has no " + constants.ShadowAnnotationClusterName + " annotation")

// decodeAnswer reads an answer of the index: the objects, which refer to the
// body, and how many more there are. The items of a list of one type need not
// say which type they are of.
func decodeAnswer(body []byte, detail Detail, of Type) ([]*Object, *int64, error) {
	a := struct {
		Items items `json:"items"`
		// A collection of all kinds has the number here, a list of one kind in its metadata.
		RemainingItemCount *int64 `json:"remainingItemCount"`
		Metadata           struct {
			RemainingItemCount *int64 `json:"remainingItemCount"`
		} `json:"metadata"`
	}{Items: items{body: body, detail: detail, of: of}}
	if err := jsonv2.Unmarshal(body, &a, Lenient); err != nil {
		return nil, nil, unavailable(err, "The index gave an answer that can't be read")
	}
	if a.RemainingItemCount == nil {
		a.RemainingItemCount = a.Metadata.RemainingItemCount
	}
	return a.Items.objects, a.RemainingItemCount, nil
}

// items reads the list of objects of a body.
type items struct {
	body    []byte
	detail  Detail
	of      Type
	objects []*Object
}

// UnmarshalJSONFrom implements jsonv2.UnmarshalerFrom.
func (l *items) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	start, err := dec.ReadToken()
	if err != nil || start.Kind() == 'n' {
		return err
	}
	if start.Kind() != '[' {
		return errors.New("the items of an answer are not a list")
	}
	for dec.PeekKind() == '{' {
		o, err := l.object(dec)
		if err != nil {
			return err
		}
		l.objects = append(l.objects, o)
	}
	if end, err := dec.ReadToken(); err != nil {
		return err
	} else if end.Kind() != ']' {
		return errors.New("an item of an answer is not an object")
	}
	return nil
}

// object reads what every object has, and remembers where the object is.
func (l *items) object(dec *jsontext.Decoder) (*Object, error) {
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	o := &Object{detail: l.detail, Kind: l.of.Kind}
	if l.of.Kind != "" {
		o.APIVersion = l.of.GroupVersionResource().GroupVersion().String()
	}
	start := dec.InputOffset() - 1
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		switch name.String() {
		case "apiVersion":
			err = jsonv2.UnmarshalDecode(dec, &o.APIVersion)
		case "kind":
			err = jsonv2.UnmarshalDecode(dec, &o.Kind)
		case "metadata":
			err = jsonv2.UnmarshalDecode(dec, &o.Meta)
		default:
			err = dec.SkipValue()
		}
		if err != nil {
			return nil, err
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	o.raw = l.body[start:dec.InputOffset()]
	if o.Cluster = o.Meta.Annotations[constants.ShadowAnnotationClusterName]; o.Cluster == "" {
		return nil, errNoCluster
	}
	removeShadow(o.Meta.Annotations)
	return o, nil
}

// WithoutShadow are the annotations of an object without those that the index adds.
func WithoutShadow(annotations map[string]string) map[string]string {
	own := maps.Clone(annotations)
	removeShadow(own)
	return own
}

func removeShadow(annotations map[string]string) {
	delete(annotations, constants.ShadowAnnotationClusterName)
	delete(annotations, constants.ShadowAnnotationGroupVersionResource)
}

// NewProjected makes an Object of what the projection has of it at a moment, which refers to
// the text.
func NewProjected(cluster string, t Type, text []byte, state *projection.State, asOf time.Time) (*Object, error) {
	o := &Object{Cluster: cluster, APIVersion: t.GroupVersionResource().GroupVersion().String(), Kind: t.Kind, raw: text, detail: Known, State: state, AsOf: asOf}
	known := struct {
		Meta *metav1.ObjectMeta `json:"metadata"`
	}{&o.Meta}
	if err := jsonv2.Unmarshal(text, &known, Lenient); err != nil {
		return nil, unavailable(err, "The projection has an object that can't be read")
	}
	return o, nil
}

// NewBrief makes an Object of what the projection has of a workload besides its template. Its metadata has nothing
// but what names it, its version, its labels and when it was created.
func NewBrief(key Key, of *projection.Identity, createdAt int64, state *projection.State, asOf time.Time) *Object {
	return &Object{
		Cluster: key.Cluster, APIVersion: key.Type.GroupVersionResource().GroupVersion().String(), Kind: key.Type.Kind, detail: Metadata, State: state, AsOf: asOf,
		Meta: metav1.ObjectMeta{
			Namespace: key.Namespace, Name: key.Name, UID: types.UID(of.UID), ResourceVersion: of.ResourceVersion, Labels: of.Labels,
			CreationTimestamp: metav1.Unix(createdAt, 0),
		},
	}
}

// NewPod makes an Object of the row that the projection has of a pod at a moment. It has the metadata
// that lists show, and no manifest.
func NewPod(row *projection.PodItem, asOf time.Time) *Object {
	return &Object{
		Cluster: row.Cluster, APIVersion: Pods.Version, Kind: Pods.Kind, detail: Metadata, Pod: row, AsOf: asOf,
		Meta: metav1.ObjectMeta{
			Namespace: row.Namespace, Name: row.Name, UID: types.UID(row.UID), ResourceVersion: row.ResourceVersion, Labels: row.Labels,
			CreationTimestamp: metav1.Unix(row.CreatedAt, 0),
		},
	}
}

// NewStored makes an Object of the text that the index has stored of it, or of its metadata
// alone; it refers to the text.
func NewStored(key Key, text []byte, detail Detail) (*Object, error) {
	o := &Object{Cluster: key.Cluster, APIVersion: key.Type.GroupVersionResource().GroupVersion().String(), Kind: key.Type.Kind, raw: text, detail: detail}
	into := any(&struct {
		Meta *metav1.ObjectMeta `json:"metadata"`
	}{&o.Meta})
	if detail == Metadata {
		into = &o.Meta
		o.raw = slices.Concat([]byte(`{"metadata":`), text, []byte("}"))
	}
	if err := jsonv2.Unmarshal(text, into, Lenient); err != nil {
		return nil, unavailable(err, "The index has stored an object that can't be read")
	}
	removeShadow(o.Meta.Annotations)
	return o, nil
}

// Decode returns the object decoded as T. The result is kept, so that fields of
// one object that are resolved side by side decode it once; callers must not
// change it. Its metadata is the object's Meta, without the index's annotations.
func Decode[T any](o *Object) (*T, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if v, ok := o.decoded.(*T); ok {
		return v, nil
	}
	v, options := new(T), Lenient
	if accessor, ok := any(v).(metav1.ObjectMetaAccessor); ok {
		if meta, ok := accessor.GetObjectMeta().(*metav1.ObjectMeta); ok {
			*meta, options = o.Meta, withoutMetadata
		}
	}
	if err := jsonv2.Unmarshal(o.raw, v, options); err != nil {
		return nil, err
	}
	o.decoded = v
	return v, nil
}

// textAt is the text at a path of an object; empty where there is none.
func textAt(raw json.RawMessage, path []string) string {
	if len(path) == 0 {
		return ""
	}
	for _, step := range path {
		var fields map[string]json.RawMessage
		if json.Unmarshal(raw, &fields) != nil {
			return ""
		}
		raw = fields[step]
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return ""
	}
	return text
}
