package write

import (
	"context"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/audit"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/consistency"
	"github.com/kairship-io/kairship/pkg/fleet/access"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/instanceproxy"
)

// FieldManager owns the fields that are written through Kairship.
const FieldManager = "kairship"

// InstanceArgument is the input of every mutation that names its instance.
const InstanceArgument = "input.instance"

// Writer is the way to all instances.
type Writer struct {
	Access  *access.Access
	Clients instanceproxy.Clients
	Tokens  *consistency.Tokens
	Logger  *slog.Logger
	Now     func() time.Time
	// Recorder keeps who wrote what; nil where the program was given no database.
	Recorder *Recorder
}

// Site is one instance, as one caller may change it.
type Site struct {
	// Instance is its name.
	Instance string

	writer *Writer
	client instanceproxy.Client
	grant  authz.Grant
}

// To begins writing to an instance. One that the caller may not see is missing.
func (w *Writer) To(ctx context.Context, instance string) (*Site, error) {
	grant, visible, err := w.Access.Instance(ctx, instance)
	if err != nil {
		return nil, err
	}
	if !visible {
		return nil, missing(instance)
	}
	client, err := w.Clients.Get(ctx, instance)
	if apierror.Is(err, apierror.CodeNotFound) {
		return nil, missing(instance)
	}
	if err != nil {
		return nil, apierror.In(err, instance)
	}
	return &Site{Instance: instance, writer: w, client: client, grant: grant}, nil
}

func missing(instance string) error {
	return apierror.At(apierror.NotFound("Instance", instance), InstanceArgument)
}

// Permit refuses what the caller may not do in a namespace of the instance;
// namespace "" stands for objects without one. The instance decides again, and
// knows more: which kinds, for one.
func (s *Site) Permit(ctx context.Context, verb authz.Verb, namespace string) error {
	if s.grant.Can(verb, namespace) {
		return nil
	}
	audit.From(ctx).Refuse(s.Instance)
	where := "in namespace " + quote(namespace)
	if namespace == "" {
		where = "that have no namespace"
	}
	return apierror.In(apierror.New(apierror.CodeForbidden, "your roles do not let you %s objects %s of instance %q", verb, where, s.Instance), s.Instance)
}

// Reads reports whether the caller may read objects in a namespace of the instance;
// namespace "" stands for objects without one.
func (s *Site) Reads(namespace string) bool { return s.grant.CanRead(namespace) }

// Reach returns where a verb on objects is allowed in the instance.
func (s *Site) Reach(verb authz.Verb) authz.Reach { return s.grant.Reach(verb) }

// Client is the client of the instance, which sends everything as the caller.
func (s *Site) Client() instanceproxy.Client { return s.client }

// Kind is a kind that the instance serves.
type Kind struct {
	schema.GroupVersionResource
	Kind       string
	Namespaced bool
}

// GVK is the kind in the words of manifests.
func (k Kind) GVK() schema.GroupVersionKind { return k.GroupVersion().WithKind(k.Kind) }

// Type is the kind in the words of the index.
func (k Kind) Type() index.Type {
	return index.Type{Group: k.Group, Version: k.Version, Resource: k.Resource, Kind: k.Kind}
}

// Kind finds a kind by the words of manifests. The error is meta.IsNoMatchError
// when the instance does not serve it.
func (s *Site) Kind(ctx context.Context, gvk schema.GroupVersionKind) (Kind, error) {
	m, err := s.client.RESTMapper(ctx).RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return Kind{}, s.upstream(err)
	}
	return Kind{GroupVersionResource: m.Resource, Kind: m.GroupVersionKind.Kind, Namespaced: m.Scope.Name() == meta.RESTScopeNameNamespace}, nil
}

// kindOf finds a kind by its resource, as Kind does.
func (s *Site) kindOf(ctx context.Context, gvr schema.GroupVersionResource) (Kind, error) {
	gvk, err := s.client.RESTMapper(ctx).KindFor(gvr)
	if err != nil {
		return Kind{}, s.upstream(err)
	}
	return s.Kind(ctx, gvk)
}

// upstream says which instance an error of Kairship's own belongs to.
func (s *Site) upstream(err error) error { return apierror.In(err, s.Instance) }

func (s *Site) cluster() string { return v1alpha1.VirtualClusterName(s.Instance) }

// Token is the consistency token of some writes; nil when nothing was written.
// A token that cannot be made now does not cost a caller the answer to a write that was
// made: it is null, and the reason is in the log.
func (w *Writer) Token(ctx context.Context, outcomes ...*Outcome) *string {
	var versions []consistency.Version
	for _, o := range outcomes {
		if o != nil && !o.DryRun {
			versions = append(versions, o.Version)
		}
	}
	if len(versions) == 0 || w.Tokens == nil {
		return nil
	}
	token, err := w.Tokens.Issue(ctx, versions...)
	if err != nil {
		w.Logger.WarnContext(ctx, "a write has no consistency token", "error", err)
		return nil
	}
	return &token
}

func quote(s string) string { return `"` + s + `"` }
