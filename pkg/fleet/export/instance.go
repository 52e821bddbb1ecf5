package export

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/authz/roles"
	"github.com/kairship-io/kairship/pkg/fleet/write"
)

const (
	// MostNamespaces is how many namespaces an export of an instance has at most.
	MostNamespaces = 50
	// MostInstanceObjects is how many objects an export of an instance has at most, with and without a namespace.
	MostInstanceObjects = 5000
	// readAtOnce is how many namespaces are read at the same time.
	readAtOnce = 4

	namespacesArgument = "input.namespaces"
)

// bindings are of what policies propagate in namespaces, and wideBindings of what has none.
var (
	bindings     = schema.GroupVersionKind{Group: "work.karmada.io", Version: "v1alpha2", Kind: "ResourceBinding"}
	wideBindings = schema.GroupVersionKind{Group: "work.karmada.io", Version: "v1alpha2", Kind: "ClusterResourceBinding"}
)

// InstanceInput is the input of exportInstance.
type InstanceInput struct {
	Instance   string
	Namespaces []string
	Policies   bool
	Secrets    bool
}

// Instance is the answer of exportInstance.
type Instance struct {
	Namespaces []*Namespace

	in   InstanceInput
	site *write.Site
}

// Namespace is an exported namespace.
type Namespace struct {
	Namespace string
	Application
}

// ExportInstance reads each namespace as the caller in which policies propagate something, as Export does.
func (s *Service) ExportInstance(ctx context.Context, in InstanceInput) (*Instance, error) {
	site, err := s.Writer.To(ctx, in.Instance)
	if apierror.Is(err, apierror.CodeNotFound) {
		return nil, nil //nolint:nilnil // Null in the answer, as for an instance that the caller may not see.
	}
	if err != nil {
		return nil, err
	}
	e := &Instance{in: in, site: site}
	names, err := e.propagated(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if !in.Secrets {
			break
		}
		if err := site.PermitSecrets(ctx, name); err != nil {
			return nil, apierror.At(err, secretsArgument)
		}
	}
	e.Namespaces = make([]*Namespace, len(names))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(readAtOnce)
	for i, name := range names {
		g.Go(func() (err error) {
			e.Namespaces[i], err = e.namespace(ctx, name)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return e, e.checkObjects(0)
}

// propagated are the namespaces that the caller may read and in which policies propagate something, in order. Those of
// Kubernetes and Karmada are not among them.
func (e *Instance) propagated(ctx context.Context) ([]string, error) {
	names, all, err := e.readable()
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	if all {
		if err := e.bound(ctx, "", found); err != nil {
			return nil, err
		}
	}
	names = slices.DeleteFunc(names, roles.Reserved)
	if err := e.checkNamespaces(len(names)); err != nil {
		return nil, err
	}
	for _, name := range names {
		if err := e.bound(ctx, name, found); err != nil {
			return nil, err
		}
	}
	maps.DeleteFunc(found, func(name string, _ bool) bool { return roles.Reserved(name) })
	return slices.Sorted(maps.Keys(found)), e.checkNamespaces(len(found))
}

// readable are the namespaces to look into, of those that the caller may read; or that it is all of them.
func (e *Instance) readable() (names []string, all bool, err error) {
	reach := e.site.Reach(authz.VerbView)
	if e.in.Namespaces == nil {
		return slices.Clone(reach.Namespaces), reach.EveryNamespace, nil
	}
	for i, name := range e.in.Namespaces {
		argument := fmt.Sprintf("%s[%d]", namespacesArgument, i)
		if name == "" {
			return nil, false, apierror.Invalid(argument, "say which namespace")
		}
		if err := write.CheckNamespace(name, argument); err != nil {
			return nil, false, err
		}
		if e.site.Reads(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), false, nil
}

// bound adds the namespaces in which policies propagate something; namespace "" looks into all of them.
func (e *Instance) bound(ctx context.Context, namespace string, found map[string]bool) error {
	k, err := e.site.Kind(ctx, bindings)
	if err != nil {
		return err
	}
	l := write.Listing{Kind: k, Namespace: namespace, MetadataOnly: true, Paths: write.Paths{"": namespacesArgument + "!"}}
	more, err := write.Each(ctx, e.site.Client(), l, func(b *metav1.PartialObjectMetadata) error {
		found[b.Namespace] = true
		return nil
	})
	if more && err == nil {
		err = e.tooLarge("policies propagate more than %d objects", write.MostListed)
	}
	return err
}

// namespace exports one namespace.
func (e *Instance) namespace(ctx context.Context, name string) (*Namespace, error) {
	c := choice{
		Input:    Input{Instance: e.in.Instance, Namespace: name, Dependencies: true, Policies: e.in.Policies, Secrets: e.in.Secrets},
		selector: labels.Nothing(), namespaceArgument: namespacesArgument,
	}
	application, err := c.export(ctx, e.site)
	if err != nil {
		return nil, err
	}
	return &Namespace{name, *application}, nil
}

// checkObjects refuses more objects than an export has, with some more than those in namespaces.
func (e *Instance) checkObjects(more int) error {
	for _, n := range e.Namespaces {
		more += len(n.Objects)
	}
	if more > MostInstanceObjects {
		return e.tooLarge("these are %d objects, and an export has at most %d", more, MostInstanceObjects)
	}
	return nil
}

func (e *Instance) checkNamespaces(n int) error {
	if n > MostNamespaces {
		return e.tooLarge("these are %d namespaces, and an export has at most %d", n, MostNamespaces)
	}
	return nil
}

// tooLarge says why an export is refused, and what to do.
func (e *Instance) tooLarge(format string, args ...any) error {
	return apierror.In(apierror.Invalid(namespacesArgument, format+": name some of the namespaces, and export the others after them", args...), e.in.Instance)
}
