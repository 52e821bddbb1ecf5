package document

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/kairship-io/kairship/pkg/apierror"
)

// PersistedExtension is the member of a request's extensions that names a document
// by its hash, in the protocol of Apollo's automatic persisted queries.
const PersistedExtension = "persistedQuery"

// maxName is the length of the longest hash, or name of a trusted document.
const maxName = 200

// DefaultPersisted is how many documents are remembered by their hash by default, of at
// most maxCachedDocument bytes each.
const DefaultPersisted = 1_000

// Persisted finds the documents that clients name by a hash, and refuses what is not
// trusted where only trusted documents are executed.
type Persisted struct {
	// remembered is nil where clients may not have documents remembered.
	remembered *lru.Cache[string, string]
	// own are the documents that the server itself has, which are always executed.
	own Trusted
	// trusted are the only other documents that are executed; nil where all are.
	trusted func() Trusted
	// refused counts what is not trusted.
	refused func()
	lookups *prometheus.CounterVec
}

var _ interface {
	graphql.HandlerExtension
	graphql.OperationParameterMutator
} = Persisted{}

// NewPersisted returns the extension that remembers so many documents beside the server's own, unless only trusted
// ones are executed. refused is called for each document that is not trusted.
func NewPersisted(most int, own Trusted, trusted func() Trusted, refused func(), registerer prometheus.Registerer) Persisted {
	p := Persisted{own: own, trusted: trusted, refused: refused, lookups: counter(registerer, prometheus.CounterOpts{
		Namespace: "kairship", Subsystem: "persisted_documents", Name: "lookups_total",
		Help: "Documents that clients named by a hash, by whether the server had them.",
	})}
	if most > 0 && trusted == nil {
		remembered, err := lru.New[string, string](most)
		if err != nil {
			panic(err) // The size is positive.
		}
		p.remembered = remembered
	}
	return p
}

// ExtensionName implements graphql.HandlerExtension.
func (Persisted) ExtensionName() string { return "PersistedDocuments" }

// Validate implements graphql.HandlerExtension.
func (Persisted) Validate(graphql.ExecutableSchema) error { return nil }

// MutateOperationParameters implements graphql.OperationParameterMutator: it puts the
// document where a request has its hash alone.
func (p Persisted) MutateOperationParameters(_ context.Context, params *graphql.RawParams) *gqlerror.Error {
	name, err := namedBy(params.Extensions)
	switch {
	case err != nil:
		return gqlerror.Wrap(err)
	case name != "" && params.Query != "" && name != hash(params.Query):
		return gqlerror.Wrap(apierror.Invalid("extensions."+PersistedExtension, "the hash is not that of the document: it is the SHA-256 of its text, in lower-case hexadecimal digits"))
	case params.Query == "" && p.own[name] != "":
		params.Query = p.own[name]
		return nil
	case p.trusted != nil:
		return p.trust(params, name)
	case name == "":
		return nil
	case p.remembered == nil:
		return gqlerror.Wrap(apierror.New(apierror.CodePersistedQueryNotSupported, "PersistedQueryNotSupported"))
	case params.Query != "":
		return nil // It is remembered once it is known to be good.
	}
	document, ok := p.remembered.Get(name)
	if !ok {
		p.lookups.WithLabelValues(miss).Inc()
		// Apollo's clients look for these very words.
		return gqlerror.Wrap(apierror.New(apierror.CodePersistedQueryNotFound, "PersistedQueryNotFound"))
	}
	p.lookups.WithLabelValues(hit).Inc()
	params.Query = document
	return nil
}

// trust takes documents of the list alone: by their name in it, by their hash, or
// written out.
func (p Persisted) trust(params *graphql.RawParams, name string) *gqlerror.Error {
	if params.Query != "" {
		name = hash(params.Query)
	}
	document, ok := p.own[name]
	if !ok {
		document, ok = p.trusted()[name]
	}
	if !ok {
		p.refused()
		return gqlerror.Wrap(apierror.New(apierror.CodeForbidden, "this server executes only the documents that its administrator trusts, and this is none of them"))
	}
	params.Query = document
	return nil
}

// Remember returns the extension that keeps documents that came with their hash. It is
// used after limits, so that these are valid and within them.
func (p Persisted) Remember() graphql.HandlerExtension { return remember{p.remembered} }

type remember struct{ in *lru.Cache[string, string] }

var _ interface {
	graphql.HandlerExtension
	graphql.OperationContextMutator
} = remember{}

// ExtensionName implements graphql.HandlerExtension.
func (remember) ExtensionName() string { return "RememberedDocuments" }

// Validate implements graphql.HandlerExtension.
func (remember) Validate(graphql.ExecutableSchema) error { return nil }

// MutateOperationContext implements graphql.OperationContextMutator.
func (r remember) MutateOperationContext(_ context.Context, opCtx *graphql.OperationContext) *gqlerror.Error {
	if r.in == nil || len(opCtx.RawQuery) > maxCachedDocument {
		return nil
	}
	if name, err := namedBy(opCtx.Extensions); err == nil && name != "" {
		r.in.Add(name, opCtx.RawQuery)
	}
	return nil
}

// namedBy returns the hash by which a request names its document; "" where it names none.
func namedBy(extensions map[string]any) (string, *apierror.Error) {
	const where = "extensions." + PersistedExtension
	raw, given := extensions[PersistedExtension]
	if !given || raw == nil {
		return "", nil
	}
	fields, ok := raw.(map[string]any)
	if !ok {
		return "", apierror.Invalid(where, "must be an object with version and sha256Hash")
	}
	if version, ok := fields["version"].(json.Number); !ok || version != "1" {
		return "", apierror.Invalid(where+".version", "must be 1")
	}
	name, ok := fields["sha256Hash"].(string)
	if !ok || name == "" || len(name) > maxName {
		return "", apierror.Invalid(where+".sha256Hash", "must be the SHA-256 of the document's text, in lower-case hexadecimal digits")
	}
	return name, nil
}

// NameByID translates documentId, by which the GraphQL over HTTP specification's
// appendix on persisted documents names one, into the extension.
func NameByID(params *graphql.RawParams, id string) {
	if params.Extensions == nil {
		params.Extensions = map[string]any{}
	}
	if _, given := params.Extensions[PersistedExtension]; !given {
		params.Extensions[PersistedExtension] = map[string]any{"version": json.Number("1"), "sha256Hash": strings.TrimPrefix(id, "sha256:")}
	}
}

func hash(document string) string {
	sum := sha256.Sum256([]byte(document))
	return hex.EncodeToString(sum[:])
}
