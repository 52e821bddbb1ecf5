// Package policy answers queries about the four kinds of Karmada policies, and maps their
// values to GraphQL. The specs are Karmada's own Go types; nothing is copied field by
// field, so that a field that Karmada adds is missed by a test and not lost in
// silence.
package policy
