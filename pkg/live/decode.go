package live

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// lenient are the options of all decoding: an API server has accepted what is read.
var lenient = jsonv2.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

var errVersion = errors.New("it gives its objects no versions that can be compared")

// parseVersion reads a resourceVersion. Kubernetes lets them be compared as
// numbers since 1.35, and etcd always had them so.
func parseVersion(text string) (uint64, error) {
	v, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, errVersion
	}
	return v, nil
}

// span is where a member of a JSON object is: its name and its value.
type span struct {
	name     string
	from, to int64
}

// members returns the positions of the members of a JSON object.
func members(raw []byte) ([]span, error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw), lenient)
	if start, err := dec.ReadToken(); err != nil {
		return nil, err
	} else if start.Kind() != '{' {
		return nil, errors.New("not an object")
	}
	spans := make([]span, 0, 6)
	for dec.PeekKind() != '}' {
		token, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		s := span{name: token.String()}
		value, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		s.to = dec.InputOffset()
		s.from = s.to - int64(len(value))
		spans = append(spans, s)
	}
	return spans, nil
}

// appendMember writes a member to a JSON object that is being made.
func appendMember(to []byte, name string, value []byte) []byte {
	if to[len(to)-1] != '{' {
		to = append(to, ',')
	}
	to, _ = jsontext.AppendQuote(to, name) // Only its UTF-8 could be wrong.
	return append(append(to, ':'), value...)
}

// trimMetadata copies an object's metadata without managedFields and without what
// kubectl keeps of the object in an annotation: they are as large as the rest.
func trimMetadata(raw []byte) ([]byte, error) {
	spans, err := members(raw)
	if err != nil {
		return nil, err
	}
	out := append(make([]byte, 0, len(raw)), '{')
	for _, s := range spans {
		value := raw[s.from:s.to]
		switch s.name {
		case "managedFields":
			continue
		case "annotations":
			if value, err = trimAnnotations(value); err != nil {
				return nil, err
			}
			if len(value) == 0 {
				continue
			}
		}
		out = appendMember(out, s.name, value)
	}
	return append(out, '}'), nil
}

// trimAnnotations returns nothing where nothing is left.
func trimAnnotations(raw []byte) ([]byte, error) {
	if !bytes.Contains(raw, []byte(corev1.LastAppliedConfigAnnotation)) {
		return raw, nil
	}
	spans, err := members(raw)
	if err != nil {
		return nil, err
	}
	out := append(make([]byte, 0, len(raw)), '{')
	for _, s := range spans {
		if s.name != corev1.LastAppliedConfigAnnotation {
			out = appendMember(out, s.name, raw[s.from:s.to])
		}
	}
	if len(out) == 1 {
		return nil, nil
	}
	return append(out, '}'), nil
}

// decoder makes Objects of what one source says.
type decoder struct {
	source Source
	now    func() time.Time
}

// object reads one object. What is kept shares no memory with raw. The items of a
// list need not say what kind they are of: of is that of the list.
func (d *decoder) object(raw []byte, of metav1.TypeMeta) (*Object, error) {
	o, err := d.read(raw, of)
	if err != nil {
		return nil, fmt.Errorf("reading one of %s: %w", d.source, err)
	}
	return o, nil
}

func (d *decoder) read(raw []byte, of metav1.TypeMeta) (*Object, error) {
	spans, err := members(raw)
	if err != nil {
		return nil, err
	}
	o := &Object{Source: d.source, APIVersion: of.APIVersion, Kind: of.Kind, Heard: d.now(), memo: &memo{}}
	out := append(make([]byte, 0, len(raw)), '{')
	var metadata []byte
	for _, s := range spans {
		value := raw[s.from:s.to]
		switch s.name {
		case "apiVersion":
			err = jsonv2.Unmarshal(value, &o.APIVersion)
			continue
		case "kind":
			err = jsonv2.Unmarshal(value, &o.Kind)
			continue
		case "metadata":
			value, err = trimMetadata(value)
			metadata = value
		}
		if err != nil {
			return nil, err
		}
		out = appendMember(out, s.name, value)
	}
	if err != nil {
		return nil, err
	}
	if metadata == nil {
		return nil, errors.New("it has no metadata")
	}
	head := []byte("{")
	for _, m := range []struct{ name, value string }{{"apiVersion", o.APIVersion}, {"kind", o.Kind}} {
		if m.value != "" {
			quoted, _ := jsontext.AppendQuote(nil, m.value) // The same.
			head = appendMember(head, m.name, quoted)
		}
	}
	whole := make([]byte, 0, len(head)+len(out)+1)
	whole = append(whole, head...)
	if len(head) > 1 && len(out) > 1 {
		whole = append(whole, ',')
	}
	o.Raw = append(append(whole, out[1:]...), '}')
	if err := jsonv2.Unmarshal(metadata, &o.Meta, lenient); err != nil {
		return nil, err
	}
	o.version, err = parseVersion(o.Meta.ResourceVersion)
	return o, err
}

// listing is what a resource was at a version.
type listing struct {
	objects map[Key]*Object
	version uint64
}

// page reads one page of a list into a listing, and returns how to go on.
func (d *decoder) page(body []byte, into *listing) (next string, err error) {
	var l struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        metav1.ListMeta  `json:"metadata"`
		Items           []jsontext.Value `json:"items"`
	}
	if err := jsonv2.Unmarshal(body, &l, lenient); err != nil {
		return "", fmt.Errorf("reading the list of %s: %w", d.source, err)
	}
	if into.version, err = parseVersion(l.Metadata.ResourceVersion); err != nil {
		return "", err
	}
	of := metav1.TypeMeta{APIVersion: l.APIVersion, Kind: strings.TrimSuffix(l.Kind, "List")}
	for _, item := range l.Items {
		o, err := d.object(item, of)
		if err != nil {
			return "", err
		}
		into.objects[o.Key()] = o
	}
	return l.Metadata.Continue, nil
}

// frame is what a watch says at once.
type frame struct {
	kind string
	// object is nil for a bookmark.
	object *Object
	// version is that of the object or bookmark.
	version uint64
	// listed: everything that was there when the watch began has been said.
	listed bool
}

// frameOf reads one frame of a watch. A frame that reports that the watch failed is an error.
func (d *decoder) frameOf(raw []byte) (frame, error) {
	var f struct {
		Type   string         `json:"type"`
		Object jsontext.Value `json:"object"`
	}
	if err := jsonv2.Unmarshal(raw, &f, lenient); err != nil {
		return frame{}, fmt.Errorf("reading the watch of %s: %w", d.source, err)
	}
	switch f.Type {
	case "ADDED", "MODIFIED", "DELETED":
		o, err := d.object(f.Object, metav1.TypeMeta{})
		if err != nil {
			return frame{}, err
		}
		return frame{kind: f.Type, object: o, version: o.version}, nil
	case "BOOKMARK":
		var b struct {
			Metadata struct {
				ResourceVersion string            `json:"resourceVersion"`
				Annotations     map[string]string `json:"annotations"`
			} `json:"metadata"`
		}
		if err := jsonv2.Unmarshal(f.Object, &b, lenient); err != nil {
			return frame{}, fmt.Errorf("reading a bookmark of %s: %w", d.source, err)
		}
		version, err := parseVersion(b.Metadata.ResourceVersion)
		return frame{kind: f.Type, version: version, listed: b.Metadata.Annotations[metav1.InitialEventsAnnotationKey] == "true"}, err
	case "ERROR":
		var status metav1.Status
		if err := json.Unmarshal(f.Object, &status); err != nil {
			return frame{}, fmt.Errorf("reading why the watch of %s ended: %w", d.source, err)
		}
		return frame{}, answered(int(status.Code), &status)
	}
	return frame{}, fmt.Errorf("the watch of %s said %q, which is nothing known", d.source, f.Type)
}
