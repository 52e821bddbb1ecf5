package main

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/kairship-io/kairship/cmd/internal/flags"
	"github.com/kairship-io/kairship/cmd/internal/traces"
)

// maxOperationNames bounds the series that the names of operations make.
const maxOperationNames = 200

// observabilityOptions are the flags about what is told of operations.
type observabilityOptions struct {
	tracing        traces.Options
	traceDocuments bool
	operationNames []string
	slow           time.Duration
}

func (o *observabilityOptions) define(f *pflag.FlagSet) {
	o.tracing.Define(f)
	f.BoolVar(&o.traceDocuments, "tracing-documents", false, "have traces show what operations ask for: names of fields, arguments and variables, never a value")
	f.StringSliceVar(&o.operationNames, "metrics-operation-names", nil, "`names` of operations that metrics tell apart, separated by commas; all others are counted together, because clients may choose any name")
	f.DurationVar(&o.slow, "slow-operation-threshold", 2*time.Second, "queries and mutations that take so long get a line of their own in the log, with what they ask for and no value in it; 0 for never")
}

func (o *observabilityOptions) validate(problems *flags.Problems) {
	o.tracing.Validate(problems)
	problems.Checkf(o.slow >= 0, "--slow-operation-threshold: must not be less than 0, and is %s", o.slow)
	problems.Checkf(len(o.operationNames) <= maxOperationNames, "--metrics-operation-names: every name makes some 20 series, so there may be %d of them, not %d", maxOperationNames, len(o.operationNames))
}
