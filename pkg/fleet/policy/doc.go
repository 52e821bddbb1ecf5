// Package policy holds the four kinds of Karmada policy as Kairship reads
// them: which of them there are, what they say, and how their values appear in
// GraphQL. The specs are Karmada's own Go types; nothing is copied field by
// field, so that a field that Karmada adds is missed by a test and not lost in
// silence.
package policy
