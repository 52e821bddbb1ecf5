package crdcompat

import (
	"cmp"
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// narrowed compares what bounds a value.
func (c *comparison) narrowed(path string, before, after *apiextensionsv1.JSONSchemaProps) {
	if len(after.Enum) > 0 {
		c.checkf(len(before.Enum) > 0, path, "only some values are allowed now, and all were")
		for i := range before.Enum {
			value := string(before.Enum[i].Raw)
			c.checkf(slices.ContainsFunc(after.Enum, func(j apiextensionsv1.JSON) bool { return string(j.Raw) == value }), path, "the value %s is no longer allowed", value)
		}
	}
	c.checkf(after.Pattern == "" || after.Pattern == before.Pattern, path, "the pattern was %q and is %q", before.Pattern, after.Pattern)
	c.checkf(after.Format == "" || after.Format == before.Format, path, "the format was %q and is %q", before.Format, after.Format)
	c.checkf(!after.UniqueItems || before.UniqueItems, path, "items have to be unique now")
	lower(c, path, "the minimum", before.Minimum, after.Minimum)
	lower(c, path, "the least length", before.MinLength, after.MinLength)
	lower(c, path, "the least number of items", before.MinItems, after.MinItems)
	lower(c, path, "the least number of keys", before.MinProperties, after.MinProperties)
	upper(c, path, "the maximum", before.Maximum, after.Maximum)
	upper(c, path, "the greatest length", before.MaxLength, after.MaxLength)
	upper(c, path, "the greatest number of items", before.MaxItems, after.MaxItems)
	upper(c, path, "the greatest number of keys", before.MaxProperties, after.MaxProperties)
	c.checkf(!after.ExclusiveMinimum || before.ExclusiveMinimum, path, "the minimum itself is no longer allowed")
	c.checkf(!after.ExclusiveMaximum || before.ExclusiveMaximum, path, "the maximum itself is no longer allowed")
	c.checkf(after.MultipleOf == nil || before.MultipleOf != nil && *before.MultipleOf == *after.MultipleOf, path, "has to be a multiple of something else")
}

// merging compares how server-side apply and strategic merges treat a value: objects
// that several managers own would be merged differently.
func (c *comparison) merging(path string, before, after *apiextensionsv1.JSONSchemaProps) {
	c.same(path, "the type of the list", pointed(before.XListType), pointed(after.XListType))
	c.same(path, "the keys of the list", before.XListMapKeys, after.XListMapKeys)
	c.same(path, "the type of the map", pointed(before.XMapType), pointed(after.XMapType))
	c.checkf(before.XEmbeddedResource == after.XEmbeddedResource, path, "it was an embedded object or became one")
}

func lower[N cmp.Ordered](c *comparison, path, what string, before, after *N) {
	c.checkf(after == nil || before != nil && *after <= *before, path, "%s was %v and is %v", what, bound(before), bound(after))
}

func upper[N cmp.Ordered](c *comparison, path, what string, before, after *N) {
	c.checkf(after == nil || before != nil && *after >= *before, path, "%s was %v and is %v", what, bound(before), bound(after))
}

func bound[N any](n *N) any {
	if n == nil {
		return "none"
	}
	return *n
}

func pointed(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func sorted(properties map[string]apiextensionsv1.JSONSchemaProps) []string {
	return slices.Sorted(maps.Keys(properties))
}
