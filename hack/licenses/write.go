package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

//go:generate go run . -root ../.. -list ../../docs/licenses.md

// write writes the list, without anything that differs between two machines.
func write(w io.Writer, modules, packages []part) {
	fmt.Fprint(w, `# Licences

Kairship is under the [Apache License 2.0](../LICENSE). This page lists what others wrote and what is in its programs, and is
made by `+"`make generate`"+`, which fails on a licence that the policy (hack/licenses/policy.go) does not know. The licences
themselves are in `+"`bin/static/licenses.txt`"+` after `+"`make static`"+`, and in `+"`/licenses`"+` of the images.

| licence | parts | what it asks for |
| --- | --- | --- |
`)
	count := map[string]int{}
	for _, p := range slices.Concat(modules, packages) {
		for _, licence := range p.Licences {
			count[licence]++
		}
	}
	for _, licence := range slices.Sorted(maps.Keys(count)) {
		fmt.Fprintf(w, "| %s | %d | %s |\n", licence, count[licence], accepted[licence])
	}
	table(w, "Go modules", "linked into kairship-apiserver, kairship-controller-manager or kubectl-kairship", modules)
	fmt.Fprint(w, "\nThese have no file with their licence:\n\n")
	for _, name := range slices.Sorted(maps.Keys(declared)) {
		fmt.Fprintf(w, "- %s: %s, %s\n", name, declared[name].licence, declared[name].because)
	}
	table(w, "npm packages", "GraphiQL's page, which kairship-apiserver serves, is bundled from these", packages)
}

func table(w io.Writer, title, what string, parts []part) {
	fmt.Fprintf(w, "\n## %s\n\nThey are %s.\n\n| | version | licences |\n| --- | --- | --- |\n", title, what)
	for _, p := range parts {
		fmt.Fprintf(w, "| %s | %s | %s |\n", p.Name, p.Version, strings.Join(p.Licences, ", "))
	}
}

// writeTexts writes each text once, under the names of all that it holds for.
func writeTexts(w io.Writer, modules []part) {
	type text struct {
		body  []byte
		names []string
	}
	var order []*text
	known := map[[sha256.Size]byte]*text{}
	for _, m := range modules {
		for _, body := range m.texts {
			sum := sha256.Sum256(body)
			if known[sum] == nil {
				known[sum] = &text{body: body}
				order = append(order, known[sum])
			}
			known[sum].names = append(known[sum].names, strings.TrimSpace(m.Name+" "+m.Version))
		}
	}
	for _, t := range order {
		line := strings.Repeat("=", 80)
		fmt.Fprintf(w, "%s\n%s\n%s\n\n%s\n", line, strings.Join(t.names, "\n"), line, t.body)
	}
}
