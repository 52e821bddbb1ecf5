// Package crdcompat finds changes of a custom resource definition that break stored objects
// or clients that write such objects: valid objects must stay valid, and stored fields must be
// kept.
package crdcompat

import (
	"fmt"
	"reflect"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Compare says what is narrower in the second definition than in the first; nothing
// when every object of the first is one of the second.
func Compare(before, after *apiextensionsv1.CustomResourceDefinition) []string {
	c := &comparison{}
	c.same(before.Name, "the group", before.Spec.Group, after.Spec.Group)
	c.same(before.Name, "the kind", before.Spec.Names.Kind, after.Spec.Names.Kind)
	c.same(before.Name, "the plural", before.Spec.Names.Plural, after.Spec.Names.Plural)
	c.same(before.Name, "the scope", before.Spec.Scope, after.Spec.Scope)
	for _, short := range before.Spec.Names.ShortNames {
		c.checkf(slices.Contains(after.Spec.Names.ShortNames, short), before.Name, "the short name %q is gone", short)
	}
	for i := range before.Spec.Versions {
		c.version(before.Name, &before.Spec.Versions[i], after)
	}
	return c.problems
}

type comparison struct{ problems []string }

// checkf notes a problem at a path unless ok.
func (c *comparison) checkf(ok bool, path, format string, args ...any) {
	if !ok {
		c.problems = append(c.problems, path+": "+fmt.Sprintf(format, args...))
	}
}

func (c *comparison) same(path, what string, before, after any) {
	c.checkf(reflect.DeepEqual(before, after), path, "%s was %v and is %v", what, before, after)
}

func (c *comparison) version(name string, before *apiextensionsv1.CustomResourceDefinitionVersion, definition *apiextensionsv1.CustomResourceDefinition) {
	path := name + " " + before.Name
	at := slices.IndexFunc(definition.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == before.Name })
	if at < 0 {
		c.checkf(false, path, "the version is gone, and objects may be stored in it")
		return
	}
	after := &definition.Spec.Versions[at]
	c.checkf(!before.Served || after.Served, path, "the version is no longer served")
	c.checkf(before.Storage == after.Storage, path, "another version is stored: objects have to be written anew first")
	if status := subresources(before).Status != nil; status != (subresources(after).Status != nil) {
		c.checkf(false, path, "the status subresource was there: %t, and is: %t", status, !status)
	}
	c.same(path, "the scale subresource", subresources(before).Scale, subresources(after).Scale)
	if before.Schema == nil || after.Schema == nil {
		c.checkf(after.Schema == nil, path, "there is a schema now, and there was none")
		return
	}
	c.schema(path+" ", before.Schema.OpenAPIV3Schema, after.Schema.OpenAPIV3Schema)
}

func subresources(v *apiextensionsv1.CustomResourceDefinitionVersion) apiextensionsv1.CustomResourceSubresources {
	if v.Subresources == nil {
		return apiextensionsv1.CustomResourceSubresources{}
	}
	return *v.Subresources
}

// schema compares what stands at a path.
func (c *comparison) schema(path string, before, after *apiextensionsv1.JSONSchemaProps) {
	c.same(path, "the type", before.Type, after.Type)
	c.checkf(!before.Nullable || after.Nullable, path, "null is no longer allowed")
	c.checkf(!before.XIntOrString || after.XIntOrString, path, "no longer takes a number or a text")
	c.same(path, "the default", text(before.Default), text(after.Default))
	c.narrowed(path, before, after)
	c.merging(path, before, after)
	c.rules(path, before.XValidations, after.XValidations)
	for _, combined := range []struct {
		name          string
		before, after any
	}{{"allOf", before.AllOf, after.AllOf}, {"anyOf", before.AnyOf, after.AnyOf}, {"oneOf", before.OneOf, after.OneOf}, {"not", before.Not, after.Not}} {
		c.checkf(reflect.DeepEqual(combined.before, combined.after), path, "%s has changed; whether it is narrower cannot be told here", combined.name)
	}
	c.properties(path, before, after)
	if before.Items != nil && after.Items != nil && before.Items.Schema != nil && after.Items.Schema != nil {
		c.schema(path+"[]", before.Items.Schema, after.Items.Schema)
	}
	c.additional(path, before.AdditionalProperties, after.AdditionalProperties)
}

func (c *comparison) properties(path string, before, after *apiextensionsv1.JSONSchemaProps) {
	keeps := func(s *apiextensionsv1.JSONSchemaProps) bool {
		return s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields
	}
	c.checkf(!keeps(before) || keeps(after), path, "unknown fields were kept, and are dropped")
	for _, name := range sorted(before.Properties) {
		was := before.Properties[name]
		is, there := after.Properties[name]
		if !there {
			c.checkf(keeps(after), path+"."+name, "the field is gone: what is stored in it would be dropped")
			continue
		}
		c.schema(path+"."+name, &was, &is)
	}
	for _, name := range after.Required {
		if slices.Contains(before.Required, name) {
			continue
		}
		// What has a default is filled in when an object is read.
		c.checkf(after.Properties[name].Default != nil, path+"."+name, "is required now, and was not")
	}
}

func (c *comparison) additional(path string, before, after *apiextensionsv1.JSONSchemaPropsOrBool) {
	switch {
	case before == nil || !before.Allows && before.Schema == nil:
	case after == nil || !after.Allows && after.Schema == nil:
		c.checkf(false, path, "other keys were allowed, and are not")
	case before.Schema != nil && after.Schema != nil:
		c.schema(path+".*", before.Schema, after.Schema)
	default:
		c.checkf(after.Schema == nil, path+".*", "any value was allowed, and is not")
	}
}

// rules compares those in CEL. One that is not known from before may refuse what is stored.
func (c *comparison) rules(path string, before, after apiextensionsv1.ValidationRules) {
	for i := range after {
		known := slices.ContainsFunc(before, func(r apiextensionsv1.ValidationRule) bool { return r.Rule == after[i].Rule })
		c.checkf(known, path, "there is a new rule, which may refuse what is stored: %s", after[i].Rule)
	}
}

func text(value *apiextensionsv1.JSON) string {
	if value == nil {
		return "none"
	}
	return string(value.Raw)
}
