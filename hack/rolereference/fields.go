package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/kairship-io/kairship/graph/permission"
	"github.com/kairship-io/kairship/pkg/authz"
)

// places say in words where a permission is asked for.
var places = map[permission.Place]string{
	permission.Nowhere:         "",
	permission.Instance:        "on the instance",
	permission.Wide:            "on objects without a namespace",
	permission.NamespaceItself: "on objects without a namespace, and in the namespace itself",
	permission.Namespaced:      "in the object's namespace",
	permission.Object:          "in the object's namespace, or on objects without one",
}

// fields introduces the root fields, with the verbs that they ask for.
func fields(w io.Writer) {
	fmt.Fprint(w, `## Root fields

A root field asks for verbs, each of which takes rights in [the global cluster](#rights-in-the-global-cluster):

`)
	var rows [][]string
	for _, verb := range authz.Verbs() {
		var needed []string
		for _, right := range verb.Needs() {
			needed = append(needed, right.Verb+" on `"+right.Resource+"`")
		}
		rows = append(rows, []string{"`" + verb.String() + "`", strings.Join(needed, ", ")})
	}
	table(w, []string{"verb", "takes"}, rows)
	fmt.Fprint(w, `
Each takes get on `+"`instances`"+` as well. In a namespace, the rights on `+"`instances/namespaces`"+` serve like those on
`+"`instances/resources`"+`; in a reserved one, all but `+"`view`"+` and `+"`watch`"+` take every right on `+"`instances/access`"+` as well.

An instance receives a change under the caller's name, unless the table says otherwise, and decides again by
[its own rules](#rules-in-an-instance) for the kind of the object.
`)
}

// fieldTables writes a table of root fields for each kind of operation.
func fieldTables(w io.Writer) error {
	for _, root := range []struct{ name, title string }{{"Query", "Queries"}, {"Mutation", "Mutations"}, {"Subscription", "Subscriptions"}} {
		fmt.Fprintf(w, "\n### %s\n\n", root.title)
		var names []string
		for name := range permission.Fields {
			if strings.HasPrefix(name, root.name+".") {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		var rows [][]string
		for _, name := range names {
			field := permission.Fields[name]
			row := []string{"`" + strings.TrimPrefix(name, root.name+".") + "`", asks(&field), field.Depends}
			for _, role := range permission.Roles() {
				extent, err := field.Of(role)
				if err != nil {
					return err
				}
				row = append(row, map[permission.Extent]string{permission.NotReserved: "not reserved", permission.Everywhere: "yes"}[extent])
			}
			rows = append(rows, row)
		}
		table(w, slices.Concat([]string{"field", "asks for", "besides, or except"}, roleColumns()), rows)
	}
	fmt.Fprintln(w)
	return nil
}

// asks says what a field asks for.
func asks(field *permission.Field) string {
	if field.In == permission.Nowhere {
		return "valid credentials"
	}
	var names []string
	for _, verb := range field.Verbs {
		names = append(names, verb.String())
	}
	said := []string{code(names) + " " + places[field.In]}
	if len(names) == 0 {
		said = []string{"to see the instance"}
	}
	for _, right := range field.Global {
		said = append(said, right.Verb+" on `"+right.Resource+"` in the global cluster")
	}
	for _, right := range field.Inside {
		of := ""
		if right.Group != "" {
			of = " of `" + right.Group + "`"
		}
		said = append(said, right.Verb+" on `"+right.Resource+"`"+of+" in the instance")
	}
	return strings.Join(said, "; ")
}
