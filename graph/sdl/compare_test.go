package sdl

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCompare changes one thing at a time.
func TestCompare(t *testing.T) {
	for _, tt := range []struct {
		name, before, after string
		want                []string
		why                 string
	}{
		{"nothing", `type A { a: Int }`, `type A { a: Int }`, nil, "there is nothing to tell"},
		{"description", `type A { a: Int }`, `"Words." type A { "More words." a: Int }`, nil, "no client reads it"},
		{"order", `type A { a: Int b: Int } type B { a: Int }`, `type B { a: Int } type A { b: Int a: Int }`, nil, "nothing depends on it"},

		{"type added", `type A { a: Int }`, `type A { a: Int } type B { a: Int }`, []string{"safe B: is new"}, "no query asks for it"},
		{"type removed", `type A { a: Int } type B { a: Int }`, `type A { a: Int }`, []string{"breaking B: is gone"}, "fragments name it"},
		{"other kind", `type A { a: Int }`, `interface A { a: Int }`, []string{"breaking A: was of kind OBJECT and is of kind INTERFACE"}, "__typename is another"},

		{"field added", `type A { a: Int }`, `type A { a: Int b: Int }`, []string{"safe A.b: is new"}, "no query asks for it"},
		{"field removed", `type A { a: Int b: Int }`, `type A { a: Int }`, []string{"breaking A.b: is gone"}, "queries ask for it"},
		{"field may be null", `type A { a: Int! }`, `type A { a: Int }`, []string{"breaking A.a: was Int! and is Int"}, "clients do not look for null"},
		{"field is never null", `type A { a: Int }`, `type A { a: Int! }`, []string{"safe A.a: was Int and is Int!"}, "clients look for null in vain"},
		{"item is never null", `type A { a: [Int] }`, `type A { a: [Int!]! }`, []string{"safe A.a: was [Int] and is [Int!]!"}, "the same, within a list"},
		{"item may be null", `type A { a: [Int!]! }`, `type A { a: [Int]! }`, []string{"breaking A.a: was [Int!]! and is [Int]!"}, "the same, within a list"},
		{"field becomes a list", `type A { a: Int }`, `type A { a: [Int] }`, []string{"breaking A.a: was Int and is [Int]"}, "clients read one value"},
		{"field of another type", `type A { a: Int }`, `type A { a: String }`, []string{"breaking A.a: was Int and is String"}, "clients read the other one"},
		{"field deprecated", `type A { a: Int }`, `type A { a: Int @deprecated(reason: "b") }`, []string{`safe A.a: now says @deprecated(reason: "b")`}, "it is still answered"},

		{"optional argument added", `type A { a: Int }`, `type A { a(b: Int): Int }`, []string{"safe A.a(b:): is new"}, "no client sends it"},
		{"argument with a default added", `type A { a: Int }`, `type A { a(b: Int! = 1): Int }`, []string{"safe A.a(b:): is new"}, "no client has to send it"},
		{"required argument added", `type A { a: Int }`, `type A { a(b: Int!): Int }`, []string{"breaking A.a(b:): is new and required: it has neither null nor a default"}, "no client sends it"},
		{"argument removed", `type A { a(b: Int): Int }`, `type A { a: Int }`, []string{"breaking A.a(b:): is gone"}, "queries send it"},
		{"argument becomes required", `type A { a(b: Int): Int }`, `type A { a(b: Int!): Int }`, []string{"breaking A.a(b:): was Int and is Int!"}, "queries leave it out"},
		{"argument refuses null", `type A { a(b: Int = 1): Int }`, `type A { a(b: Int! = 1): Int }`, []string{"breaking A.a(b:): was Int and is Int!"}, "queries send null"},
		{"argument becomes optional", `type A { a(b: Int!): Int }`, `type A { a(b: Int): Int }`, []string{"safe A.a(b:): was Int! and is Int"}, "what was sent may still be sent"},
		{"argument becomes a list", `type A { a(b: Int): Int }`, `type A { a(b: [Int]): Int }`, []string{"breaking A.a(b:): was Int and is [Int]"}, "a variable of type Int no longer fits, though a literal would"},
		{"argument with another default", `type A { a(b: Int = 1): Int }`, `type A { a(b: Int = 2): Int }`, []string{"dangerous A.a(b:): had the default 1 and has 2"}, "who leaves it out gets something else"},
		{"argument with a default at last", `type A { a(b: Int): Int }`, `type A { a(b: Int = 2): Int }`, []string{"dangerous A.a(b:): had the default none and has 2"}, "who leaves it out gets something else"},
		{"required argument without its default", `type A { a(b: Int! = 1): Int }`, `type A { a(b: Int!): Int }`, []string{"breaking A.a(b:): has no default any more, and is required"}, "queries leave it out"},

		{"optional input added", `input I { a: Int }`, `input I { a: Int b: Int }`, []string{"safe I.b: is new"}, "no client sends it"},
		{"required input added", `input I { a: Int }`, `input I { a: Int b: Int! }`, []string{"breaking I.b: is new and required: it has neither null nor a default"}, "no client sends it"},
		{"input removed", `input I { a: Int b: Int }`, `input I { a: Int }`, []string{"breaking I.b: is gone"}, "mutations send it"},
		{"input becomes optional", `input I { a: Int! }`, `input I { a: Int }`, []string{"safe I.a: was Int! and is Int"}, "what is safe for an input is not for an output"},
		{"input becomes required", `input I { a: Int }`, `input I { a: Int! }`, []string{"breaking I.a: was Int and is Int!"}, "mutations leave it out"},
		{"input takes one of its fields alone", `input I { a: Int b: Int }`, `input I @oneOf { a: Int b: Int }`, []string{"breaking I: now says @oneOf"}, "mutations send both"},

		{"answered value added", `enum E { A } type T { e: [E!] }`, `enum E { A B } type T { e: [E!] }`, []string{"dangerous E.B: is a new value that answers may have"}, "clients may know no other than A"},
		{"sent value added", `enum E { A } input I { e: E }`, `enum E { A B } input I { e: E }`, []string{"safe E.B: is new"}, "no client sends it, and no answer has it"},
		{"value removed", `enum E { A B } input I { e: E }`, `enum E { A } input I { e: E }`, []string{"breaking E.B: is gone"}, "clients send it"},

		{"interface added", `interface N { a: Int } type A { a: Int }`, `interface N { a: Int } type A implements N { a: Int }`, []string{"dangerous A: now implements N"}, "clients may know no other"},
		{"new type with the interface", `interface N { a: Int }`, `interface N { a: Int } type A implements N { a: Int }`, []string{"dangerous A: is one more type that implements N", "safe A: is new"}, "clients may know no other"},
		{"interface removed", `interface N { a: Int } type A implements N { a: Int }`, `interface N { a: Int } type A { a: Int }`, []string{"breaking A: no longer implements N"}, "fragments on A below an N are invalid"},
		{"member added", `union U = A type A { a: Int } type B { a: Int }`, `union U = A | B type A { a: Int } type B { a: Int }`, []string{"dangerous U: now has the member B"}, "clients may know no other"},
		{"member removed", `union U = A | B type A { a: Int } type B { a: Int }`, `union U = A type A { a: Int } type B { a: Int }`, []string{"breaking U: no longer has the member B"}, "fragments on B are invalid"},

		{"key added", `type A { id: ID }`, `type A @key(fields: "id") { id: ID }`, []string{`safe A: now says @key(fields: "id")`}, "other subgraphs may use it now"},
		{"key changed", `type A @key(fields: "id") { id: ID b: Int }`, `type A @key(fields: "b") { id: ID b: Int }`, []string{`breaking A: no longer says @key(fields: "id")`, `safe A: now says @key(fields: "b")`}, "other subgraphs extend it by its ID"},
		{"no longer shareable", `type A { a: Int @shareable }`, `type A { a: Int }`, []string{"breaking A.a: no longer says @shareable"}, "with another subgraph that has it, nothing composes"},
		{"hidden", `enum E { A } input I { e: E }`, `enum E { A @inaccessible } input I { e: E }`, []string{"breaking E.A: now says @inaccessible"}, "clients of the supergraph do not have it any more"},
		{"unknown directive", `type A @other { a: Int }`, `type A { a: Int }`, nil, "clients do not know its meaning"},
		{"another version of the federation", `extend schema @link(url: "https://specs.apollo.dev/federation/v2.7") type A { a: Int }`, `extend schema @link(url: "https://specs.apollo.dev/federation/v2.9") type A { a: Int }`,
			[]string{`dangerous schema: no longer says @link(url: "https://specs.apollo.dev/federation/v2.7")`, `dangerous schema: now says @link(url: "https://specs.apollo.dev/federation/v2.9")`}, "it may compose in another way"},

		{"directive removed", `directive @d on FIELD`, `type A { a: Int }`, []string{"breaking @d: is gone", "safe A: is new"}, "queries carry it"},
		{"directive narrowed", `directive @d(a: Int) repeatable on FIELD | QUERY`, `directive @d(a: Int!) on FIELD`,
			[]string{"breaking @d: may no longer stand at QUERY", "breaking @d: may no longer be repeated", "breaking @d(a:): was Int and is Int!"}, "queries carry it there"},
		{"directive added", `type A { a: Int }`, `type A { a: Int } directive @d on FIELD`, []string{"safe @d: is new"}, "no type carries it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before, err := Parse("before", tt.before)
			if err != nil {
				t.Fatal(err)
			}
			after, err := Parse("after", tt.after)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range Compare(before, after) {
				got = append(got, fmt.Sprintf("%s %s: %s", c.Severity, c.Path, c.What))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.why, diff)
			}
		})
	}
}
