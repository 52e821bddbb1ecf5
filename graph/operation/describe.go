package operation

import "github.com/vektah/gqlparser/v2/ast"

// Described is the description of the argument that a variable is for.
func (o *Operation) Described(variable string) string {
	return describedIn(o.Definition.SelectionSet, variable)
}

func describedIn(set ast.SelectionSet, variable string) string {
	for _, selection := range set {
		field, ok := selection.(*ast.Field)
		if !ok {
			continue
		}
		for _, argument := range field.Arguments {
			if of := field.Definition.Arguments.ForName(argument.Name); of != nil {
				if text := describedBy(argument.Value, of.Description, variable); text != "" {
					return text
				}
			}
		}
		if text := describedIn(field.SelectionSet, variable); text != "" {
			return text
		}
	}
	return ""
}

// describedBy is the description of the place in a value where a variable is.
func describedBy(value *ast.Value, description, variable string) string {
	if value.Kind == ast.Variable && value.Raw == variable {
		return description
	}
	for _, child := range value.Children {
		of := ""
		if value.Definition != nil {
			if field := value.Definition.Fields.ForName(child.Name); field != nil {
				of = field.Description
			}
		}
		if text := describedBy(child.Value, of, variable); text != "" {
			return text
		}
	}
	return ""
}
