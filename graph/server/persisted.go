package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/kairship-io/kairship/pkg/apierror"
)

// persistedExtension is the member of a request's extensions that names a document
// by its hash, in the protocol of Apollo's automatic persisted queries.
const persistedExtension = "persistedQuery"

// DefaultPersistedDocuments is how many documents are remembered by their hash when
// Config leaves it at zero; at most maxCachedDocumentLen bytes each.
const DefaultPersistedDocuments = 1_000

// persisted finds the documents that clients name by a hash, and refuses what is not
// trusted where only trusted documents are executed.
type persisted struct {
	// remembered is nil where clients may not have documents remembered.
	remembered *lru.Cache[string, string]
	// trusted are the only documents that are executed; nil where all are.
	trusted func() TrustedDocuments
	metrics *limitMetrics
}

var _ interface {
	graphql.HandlerExtension
	graphql.OperationParameterMutator
} = persisted{}

func newPersisted(cfg Config, metrics *limitMetrics) persisted {
	p := persisted{trusted: cfg.TrustedDocuments, metrics: metrics}
	if cfg.PersistedDocuments > 0 && cfg.TrustedDocuments == nil {
		remembered, err := lru.New[string, string](cfg.PersistedDocuments)
		if err != nil {
			panic(err) // The size is positive.
		}
		p.remembered = remembered
	}
	return p
}

// ExtensionName implements graphql.HandlerExtension.
func (persisted) ExtensionName() string { return "PersistedDocuments" }

// Validate implements graphql.HandlerExtension.
func (persisted) Validate(graphql.ExecutableSchema) error { return nil }

// MutateOperationParameters implements graphql.OperationParameterMutator: it puts the
// document where a request has its hash alone.
func (p persisted) MutateOperationParameters(_ context.Context, params *graphql.RawParams) *gqlerror.Error {
	hash, err := namedBy(params.Extensions)
	switch {
	case err != nil:
		return gqlerror.Wrap(err)
	case hash != "" && params.Query != "" && hash != hashOf(params.Query):
		return gqlerror.Wrap(apierror.Invalid("extensions."+persistedExtension, "the hash is not that of the document: it is the SHA-256 of its text, in lower-case hexadecimal digits"))
	case p.trusted != nil:
		return p.trust(params, hash)
	case hash == "":
		return nil
	case p.remembered == nil:
		return gqlerror.Wrap(apierror.New(apierror.CodePersistedQueryNotSupported, "PersistedQueryNotSupported"))
	case params.Query != "":
		return nil // It is remembered once it is known to be good.
	}
	document, ok := p.remembered.Get(hash)
	if !ok {
		p.metrics.persisted.WithLabelValues("miss").Inc()
		// Apollo's clients look for these very words.
		return gqlerror.Wrap(apierror.New(apierror.CodePersistedQueryNotFound, "PersistedQueryNotFound"))
	}
	p.metrics.persisted.WithLabelValues("hit").Inc()
	params.Query = document
	return nil
}

// trust takes documents of the list alone: by their name in it, by their hash, or
// written out.
func (p persisted) trust(params *graphql.RawParams, name string) *gqlerror.Error {
	if params.Query != "" {
		name = hashOf(params.Query)
	}
	document, ok := p.trusted()[name]
	if !ok {
		p.metrics.refuse("trusted")
		return gqlerror.Wrap(apierror.New(apierror.CodeForbidden, "this server executes only the documents that its administrator trusts, and this is none of them"))
	}
	params.Query = document
	return nil
}

// remember keeps documents that came with their hash. It is used after limits, so
// that what is kept is valid and within them.
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
	if r.in == nil || len(opCtx.RawQuery) > maxCachedDocumentLen {
		return nil
	}
	if hash, err := namedBy(opCtx.Extensions); err == nil && hash != "" {
		r.in.Add(hash, opCtx.RawQuery)
	}
	return nil
}

// namedBy is the hash by which a request names its document; "" where it names none.
func namedBy(extensions map[string]any) (string, *apierror.Error) {
	const where = "extensions." + persistedExtension
	raw, given := extensions[persistedExtension]
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
	hash, ok := fields["sha256Hash"].(string)
	if !ok || hash == "" || len(hash) > maxNameLen {
		return "", apierror.Invalid(where+".sha256Hash", "must be the SHA-256 of the document's text, in lower-case hexadecimal digits")
	}
	return hash, nil
}

// nameDocument translates documentId, by which the GraphQL over HTTP specification's
// appendix on persisted documents names one, into the extension.
func nameDocument(params *graphql.RawParams, id string) {
	if params.Extensions == nil {
		params.Extensions = map[string]any{}
	}
	if _, given := params.Extensions[persistedExtension]; !given {
		params.Extensions[persistedExtension] = map[string]any{"version": json.Number("1"), "sha256Hash": strings.TrimPrefix(id, "sha256:")}
	}
}

func hashOf(document string) string {
	sum := sha256.Sum256([]byte(document))
	return hex.EncodeToString(sum[:])
}
