// Package export writes applications of an instance as manifests that other instances take.
package export

import (
	"context"
	"encoding/json"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/write"
)

// MostObjects is how many objects an export has at most: as many as deployApplication takes.
const MostObjects = 200

// The inputs that errors are about.
const (
	namespaceArgument = "input.namespace"
	objectsArgument   = "input.objects"
	selectorArgument  = "input.labelSelector"
	secretsArgument   = "input.secrets"
)

// kinds are those that are exported, in the order in which they should be written: what others need
// first, policies before what they are about.
var kinds = []schema.GroupVersionKind{
	{Version: "v1", Kind: "ServiceAccount"},
	{Version: "v1", Kind: "ConfigMap"},
	{Version: "v1", Kind: kindSecret},
	{Version: "v1", Kind: "PersistentVolumeClaim"},
	{Group: "policy.karmada.io", Version: "v1alpha1", Kind: kindOverride},
	{Group: "policy.karmada.io", Version: "v1alpha1", Kind: kindPropagation},
	{Version: "v1", Kind: kindService},
	{Group: "apps", Version: "v1", Kind: "Deployment"},
	{Group: "apps", Version: "v1", Kind: "StatefulSet"},
	{Group: "apps", Version: "v1", Kind: "DaemonSet"},
	{Group: "batch", Version: "v1", Kind: "CronJob"},
	{Group: "batch", Version: "v1", Kind: "Job"},
	{Group: "networking.k8s.io", Version: "v1", Kind: kindIngress},
}

const (
	kindSecret      = "Secret"
	kindService     = "Service"
	kindIngress     = "Ingress"
	kindPropagation = "PropagationPolicy"
	kindOverride    = "OverridePolicy"

	kindNamespace       = "Namespace"
	kindWidePropagation = "ClusterPropagationPolicy"
	kindWideOverride    = "ClusterOverridePolicy"
)

// Service exports applications.
type Service struct {
	Writer *write.Writer
}

// Input is the input of exportApplication.
type Input struct {
	Instance      string
	Namespace     string
	Objects       []ObjectInput
	LabelSelector *string
	Dependencies  bool
	Policies      bool
	Secrets       bool
}

// ObjectInput is an object to export.
type ObjectInput struct{ Kind, Name string }

// Application is the answer of exportApplication.
type Application struct {
	// Manifests are YAML documents.
	Manifests string
	Objects   []Object
	Omitted   []Omission
}

// Object is an object in the manifests.
type Object struct{ APIVersion, Kind, Name string }

// Omission is what belongs to the application and is not in the manifests.
type Omission struct{ Kind, Name, Message string }

// Export reads the namespace as the caller, with one request per kind, and writes what was chosen.
func (s *Service) Export(ctx context.Context, in Input) (*Application, error) {
	site, err := s.Writer.To(ctx, in.Instance)
	if apierror.Is(err, apierror.CodeNotFound) {
		return nil, nil //nolint:nilnil // Null in the answer, as for an instance that the caller may not see.
	}
	if err != nil {
		return nil, err
	}
	if in.Namespace == "" {
		return nil, apierror.Invalid(namespaceArgument, "say which namespace")
	}
	if err := write.CheckNamespace(in.Namespace, namespaceArgument); err != nil {
		return nil, err
	}
	if err := site.Permit(ctx, authz.VerbView, in.Namespace); err != nil {
		return nil, err
	}
	if in.Secrets {
		if err := site.PermitSecrets(ctx, in.Namespace); err != nil {
			return nil, apierror.At(err, secretsArgument)
		}
	}
	c := choice{Input: in, selector: labels.Nothing(), namespaceArgument: namespaceArgument}
	if in.LabelSelector != nil {
		if c.selector, err = labels.Parse(*in.LabelSelector); err != nil {
			return nil, apierror.Invalid(selectorArgument, "%v", err)
		}
	}
	application, err := c.export(ctx, site)
	if err == nil && len(application.Objects) > MostObjects {
		return nil, apierror.In(apierror.Invalid(objectsArgument, "these are %d objects, and an export has at most %d: choose some by objects or labelSelector", len(application.Objects), MostObjects), in.Instance)
	}
	return application, err
}

// export reads the namespace and writes what is chosen of it.
func (c *choice) export(ctx context.Context, site *write.Site) (*Application, error) {
	all, err := c.readAll(ctx, site)
	if err != nil {
		return nil, err
	}
	chosen, omitted, err := c.choose(all)
	if err != nil {
		return nil, err
	}
	return written(chosen, omitted)
}

// readAll reads the objects of all kinds in a namespace; Secrets only where they are wanted.
func (c *choice) readAll(ctx context.Context, site *write.Site) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	for _, gvk := range kinds {
		if gvk.Kind == kindSecret && !c.Secrets || isPolicy(gvk.Kind) && !c.Policies {
			continue
		}
		k, err := site.Kind(ctx, gvk)
		if err != nil {
			return nil, err
		}
		found, more, err := list(ctx, site, write.Listing{Kind: k, Namespace: c.Namespace, Paths: write.Paths{"": c.namespaceArgument + "!"}})
		if err != nil {
			return nil, err
		}
		if more {
			return nil, apierror.In(apierror.Invalid(c.namespaceArgument, "namespace %q has more than %d objects of kind %s", c.Namespace, write.MostListed, gvk.Kind), c.Instance)
		}
		all = append(all, found...)
	}
	return all, nil
}

// list lists objects of a kind.
func list(ctx context.Context, site *write.Site, l write.Listing) (all []*unstructured.Unstructured, more bool, err error) {
	more, err = write.Each(ctx, site.Client(), l, func(raw *json.RawMessage) error {
		u := &unstructured.Unstructured{}
		if err := utiljson.Unmarshal(*raw, &u.Object); err != nil {
			return err
		}
		u.SetGroupVersionKind(l.Kind.GVK())
		all = append(all, u)
		return nil
	})
	return all, more, err
}

// written writes objects as YAML.
func written(chosen []*unstructured.Unstructured, omitted []Omission) (*Application, error) {
	out := &Application{Objects: []Object{}, Omitted: append([]Omission{}, omitted...)}
	var docs []string
	for _, u := range chosen {
		text, err := object.YAML(u.Object)
		if err != nil {
			return nil, err
		}
		docs = append(docs, *text)
		out.Objects = append(out.Objects, Object{APIVersion: u.GetAPIVersion(), Kind: u.GetKind(), Name: u.GetName()})
	}
	out.Manifests = strings.Join(docs, "---\n")
	return out, nil
}
