package crdcompat

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

const before = `
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {kind: Thing, plural: things, shortNames: [th]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [name]
            properties:
              name: {type: string, maxLength: 10}
              mode: {type: string, enum: [A, B]}
              count: {type: integer, minimum: 1, maximum: 5, default: 2}
              labels: {type: object, additionalProperties: {type: string}}
              list: {type: array, x-kubernetes-list-type: set, items: {type: string, maxLength: 5}}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
            x-kubernetes-validations:
            - {rule: "self.name != ''", message: is needed}
`

func definition(t *testing.T, text string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict([]byte(text), &crd); err != nil {
		t.Fatal(err)
	}
	return &crd
}

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		reason    string
		old, with string // what is replaced, and by what
		want      []string
	}{
		{reason: "the same is no change"},
		{reason: "a new field that may be left out", old: "mode: {type", with: "more: {type: string}\n              mode: {type"},
		{reason: "one more value", old: "[A, B]", with: "[A, B, C]"},
		{reason: "any value", old: ", enum: [A, B]", with: ""},
		{reason: "wider bounds", old: "minimum: 1, maximum: 5", with: "minimum: 0, maximum: 6"},
		{reason: "a longer text", old: "maxLength: 10", with: "maxLength: 20"},
		{reason: "a removed rule", old: "            x-kubernetes-validations:\n            - {rule: \"self.name != ''\", message: is needed}\n", with: ""},
		{reason: "other words about the same rule", old: "is needed", with: "must be given"},
		{reason: "a required field that has a default", old: "required: [name]", with: "required: [name, count]"},
		{reason: "one more version", old: "  versions:\n", with: "  versions:\n  - {name: v2, served: true, storage: false}\n"},

		{reason: "a removed field", old: "              mode: {type: string, enum: [A, B]}\n", with: "", want: []string{"things.example.com v1 .spec.mode: the field is gone: what is stored in it would be dropped"}},
		{reason: "another type", old: "labels: {type: object, additionalProperties: {type: string}}", with: "labels: {type: object, additionalProperties: {type: integer}}", want: []string{"things.example.com v1 .spec.labels.*: the type was string and is integer"}},
		{reason: "a removed value", old: "[A, B]", with: "[A]", want: []string{`things.example.com v1 .spec.mode: the value "B" is no longer allowed`}},
		{reason: "values where there were none", old: "maxLength: 10", with: "maxLength: 10, enum: [a]", want: []string{"things.example.com v1 .spec.name: only some values are allowed now, and all were"}},
		{reason: "one more required field", old: "required: [name]", with: "required: [name, mode]", want: []string{"things.example.com v1 .spec.mode: is required now, and was not"}},
		{reason: "narrower bounds", old: "minimum: 1, maximum: 5", with: "minimum: 2, maximum: 4", want: []string{"things.example.com v1 .spec.count: the minimum was 1 and is 2", "things.example.com v1 .spec.count: the maximum was 5 and is 4"}},
		{reason: "a shorter text in a list", old: "maxLength: 5", with: "maxLength: 4", want: []string{"things.example.com v1 .spec.list[]: the greatest length was 5 and is 4"}},
		{reason: "a pattern", old: "maxLength: 10", with: "maxLength: 10, pattern: '^a'", want: []string{`things.example.com v1 .spec.name: the pattern was "" and is "^a"`}},
		{reason: "another default", old: "default: 2", with: "default: 3", want: []string{"things.example.com v1 .spec.count: the default was 2 and is 3"}},
		{reason: "a list that is merged otherwise", old: "x-kubernetes-list-type: set", with: "x-kubernetes-list-type: atomic", want: []string{"things.example.com v1 .spec.list: the type of the list was set and is atomic"}},
		{reason: "unknown fields that are dropped", old: ", x-kubernetes-preserve-unknown-fields: true", with: "", want: []string{"things.example.com v1 .spec.free: unknown fields were kept, and are dropped"}},
		{reason: "keys that are dropped", old: "labels: {type: object, additionalProperties: {type: string}}", with: "labels: {type: object}", want: []string{"things.example.com v1 .spec.labels: other keys were allowed, and are not"}},
		{reason: "a new rule", old: "- {rule", with: "- {rule: self.count < 9}\n            - {rule", want: []string{"things.example.com v1 .spec: there is a new rule, which may refuse what is stored: self.count < 9"}},
		{reason: "a removed version", old: "name: v1", with: "name: v2", want: []string{"things.example.com v1: the version is gone, and objects may be stored in it"}},
		{reason: "one that is not served", old: "served: true", with: "served: false", want: []string{"things.example.com v1: the version is no longer served"}},
		{reason: "no status", old: "    subresources: {status: {}}\n", with: "", want: []string{"things.example.com v1: the status subresource was there: true, and is: false"}},
		{reason: "another scope", old: "scope: Cluster", with: "scope: Namespaced", want: []string{"things.example.com: the scope was Cluster and is Namespaced"}},
		{reason: "a removed short name", old: "[th]", with: "[]", want: []string{`things.example.com: the short name "th" is gone`}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			after := strings.Replace(before, c.old, c.with, 1)
			if c.old != "" && after == before {
				t.Fatal("nothing was replaced")
			}
			if diff := cmp.Diff(c.want, Compare(definition(t, before), definition(t, after))); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}
