package main

import (
	"net/url"
	"time"

	"github.com/spf13/pflag"

	"github.com/kairship-io/kairship/cmd/internal/flags"
	"github.com/kairship-io/kairship/graph/server"
)

// limitOptions are the flags about what a request may ask for, and about whom it may
// come from. docs/limits.md says what each refusal looks like.
type limitOptions struct {
	maxDepth      int
	maxFields     int
	maxTokens     int
	maxAliases    int
	maxRootFields int
	maxCost       int
	quotas        server.Quotas

	persistedDocuments int
	trustedFile        string
	allowedOrigins     []string
	hsts               time.Duration
}

func (o *limitOptions) define(f *pflag.FlagSet) {
	f.IntVar(&o.maxDepth, "max-query-depth", server.DefaultMaxDepth, "how deep the fields of an operation may nest, fragments written out")
	f.IntVar(&o.maxFields, "max-query-fields", server.DefaultMaxFields, "fields that an operation may have, fragments written out")
	f.IntVar(&o.maxTokens, "max-query-tokens", server.DefaultTokenLimit, "lexical tokens that a document may have")
	f.IntVar(&o.maxAliases, "max-query-aliases", server.DefaultMaxAliases, "fields of an operation that may have an alias")
	f.IntVar(&o.maxRootFields, "max-query-root-fields", server.DefaultMaxRootFields, "fields of Query, Mutation or Subscription itself that an operation may have")
	f.IntVar(&o.maxCost, "max-query-cost", server.DefaultMaxCost, "what an operation may cost: a value of its answer costs 1, a request to the index or to an instance 100, and a list as many times its items as it has at most")
	f.IntVar(&o.quotas.MaxConcurrent, "max-operations-per-user", server.DefaultMaxConcurrent, "queries and mutations of one user that may be under way")
	f.IntVar(&o.quotas.OperationsPerSecond, "user-operations-per-second", server.DefaultOperationsPerSecond, "operations that one user may begin in a second, on average")
	f.IntVar(&o.quotas.OperationsBurst, "user-operations-burst", server.DefaultOperationsBurst, "operations that one user may begin in one go")
	f.IntVar(&o.quotas.CostPerSecond, "user-cost-per-second", server.DefaultCostPerSecond, "what the operations of one user may cost in a second, on average: as --max-query-cost counts, but what there was")
	f.IntVar(&o.quotas.CostBurst, "user-cost-burst", server.DefaultCostBurst, "what they may cost in one go")
	f.IntVar(&o.persistedDocuments, "persisted-documents", server.DefaultPersistedDocuments, "documents to remember that clients name by their hash (automatic persisted queries); 0 for none")
	f.StringVar(&o.trustedFile, "trusted-documents-file", "", "`file` with the only documents that are executed, by their hashes; read again when it changes; when empty, all are")
	f.StringSliceVar(&o.allowedOrigins, "cors-allowed-origins", nil, "`origins` whose pages may call the API, such as https://console.example.com, separated by commas; only the server's own when empty")
	f.DurationVar(&o.hsts, "hsts-max-age", server.DefaultHSTS, "how long browsers that came over TLS are told to come over TLS alone; 0 for not telling them")
}

func (o *limitOptions) validate(problems *flags.Problems) {
	for _, f := range []struct {
		flag  string
		value int
	}{
		{"--max-query-depth", o.maxDepth}, {"--max-query-fields", o.maxFields}, {"--max-query-tokens", o.maxTokens},
		{"--max-query-aliases", o.maxAliases}, {"--max-query-root-fields", o.maxRootFields}, {"--max-query-cost", o.maxCost},
		{"--max-operations-per-user", o.quotas.MaxConcurrent},
		{"--user-operations-per-second", o.quotas.OperationsPerSecond}, {"--user-operations-burst", o.quotas.OperationsBurst},
		{"--user-cost-per-second", o.quotas.CostPerSecond}, {"--user-cost-burst", o.quotas.CostBurst},
	} {
		problems.Checkf(f.value >= 1, "%s: must be at least 1, not %d", f.flag, f.value)
	}
	problems.Checkf(o.quotas.CostBurst >= o.maxCost, "--user-cost-burst: must be at least --max-query-cost, %d, not %d: else a user may never have paid for one operation", o.maxCost, o.quotas.CostBurst)
	problems.Checkf(o.persistedDocuments >= 0, "--persisted-documents: must not be less than 0, and is %d", o.persistedDocuments)
	problems.File("--trusted-documents-file", o.trustedFile)
	for _, origin := range o.allowedOrigins {
		_, err := server.ParseOrigin(origin)
		problems.Checkf(err == nil, "--cors-allowed-origins: %v", err)
	}
	problems.Checkf(o.hsts >= 0, "--hsts-max-age: must not be less than 0, and is %s", o.hsts)
}

// origins are those whose pages may call the API: of the flag, and the server's own
// where a proxy has it that requests do not tell.
func (o *options) origins() []string {
	var all []string
	for _, text := range o.limits.allowedOrigins {
		if origin, err := server.ParseOrigin(text); err == nil { // Checked by validate.
			all = append(all, origin)
		}
	}
	if u, err := url.Parse(o.externalURL); err == nil && u.Host != "" {
		if origin, err := server.ParseOrigin(u.Scheme + "://" + u.Host); err == nil {
			all = append(all, origin)
		}
	}
	return all
}
