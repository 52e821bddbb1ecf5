// Package drift finds where an object in a member cluster differs from what Karmada sent there, and what
// Karmada does about it. It is a pure function over observed objects: it reads nothing and has no clock.
//
// Only fields that Karmada sent are compared: a member's API server adds defaults and a status, and
// its controllers add annotations. Which fields are left to the member, Karmada's resource
// interpreter decides, which is asked here as its object watcher asks it.
package drift
