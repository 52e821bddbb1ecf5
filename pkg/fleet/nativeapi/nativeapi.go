// Package nativeapi answers reads of the native Kubernetes API from the index: the same
// objects and lists as an instance's API server, without asking it.
package nativeapi

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/fleet/resource"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/quota"
)

const (
	// pageSize is the largest page of the index.
	pageSize = 500
	// maxItems is how many objects a list without a limit has; the rest follows with
	// its continue token.
	maxItems = 5000
	// textCopies is how many copies of an object's text there are while a list is written:
	// its own, and those in the buffer of the answer, which doubles.
	textCopies = 4
)

// Service reads from the index what the user of the context may see.
type Service struct {
	resources *resource.Service
	scope     func(context.Context) context.Context
}

// NewService makes a Service. scope gives a context what lives as long as one
// operation.
func NewService(resources *resource.Service, scope func(context.Context) context.Context) *Service {
	return &Service{resources: resources, scope: scope}
}

// Has reports whether the index collects the objects of a kind.
func (s *Service) Has(ctx context.Context, instance string, of schema.GroupVersionResource) (bool, error) {
	return s.resources.Indexed(ctx, instance, kind(of))
}

// Get reads one object; namespace is empty for kinds without one. Errors are
// *apierror.Error.
func (s *Service) Get(ctx context.Context, instance string, of schema.GroupVersionResource, namespace, name string) (any, map[string]string, error) {
	f := &resource.Filter{Name: []string{name}, Namespaces: []string{namespace}}
	one := 1
	c, err := s.resources.List(s.scope(ctx), instance, kind(of), page.Args{First: &one}, f, nil, false, index.Whole)
	if err != nil {
		return nil, nil, err
	}
	if len(c.Nodes) == 0 {
		return nil, nil, apierror.NotFound(of.GroupResource().String(), name)
	}
	text, err := c.Nodes[0].Manifest()
	if err == nil {
		err = quota.From(ctx).Hold(textCopies * int64(len(text)))
	}
	return text, describe(c.Freshness), err
}

// List reads a list; namespace is empty for all of them. The query is that of
// Kubernetes: limit, continue, labelSelector, and fieldSelector on name and
// namespace.
func (s *Service) List(ctx context.Context, instance string, of schema.GroupVersionResource, namespace string, query url.Values) (any, map[string]string, error) {
	f, err := filterOf(namespace, query)
	if err != nil {
		return nil, nil, err
	}
	limit, err := limitOf(query)
	if err != nil {
		return nil, nil, err
	}
	ctx = s.scope(ctx)
	itemKind, items, after := "", []json.RawMessage{}, query.Get("continue")
	for {
		size := min(pageSize, limit-len(items))
		args := page.Args{First: &size}
		if after != "" {
			args.After = &after
		}
		c, err := s.resources.List(ctx, instance, kind(of), args, f, nil, false, index.Whole)
		if err != nil {
			return nil, nil, err
		}
		for _, node := range c.Nodes {
			text, err := node.Manifest()
			if err != nil {
				return nil, nil, err
			}
			if err := quota.From(ctx).Hold(textCopies * int64(len(text))); err != nil {
				return nil, nil, err
			}
			itemKind, items = node.ObjectKind(), append(items, text)
		}
		after = ""
		if c.PageInfo.HasNextPage && c.PageInfo.EndCursor != nil {
			after = *c.PageInfo.EndCursor
		}
		if after == "" || len(items) >= limit {
			return list(of, itemKind, items, after), describe(c.Freshness), nil
		}
	}
}

// list is a list as an API server writes it. Its kind is guessed where it is
// empty: the index has no names of kinds.
func list(of schema.GroupVersionResource, itemKind string, items []json.RawMessage, after string) map[string]any {
	listKind := itemKind + "List"
	version := of.GroupVersion().String()
	if itemKind == "" {
		version = "v1"
	}
	metadata := map[string]any{"resourceVersion": ""}
	if after != "" {
		metadata["continue"] = after
	}
	return map[string]any{"apiVersion": version, "kind": listKind, "metadata": metadata, "items": items}
}

func kind(of schema.GroupVersionResource) resource.Kind {
	return resource.Kind{Group: of.Group, Version: of.Version, Resource: of.Resource}
}

func limitOf(query url.Values) (int, error) {
	text := query.Get("limit")
	if text == "" || text == "0" {
		return maxItems, nil
	}
	limit, err := strconv.Atoi(text)
	if err != nil || limit < 0 {
		return 0, apierror.Invalid("limit", "%q is not a number of objects", text)
	}
	return min(limit, maxItems), nil
}

func filterOf(namespace string, query url.Values) (*resource.Filter, error) {
	f := &resource.Filter{}
	if namespace != "" {
		f.Namespaces = []string{namespace}
	}
	if selector := query.Get("labelSelector"); selector != "" {
		f.LabelSelector = &selector
	}
	selector, err := fields.ParseSelector(query.Get("fieldSelector"))
	if err != nil {
		return nil, apierror.Invalid("fieldSelector", "it can't be read: write for example metadata.name=web")
	}
	for _, wanted := range selector.Requirements() {
		switch {
		case wanted.Operator != "=" && wanted.Operator != "==":
			return nil, apierror.Invalid("fieldSelector", "the index knows = only")
		case wanted.Field == "metadata.name":
			f.Name = append(f.Name, wanted.Value)
		case wanted.Field == "metadata.namespace" && (namespace == "" || namespace == wanted.Value):
			f.Namespaces = []string{wanted.Value}
		default:
			return nil, apierror.Invalid("fieldSelector", "the index knows metadata.name and metadata.namespace only, not %q", wanted.Field)
		}
	}
	return f, nil
}

// describe says in headers how fresh an answer is.
func describe(f freshness.Freshness) map[string]string {
	headers := map[string]string{"Kairship-Source": string(f.Source), "Kairship-Stale": strconv.FormatBool(f.Stale)}
	if f.ObservedAt != nil {
		headers["Kairship-Observed-At"] = f.ObservedAt.UTC().Format("2006-01-02T15:04:05.000Z07:00")
	}
	return headers
}
