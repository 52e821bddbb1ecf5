// Package validation refuses documents and variables that do not fit the schema, and names the
// input that is wrong.
package validation

import (
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator/core"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"github.com/kairship-io/kairship/graph/scalar"
)

// Rules returns gqlparser's rules, with one that it lacks. Where they do not suggest,
// none of them names anything of a schema that clients may not read; gqlgen's own
// switch covers fields alone.
func Rules(suggest bool) *rules.Rules {
	r := rules.NewDefaultRules()
	r.AddRule("ScalarValues", scalarValues)
	if suggest {
		return r
	}
	r.ReplaceRule(rules.KnownArgumentNamesRule.Name, rules.KnownArgumentNamesRuleWithoutSuggestions.RuleFunc)
	r.ReplaceRule(rules.KnownTypeNamesRule.Name, rules.KnownTypeNamesRuleWithoutSuggestions.RuleFunc)
	r.ReplaceRule(rules.ValuesOfCorrectTypeRule.Name, rules.ValuesOfCorrectTypeRuleWithoutSuggestions.RuleFunc)
	return r
}

// scalarValues checks what gqlparser does not: the range of Int, and the values of the schema's own
// scalars, among them numbers at which gqlgen would panic.
func scalarValues(observers *core.Events, addError core.AddErrFunc) {
	observers.OnValue(func(_ *core.Walker, v *ast.Value) {
		def := v.Definition
		if def == nil || def.Kind != ast.Scalar || v.Kind == ast.Variable || v.Kind == ast.NullValue {
			return
		}
		if v.Kind == ast.ListValue && v.ExpectedType != nil && v.ExpectedType.Elem != nil {
			return // Each of its items is checked.
		}
		raw, err := v.Value(nil)
		builtIn := def.OneOf("Int", "Float", "String", "Boolean", "ID")
		switch {
		case builtIn && (v.Kind != ast.IntValue || def.Name != "Int" || err != nil):
			return // gqlparser says so.
		case err != nil:
			addError(core.Message("The value has a number that is too large."), core.At(v.Position))
			return
		}
		if _, err := scalar.Read(def.Name, raw); err != nil {
			addError(core.Message("The value %s.", err), core.At(v.Position))
		}
	})
}
