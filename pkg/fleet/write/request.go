package write

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/rest"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/consistency"
	"github.com/kairship-io/kairship/pkg/fleet/access"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
)

// Options are what every write has.
type Options struct {
	// DryRun has the instance do everything but store the result.
	DryRun bool
	// Paths says which input each field of the object comes from.
	Paths Paths
}

// Outcome is what a write did.
type Outcome struct {
	// Object is what the instance stored, or would have stored, as the caller may
	// see it; for a deletion that is not complete, what is left. Nil when the object
	// no longer exists.
	Object *index.Object
	// Created reports whether there was none before.
	Created bool
	// DryRun reports whether nothing was stored.
	DryRun bool
	// Version is for the consistency token. Of a dry run it is what was there before.
	Version consistency.Version
	// stored is the object whatever the caller may see of it.
	stored *unstructured.Unstructured
}

// Stored is the object as the instance stored it, for decisions and not to be
// shown; nil when it no longer exists.
func (o *Outcome) Stored() *unstructured.Unstructured { return o.stored }

// Create stores a new object.
func (s *Site) Create(ctx context.Context, k Kind, obj *unstructured.Unstructured, o Options) (*Outcome, error) {
	return s.send(ctx, call{
		verb: http.MethodPost, kind: k, namespace: obj.GetNamespace(), name: obj.GetName(), collection: true,
		object: obj.Object, params: o.params(), options: o,
	})
}

// Update replaces an object. Its resourceVersion is the one it is based on.
func (s *Site) Update(ctx context.Context, k Kind, obj *unstructured.Unstructured, o Options) (*Outcome, error) {
	return s.send(ctx, call{
		verb: http.MethodPut, kind: k, namespace: obj.GetNamespace(), name: obj.GetName(),
		object: obj.Object, params: o.params(), options: o,
	})
}

// Patch changes an object.
func (s *Site) Patch(ctx context.Context, k Kind, namespace, name string, of types.PatchType, patch []byte, o Options) (*Outcome, error) {
	return s.send(ctx, call{
		verb: http.MethodPatch, kind: k, namespace: namespace, name: name,
		contentType: string(of), body: patch, params: o.params(), options: o,
	})
}

// Apply stores an object by server-side apply: it creates it, or changes the
// fields that it names. Fields that another manager owns are a conflict, unless
// force takes them over.
func (s *Site) Apply(ctx context.Context, k Kind, obj *unstructured.Unstructured, force bool, o Options) (*Outcome, error) {
	if err := checkVersion(obj, o.Paths); err != nil {
		return nil, apierror.In(err, s.Instance)
	}
	params := o.params()
	if force {
		params.Set("force", "true")
	}
	return s.send(ctx, call{
		verb: http.MethodPatch, kind: k, namespace: obj.GetNamespace(), name: obj.GetName(),
		contentType: string(types.ApplyPatchType), object: obj.Object, params: params, options: o,
	})
}

// Deletion says how an object is deleted.
type Deletion struct {
	// Propagation is the propagation policy for dependents of the object; nil means the default of
	// its kind.
	Propagation *metav1.DeletionPropagation
	// UID and ResourceVersion: only the object that has them, where not empty. Those
	// that come from inputs are checked by CheckPreconditions.
	UID, ResourceVersion string
}

// Delete deletes an object. One with finalizers is marked and still there.
func (s *Site) Delete(ctx context.Context, k Kind, namespace, name string, d Deletion, o Options) (*Outcome, error) {
	options := metav1.DeleteOptions{
		TypeMeta:          metav1.TypeMeta{Kind: "DeleteOptions", APIVersion: "v1"},
		PropagationPolicy: d.Propagation,
	}
	if d.UID != "" || d.ResourceVersion != "" {
		options.Preconditions = &metav1.Preconditions{}
		if d.UID != "" {
			uid := types.UID(d.UID)
			options.Preconditions.UID = &uid
		}
		if d.ResourceVersion != "" {
			options.Preconditions.ResourceVersion = &d.ResourceVersion
		}
	}
	if o.DryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	return s.send(ctx, call{verb: http.MethodDelete, kind: k, namespace: namespace, name: name, object: options, params: url.Values{}, options: o})
}

// Get reads an object from the instance itself. What a write is based on must not
// come from the index, which lags.
func (s *Site) Get(ctx context.Context, k Kind, namespace, name string, paths Paths) (*unstructured.Unstructured, error) {
	raw, err := answer(s.client.REST().Get().AbsPath(path(k, namespace, name)...).Do(ctx))
	if err != nil {
		return nil, s.translate(ctx, call{verb: http.MethodGet, kind: k, namespace: namespace, name: name, options: Options{Paths: paths}}, err)
	}
	u := &unstructured.Unstructured{}
	return u, u.UnmarshalJSON(raw)
}

// params are the query of every write. Fields that a kind does not have are
// refused: to drop them would change less than was asked for.
func (o Options) params() url.Values {
	v := url.Values{"fieldManager": {FieldManager}, "fieldValidation": {metav1.FieldValidationStrict}}
	if o.DryRun {
		v.Set("dryRun", metav1.DryRunAll)
	}
	return v
}

// call is one request to the instance.
type call struct {
	verb            string
	kind            Kind
	namespace, name string
	// collection reports whether the request is to the list, not to the object.
	collection  bool
	contentType string
	// body, or object to be encoded.
	body    []byte
	object  any
	params  url.Values
	options Options
}

func path(k Kind, namespace, name string) []string {
	segments := []string{"api", k.Version}
	if k.Group != "" {
		segments = []string{"apis", k.Group, k.Version}
	}
	if k.Namespaced {
		segments = append(segments, "namespaces", namespace)
	}
	segments = append(segments, k.Resource)
	if name != "" {
		segments = append(segments, name)
	}
	return segments
}

// answer is what the instance answered. The error of Raw alone is made of the
// HTTP status: what the instance reports about the reason is in the body.
func answer(r rest.Result) ([]byte, error) {
	if err := r.Error(); err != nil {
		return nil, err
	}
	return r.Raw()
}

func (s *Site) send(ctx context.Context, c call) (*Outcome, error) {
	if c.body == nil {
		var err error
		if c.body, err = json.Marshal(c.object); err != nil {
			return nil, err
		}
	}
	name := c.name
	if c.collection {
		name = ""
	}
	contentType := c.contentType
	if contentType == "" {
		contentType = "application/json"
	}
	var status int
	try := func() ([]byte, error) {
		request := s.client.REST().Verb(c.verb).AbsPath(path(c.kind, c.namespace, name)...).SetHeader("Content-Type", contentType).Body(c.body)
		for key, values := range c.params {
			request = request.Param(key, values[0])
		}
		return answer(request.Do(ctx).StatusCode(&status))
	}
	raw, err := try()
	if apierrors.IsForbidden(err) && c.kind.Namespaced {
		switch came, missing := s.rightsCame(ctx, c.namespace); {
		case missing != nil:
			err = missing
		case came:
			raw, err = try()
		}
	}
	if err != nil {
		err = s.translate(ctx, c, err)
		if !c.options.DryRun {
			s.writer.Refused(ctx, projection.ActivityVerb(c.how()), s.version(c), err)
		}
		return nil, err
	}
	out, err := s.outcome(c, raw, status == http.StatusCreated)
	if out != nil && !out.DryRun {
		s.writer.record(ctx, c.how(), &out.Version)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// how is the word of the history for a write.
func (c *call) how() string {
	switch {
	case c.verb == http.MethodPost:
		return "CREATE"
	case c.verb == http.MethodPut:
		return "UPDATE"
	case c.verb == http.MethodDelete:
		return "DELETE"
	case c.contentType == string(types.ApplyPatchType):
		return "APPLY"
	}
	return "PATCH"
}

// version names the object of a call.
func (s *Site) version(c call) *consistency.Version {
	return &consistency.Version{
		Instance: s.Instance, Group: c.kind.Group, Version: c.kind.Version, Resource: c.kind.Resource, Kind: c.kind.Kind,
		Namespace: c.namespace, Name: c.name,
	}
}

// outcome reads what the instance answered to a write. It is not nil where only what it shows cannot be read.
func (s *Site) outcome(c call, raw []byte, created bool) (*Outcome, error) {
	at := s.writer.Now()
	u := &unstructured.Unstructured{}
	// Integers stay integers, as in what Get reads: the two are compared.
	if err := utiljson.Unmarshal(raw, &u.Object); err != nil {
		return nil, apierror.Wrap(err, apierror.CodeInternal, "internal error")
	}
	out := &Outcome{Created: created, DryRun: c.options.DryRun, Version: *s.version(c)}
	if c.verb == http.MethodDelete && u.GetKind() == "Status" {
		out.Version.Deleted = true
		out.Version.UID, _, _ = unstructured.NestedString(u.Object, "details", "uid")
		return out, nil
	}
	out.stored = u
	out.Version.Name = u.GetName() // generateName was given one.
	out.Version.UID, out.Version.ResourceVersion = string(u.GetUID()), u.GetResourceVersion()
	out.Version.Deleting = u.GetDeletionTimestamp() != nil
	if c.verb == http.MethodDelete && u.GetDeletionTimestamp() == nil {
		// Some kinds answer with what they have just removed.
		out.Version.Deleted, out.Version.ResourceVersion, out.stored = true, "", nil
		return out, nil
	}
	live, err := index.NewLive(s.cluster(), u.Object, at)
	if err == nil {
		out.Object, err = access.Shown(s.grant, c.kind.Type(), live)
	}
	return out, err
}
