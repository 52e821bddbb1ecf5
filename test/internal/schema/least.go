package schema

import "github.com/vektah/gqlparser/v2/ast"

// Least is an input that holds what it has to, and a namespace and manifests where it may.
// What it names does not exist.
func Least(s *ast.Schema, def *ast.Definition, namespace string) map[string]any {
	out := map[string]any{}
	for _, f := range def.Fields {
		if (f.Type.NonNull && f.DefaultValue == nil) || f.Name == "namespace" || f.Name == "manifests" {
			out[f.Name] = something(s, f, namespace)
		}
	}
	return out
}

func something(s *ast.Schema, f *ast.FieldDefinition, namespace string) any {
	if f.Type.Elem != nil {
		return []any{}
	}
	switch def := s.Types[f.Type.Name()]; {
	case def.Kind == ast.InputObject:
		return Least(s, def, namespace)
	case def.Kind == ast.Enum:
		return def.EnumValues[0].Name
	case def.Name == "Boolean":
		return false
	case def.Name == "Int" || def.Name == "Int64":
		return 1
	case def.Name == "JSON":
		return map[string]any{}
	}
	switch f.Name {
	case "manifests":
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: matrix, namespace: " + namespace + "}\n"
	case "namespace":
		return namespace
	case "version":
		return "v1"
	case "resourceVersion":
		return "1"
	case "resource":
		return "configmaps"
	}
	return "matrix"
}
