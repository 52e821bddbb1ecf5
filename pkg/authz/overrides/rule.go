package overrides

import (
	"regexp"
	"strings"
)

// Regular expressions of the rule. CEL and Go read the same dialect (RE2).
const (
	// open matches the paths below which everything may be changed. Karmada ignores
	// what precedes the first slash of a path, so a path has to begin with one.
	open = `^/(spec|data|binaryData|stringData)(/.*)?$`
	// mapped matches the labels and annotations as a whole, and single ones. A key has
	// at most one slash, which is written ~1.
	mapped = `^/metadata/(labels|annotations)(/[^/~]+(~1[^/~]+)?)?$`
	// dots matches paths with a segment "." or "..". JSON pointers give them no
	// meaning; a program that cleans paths would.
	dots = `/\.\.?(/|$)`
	// whole matches the labels or annotations as a whole.
	whole = `^/metadata/(labels|annotations)$`
	// inSpec matches paths of the spec, which limits and other objects of admins have too.
	inSpec = `^/spec(/|$)`

	// domains are those whose labels and annotations determine the owner of an object, how Karmada
	// treats it, or which role it becomes a part of.
	domains = `(karmada\.io|kairship\.io|rbac\.authorization\.k8s\.io)`
	// reservedPath matches the path of a single label or annotation of these domains.
	reservedPath = `^/metadata/(labels|annotations)/([^/~]+\.)?` + domains + `~1`
	// reservedKey matches their keys. Karmada makes a path of a key without escaping ~.
	reservedKey = `~|^([^/]+\.)?` + domains + `/`

	// adminKinds matches "apiVersion kind" of the kinds that only admins of an instance
	// write: those of access, limits and admission, and those without a namespace.
	adminKinds = `^((rbac\.authorization|admissionregistration|apiregistration|apiextensions|certificates|` +
		`flowcontrol\.apiserver|node|scheduling|storage)\.k8s\.io/[^ ]* .*|` +
		`networking\.k8s\.io/[^ ]* IngressClass|v1 (LimitRange|Node|PersistentVolume|ResourceQuota))$`
)

// overriders are the kinds of overriders that the rule covers. A later Karmada may know
// more: what they change is not known, so they are refused.
var overriders = []string{
	"plaintext", "imageOverrider", "commandOverrider", "argsOverrider", "labelsOverrider", "annotationsOverrider", "fieldOverrider",
}

// Messages of the rule.
const (
	allowed = "overrides may change /spec, /data, /binaryData, /stringData, and single labels and annotations that are not of karmada.io, " +
		"kairship.io or rbac.authorization.k8s.io. Only an admin of the instance may write others"
	needsSelectors = "an override of a path in /spec has to name the resources that it changes: add resourceSelectors. " +
		"Only an admin of the instance may override the spec of all resources"
	wantsMap    = "labels and annotations are replaced by a map without keys of karmada.io, kairship.io and rbac.authorization.k8s.io"
	notForAdmin = "only an admin of the instance may write overrides for this kind: it holds access rules or limits, or belongs to the whole cluster"
	notKnown    = "only an admin of the instance may write an overrider of a kind that Kairship does not know"
)

var (
	openPattern         = regexp.MustCompile(open)
	mappedPattern       = regexp.MustCompile(mapped)
	dotsPattern         = regexp.MustCompile(dots)
	wholePattern        = regexp.MustCompile(whole)
	inSpecPattern       = regexp.MustCompile(inSpec)
	reservedPathPattern = regexp.MustCompile(reservedPath)
	reservedKeyPattern  = regexp.MustCompile(reservedKey)
	adminKindsPattern   = regexp.MustCompile(adminKinds)
)

func pathAllowed(path string) bool {
	return (openPattern.MatchString(path) || mappedPattern.MatchString(path)) &&
		!dotsPattern.MatchString(path) && !reservedPathPattern.MatchString(path)
}

// celPathAllowed is pathAllowed in CEL, about the variable path.
const celPathAllowed = `((path.matches(r'` + open + `') || path.matches(r'` + mapped + `'))` +
	` && !path.matches(r'` + dots + `') && !path.matches(r'` + reservedPath + `'))`

// celNames are names as a list in CEL.
func celNames(names []string) string { return "['" + strings.Join(names, "', '") + "']" }
