package server

import (
	"math"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"

	"github.com/kairship-io/kairship/graph/cost"
	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/upstream"
)

// Quotas of one user when Quotas leaves them at zero.
const (
	DefaultMaxConcurrent       = 100
	DefaultOperationsPerSecond = 1_000
	DefaultOperationsBurst     = 5_000
	DefaultCostPerSecond       = 2_000_000
	DefaultCostBurst           = 20_000_000
)

const (
	// maxAccounts is how many users are remembered. The one who was away for longest
	// is forgotten, and begins anew: nobody can make users up.
	maxAccounts = 10_000
	// bytesPerValue is how long a value of an answer is, with its name, on average.
	bytesPerValue = 16
	// leastCharge is what every request costs: who it is from has to be found out, and
	// what it says be read.
	leastCharge = 10
	// concurrentRetry is when somebody may try again who has too much under way.
	concurrentRetry = time.Second
)

// Quotas bounds what one user may ask for. Zero means the default.
type Quotas struct {
	// MaxConcurrent is how many queries and mutations of a user may be under way, over
	// all connections. Subscriptions have bounds of their own, in StreamLimits.
	MaxConcurrent int
	// OperationsPerSecond is how many operations of any kind a user may begin, on
	// average; OperationsBurst how many in one go.
	OperationsPerSecond, OperationsBurst int
	// CostPerSecond is what the operations of a user may cost, on average: values of
	// answers and requests upstream, as package cost counts them, but as many as
	// there were. CostBurst is how much in one go. What an operation cost is known when
	// it is over, so a user who owes something begins nothing new.
	CostPerSecond, CostBurst int
}

func (q *Quotas) setDefaults() {
	setDefault(&q.MaxConcurrent, DefaultMaxConcurrent)
	setDefault(&q.OperationsPerSecond, DefaultOperationsPerSecond)
	setDefault(&q.OperationsBurst, DefaultOperationsBurst)
	setDefault(&q.CostPerSecond, DefaultCostPerSecond)
	setDefault(&q.CostBurst, DefaultCostBurst)
}

// quotas keeps the accounts of all users.
type quotas struct {
	Quotas

	now     func() time.Time
	metrics *limitMetrics

	mu       sync.Mutex
	accounts *lru.Cache[string, *account]
}

// account is what one user uses.
type account struct {
	running    int
	operations *rate.Limiter
	cost       *rate.Limiter
}

func newQuotas(cfg Config, metrics *limitMetrics) *quotas {
	accounts, err := lru.New[string, *account](maxAccounts)
	if err != nil {
		panic(err) // The size is positive.
	}
	return &quotas{Quotas: cfg.Quotas, now: cfg.Now, metrics: metrics, accounts: accounts}
}

// of is the account of a user. The caller holds the lock.
func (q *quotas) of(user string) *account {
	if a, ok := q.accounts.Get(user); ok {
		return a
	}
	a := &account{
		operations: rate.NewLimiter(rate.Limit(q.OperationsPerSecond), q.OperationsBurst),
		cost:       rate.NewLimiter(rate.Limit(q.CostPerSecond), q.CostBurst),
	}
	q.accounts.Add(user, a)
	return a
}

// enter lets a user begin an operation, or says when they may. leave must be called
// when it is over; more than once is no more than once.
func (q *quotas) enter(user string) (leave func(), limited *apierror.Error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	a, now := q.of(user), q.now()
	if a.running >= q.MaxConcurrent {
		return nil, q.refuse("concurrency", concurrentRetry, "you have %d operations under way, which is the limit: wait for some", a.running)
	}
	if owed := 1 - a.cost.TokensAt(now); owed > 0 {
		return nil, q.refuse("cost", wait(owed, a.cost.Limit()), "your operations have cost more than %d a second: ask for less, or less often", q.CostPerSecond)
	}
	booked := a.operations.ReserveN(now, 1)
	if delay := booked.DelayFrom(now); delay > 0 {
		booked.CancelAt(now)
		return nil, q.refuse("rate", delay, "you have begun more than %d operations a second", q.OperationsPerSecond)
	}
	a.running++
	return sync.OnceFunc(func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		a.running--
	}), nil
}

func wait(tokens float64, perSecond rate.Limit) time.Duration {
	return time.Duration(tokens / float64(perSecond) * float64(time.Second))
}

func (q *quotas) refuse(limit string, after time.Duration, format string, args ...any) *apierror.Error {
	q.metrics.refuse(limit)
	err := apierror.New(apierror.CodeRateLimited, format, args...)
	err.RetryAfter = after
	return err
}

// charge takes what an operation cost from its user's account, which may owe
// something then.
func (q *quotas) charge(user string, amount int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.of(user).cost.ReserveN(q.now(), min(max(amount, leastCharge), q.CostBurst))
}

// spent is what an operation cost whose answer has so many bytes.
func spent(bytes int, used *upstream.Recorder) int {
	requests := 0
	for _, use := range used.Uses() {
		requests += use.Requests
	}
	return bytes/bytesPerValue + requests*cost.RequestCost
}

// retryAfter is the number of whole seconds of the header Retry-After.
func retryAfter(d time.Duration) int { return max(1, int(math.Ceil(d.Seconds()))) }
