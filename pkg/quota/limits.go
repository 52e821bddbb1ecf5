package quota

import "cmp"

// Defaults of Limits.
const (
	DefaultMaxConcurrent       = 100
	DefaultMaxStreams          = 500
	DefaultMaxIndexRequests    = 8
	DefaultOperationsPerSecond = 1_000
	DefaultOperationsBurst     = 5_000
	DefaultCostPerSecond       = 2_000_000
	DefaultCostBurst           = 20_000_000
	defaultMemory              = 512 << 20
	defaultOperationMemory     = 128 << 20
)

// Limits limit what users may ask for. Zero means the default.
type Limits struct {
	// MaxConcurrent is how many operations of a user may be under way, over all
	// connections. Subscriptions have limits of their own.
	MaxConcurrent int
	// MaxStreams is how many native requests of a user without an end of their own may be
	// under way: watches, followed logs, exec sessions.
	MaxStreams int
	// MaxIndexRequests limits a user's concurrent requests to the index, and their concurrent reads
	// of instances that stand in for it: further ones wait.
	MaxIndexRequests int
	// OperationsPerSecond is how many operations of any kind a user may begin, on
	// average; OperationsBurst how many in one go.
	OperationsPerSecond, OperationsBurst int
	// CostPerSecond is what the operations of a user may cost, on average: values of
	// answers and requests upstream. CostBurst is how much in one go.
	CostPerSecond, CostBurst int
	// Memory is how many bytes all operations may hold, OperationMemory how many one may.
	Memory, OperationMemory int64
}

func (l *Limits) setDefaults() {
	l.MaxConcurrent = cmp.Or(l.MaxConcurrent, DefaultMaxConcurrent)
	l.MaxStreams = cmp.Or(l.MaxStreams, DefaultMaxStreams)
	l.MaxIndexRequests = cmp.Or(l.MaxIndexRequests, DefaultMaxIndexRequests)
	l.OperationsPerSecond = cmp.Or(l.OperationsPerSecond, DefaultOperationsPerSecond)
	l.OperationsBurst = cmp.Or(l.OperationsBurst, DefaultOperationsBurst)
	l.CostPerSecond = cmp.Or(l.CostPerSecond, DefaultCostPerSecond)
	l.CostBurst = cmp.Or(l.CostBurst, DefaultCostBurst)
	l.Memory = cmp.Or(l.Memory, defaultMemory)
	l.OperationMemory = cmp.Or(l.OperationMemory, defaultOperationMemory)
}
