package main

import (
	"net/url"
	"time"

	"github.com/spf13/pflag"

	"github.com/kairship-io/kairship/cmd/internal/flags"
	"github.com/kairship-io/kairship/graph/server"
	"github.com/kairship-io/kairship/graph/server/document"
	"github.com/kairship-io/kairship/graph/server/limit"
	"github.com/kairship-io/kairship/graph/server/origin"
	"github.com/kairship-io/kairship/pkg/instanceproxy/passthrough"
	"github.com/kairship-io/kairship/pkg/quota"
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
	quotas        quota.Limits
	// memoryLimit is what the process may use.
	memoryLimit   int64
	nativeTimeout time.Duration
	// sessionTimeout is how long a session in a container may last.
	sessionTimeout time.Duration
	// sharedBytes is how much memory answers take that equal queries share.
	sharedBytes int64

	persistedDocuments int
	trustedFile        string
	allowedOrigins     []string
	hsts               time.Duration
}

func (o *limitOptions) define(f *pflag.FlagSet) {
	f.IntVar(&o.maxDepth, "max-query-depth", limit.DefaultMaxDepth, "how deep the fields of an operation may nest, fragments written out")
	f.IntVar(&o.maxFields, "max-query-fields", limit.DefaultMaxFields, "fields that an operation may have, fragments written out")
	f.IntVar(&o.maxTokens, "max-query-tokens", limit.DefaultTokenLimit, "lexical tokens that a document may have")
	f.IntVar(&o.maxAliases, "max-query-aliases", limit.DefaultMaxAliases, "fields of an operation that may have an alias")
	f.IntVar(&o.maxRootFields, "max-query-root-fields", limit.DefaultMaxRootFields, "fields of Query, Mutation or Subscription itself that an operation may have")
	f.IntVar(&o.maxCost, "max-query-cost", limit.DefaultMaxCost, "what an operation may cost: a value of its answer costs 1, a request to the index or to an instance 100, and a list as many times its items as it has at most")
	f.IntVar(&o.quotas.MaxConcurrent, "max-operations-per-user", quota.DefaultMaxConcurrent, "queries, mutations and native requests of one user that may be under way")
	f.IntVar(&o.quotas.MaxStreams, "max-native-streams-per-user", quota.DefaultMaxStreams, "watches, followed logs and sessions of one user through the native APIs that may be open")
	f.IntVar(&o.quotas.MaxIndexRequests, "max-index-requests-per-user", quota.DefaultMaxIndexRequests, "requests to the index of one user that may be under way, and as many statements to its database and reads of instances; others wait, up to --index-timeout")
	f.DurationVar(&o.nativeTimeout, "native-request-timeout", passthrough.DefaultTimeout, "how long a native request may take that has an end of its own")
	f.DurationVar(&o.sessionTimeout, "native-session-timeout", passthrough.DefaultSessionTimeout, "how long a session in a container (exec, attach, port-forward) through the native APIs may last")
	f.IntVar(&o.quotas.OperationsPerSecond, "user-operations-per-second", quota.DefaultOperationsPerSecond, "operations that one user may begin in a second, on average")
	f.IntVar(&o.quotas.OperationsBurst, "user-operations-burst", quota.DefaultOperationsBurst, "operations that one user may begin in one go")
	f.IntVar(&o.quotas.CostPerSecond, "user-cost-per-second", quota.DefaultCostPerSecond, "what the operations of one user may cost in a second, on average: as --max-query-cost counts, but what there was")
	f.IntVar(&o.quotas.CostBurst, "user-cost-burst", quota.DefaultCostBurst, "what they may cost in one go")
	f.Int64Var(&o.memoryLimit, "memory-limit-bytes", defaultMemoryLimit, "memory that the process may use, which is the limit of its container; what operations may hold and when the garbage collector works harder follows from it")
	f.Int64Var(&o.quotas.Memory, "operations-memory-bytes", 0, "memory that all operations together may hold, of which one user holds half at most; 0 for a quarter of --memory-limit-bytes")
	f.Int64Var(&o.quotas.OperationMemory, "max-operation-memory-bytes", 0, "memory that one operation may hold; 0 for a quarter of --operations-memory-bytes")
	f.Int64Var(&o.sharedBytes, "shared-answers-bytes", server.DefaultSharedBytes, "memory for the answers of the last second, which equal queries of users with equal permissions share; 0 for executing each query")
	f.IntVar(&o.persistedDocuments, "persisted-documents", document.DefaultPersisted, "documents to remember that clients name by their hash (automatic persisted queries); 0 for none")
	f.StringVar(&o.trustedFile, "trusted-documents-file", "", "`file` with the only documents that are executed, by their hashes; read again when it changes; when empty, all are")
	f.StringSliceVar(&o.allowedOrigins, "cors-allowed-origins", nil, "`origins` whose pages may call the API, such as https://console.example.com, separated by commas; only the server's own when empty")
	f.DurationVar(&o.hsts, "hsts-max-age", server.DefaultHSTS, "how long browsers that came over TLS are told to come over TLS alone; 0 for not telling them")
}

const (
	// defaultMemoryLimit is the memory limit of the chart's container.
	defaultMemoryLimit = 2 << 30
	// leastMemoryLimit is what the process needs for a small fleet.
	leastMemoryLimit = 256 << 20
	// leastOperationMemory is what a page of the console needs.
	leastOperationMemory = 4 << 20
	// softPercent of the memory limit is where the garbage collector begins to work harder. The
	// rest is for what the runtime does not count, and for what is allocated meanwhile.
	softPercent = 55
)

// userLimits returns the quotas, with what follows from the memory limit.
func (o *limitOptions) userLimits() quota.Limits {
	l := o.quotas
	if l.Memory == 0 {
		l.Memory = o.memoryLimit / 4
	}
	if l.OperationMemory == 0 {
		l.OperationMemory = l.Memory / 4
	}
	return l
}

// softMemoryLimit is what the garbage collector tries to keep the process below.
func (o *limitOptions) softMemoryLimit() int64 { return o.memoryLimit / 100 * softPercent }

func (o *limitOptions) validate(problems *flags.Problems) {
	for _, f := range []struct {
		flag  string
		value int
	}{
		{"--max-query-depth", o.maxDepth}, {"--max-query-fields", o.maxFields}, {"--max-query-tokens", o.maxTokens},
		{"--max-query-aliases", o.maxAliases}, {"--max-query-root-fields", o.maxRootFields}, {"--max-query-cost", o.maxCost},
		{"--max-operations-per-user", o.quotas.MaxConcurrent}, {"--max-native-streams-per-user", o.quotas.MaxStreams}, {"--max-index-requests-per-user", o.quotas.MaxIndexRequests},
		{"--user-operations-per-second", o.quotas.OperationsPerSecond}, {"--user-operations-burst", o.quotas.OperationsBurst},
		{"--user-cost-per-second", o.quotas.CostPerSecond}, {"--user-cost-burst", o.quotas.CostBurst},
	} {
		problems.Checkf(f.value >= 1, "%s: must be at least 1, not %d", f.flag, f.value)
	}
	problems.Checkf(o.quotas.CostBurst >= o.maxCost, "--user-cost-burst: must be at least --max-query-cost, %d, not %d: else a user may never have paid for one operation", o.maxCost, o.quotas.CostBurst)
	problems.Checkf(o.nativeTimeout > 0, "--native-request-timeout: must be more than 0, not %s", o.nativeTimeout)
	problems.Checkf(o.sessionTimeout > 0, "--native-session-timeout: must be more than 0, not %s", o.sessionTimeout)
	problems.Checkf(o.memoryLimit >= leastMemoryLimit, "--memory-limit-bytes: must be at least %d, not %d", leastMemoryLimit, o.memoryLimit)
	l := o.userLimits()
	problems.Checkf(l.Memory >= 0 && l.Memory <= o.memoryLimit/2, "--operations-memory-bytes: must not be more than half of --memory-limit-bytes, %d, and is %d: the process needs memory of its own", o.memoryLimit, l.Memory)
	problems.Checkf(l.OperationMemory >= leastOperationMemory && l.OperationMemory <= max(l.Memory/2, leastOperationMemory), "--max-operation-memory-bytes: must be from %d to half of --operations-memory-bytes, %d, not %d", leastOperationMemory, l.Memory, l.OperationMemory)
	problems.Checkf(o.sharedBytes >= 0 && o.sharedBytes <= o.memoryLimit/4, "--shared-answers-bytes: must not be more than a quarter of --memory-limit-bytes, %d, nor less than 0, and is %d", o.memoryLimit, o.sharedBytes)
	problems.Checkf(o.persistedDocuments >= 0, "--persisted-documents: must not be less than 0, and is %d", o.persistedDocuments)
	problems.File("--trusted-documents-file", o.trustedFile)
	for _, text := range o.allowedOrigins {
		_, err := origin.Parse(text)
		problems.Checkf(err == nil, "--cors-allowed-origins: %v", err)
	}
	problems.Checkf(o.hsts >= 0, "--hsts-max-age: must not be less than 0, and is %s", o.hsts)
}

// origins are those whose pages may call the API: of the flag, and the server's own
// where a proxy has it that requests do not tell.
func (o *options) origins() []string {
	var all []string
	for _, text := range o.limits.allowedOrigins {
		if origin, err := origin.Parse(text); err == nil { // Checked by validate.
			all = append(all, origin)
		}
	}
	if u, err := url.Parse(o.externalURL); err == nil && u.Host != "" {
		if origin, err := origin.Parse(u.Scheme + "://" + u.Host); err == nil {
			all = append(all, origin)
		}
	}
	return all
}
