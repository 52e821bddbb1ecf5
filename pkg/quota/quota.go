package quota

import (
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/kairship-io/kairship/pkg/apierror"
)

const (
	// maxAccounts is how many users are remembered. The one that was idle for longest is
	// forgotten, and begins anew: users cannot be made up.
	maxAccounts = 10_000
	// leastCharge is what every operation costs: its user has to be found and its text read.
	leastCharge = 10
	// retry is the Retry-After of a request beyond a concurrency limit.
	retry = time.Second
)

// Users holds the accounts of all users. It is safe for concurrent use.
type Users struct {
	limits Limits
	now    func() time.Time

	mu       sync.Mutex
	accounts *lru.Cache[string, *account]
	// held is the memory that all operations hold.
	held    int64
	refused func(limit string)
}

// account is what one user uses.
type account struct {
	running, streams int
	operations, cost bucket
	held             int64
	// requests limits the concurrent requests of each line.
	requests [lines]chan struct{}
}

// New makes Users; now nil means time.Now.
func New(limits Limits, now func() time.Time) *Users {
	limits.setDefaults()
	if now == nil {
		now = time.Now
	}
	accounts, err := lru.New[string, *account](maxAccounts)
	if err != nil {
		panic(err) // The size is positive.
	}
	return &Users{limits: limits, now: now, accounts: accounts, refused: func(string) {}}
}

// OnRefusal has each refusal counted under the name of its limit.
func (u *Users) OnRefusal(count func(limit string)) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.refused = count
}

// Held returns how many bytes all operations hold.
func (u *Users) Held() int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.held
}

// of returns the account of a user. The caller holds the lock.
func (u *Users) of(user string) *account {
	if a, ok := u.accounts.Get(user); ok {
		return a
	}
	now := u.now()
	a := &account{
		operations: newBucket(u.limits.OperationsPerSecond, u.limits.OperationsBurst, now),
		cost:       newBucket(u.limits.CostPerSecond, u.limits.CostBurst, now),
	}
	for line := range a.requests {
		a.requests[line] = make(chan struct{}, u.limits.MaxIndexRequests)
	}
	u.accounts.Add(user, a)
	return a
}

// Enter begins an operation of a user, or returns an error with the time after which the user may
// try again. Leave ends the operation.
func (u *Users) Enter(user string) (*Operation, *apierror.Error) {
	return u.enter(user, func(a *account) (*int, *apierror.Error) {
		if a.running >= u.limits.MaxConcurrent {
			return nil, u.refuse("concurrency", retry, "you have %d operations under way, which is the limit: wait for some", a.running)
		}
		return &a.running, nil
	})
}

// EnterStream begins a native request without an end of its own.
func (u *Users) EnterStream(user string) (*Operation, *apierror.Error) {
	return u.enter(user, func(a *account) (*int, *apierror.Error) {
		if a.streams >= u.limits.MaxStreams {
			return nil, u.refuse("streams", retry, "you have %d watches and sessions open, which is the limit: close some", a.streams)
		}
		return &a.streams, nil
	})
}

func (u *Users) enter(user string, place func(*account) (*int, *apierror.Error)) (*Operation, *apierror.Error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	a, now := u.of(user), u.now()
	taken, limited := place(a)
	if limited != nil {
		return nil, limited
	}
	if wait := a.cost.wait(1, now); wait > 0 {
		return nil, u.refuse("cost", wait, "your operations have cost more than %d a second: ask for less, or less often", u.limits.CostPerSecond)
	}
	if wait := a.operations.wait(1, now); wait > 0 {
		return nil, u.refuse("rate", wait, "you have begun more than %d operations a second", u.limits.OperationsPerSecond)
	}
	o := &Operation{users: u, account: a, place: taken}
	if limited := o.grant(step); limited != nil {
		return nil, limited
	}
	o.used.Store(step)
	a.operations.add(-1)
	*taken++
	return o, nil
}

// refuse makes the error of a refusal. The caller holds the lock.
func (u *Users) refuse(limit string, after time.Duration, format string, args ...any) *apierror.Error {
	u.refused(limit)
	err := apierror.New(apierror.CodeRateLimited, format, args...)
	err.RetryAfter = after
	return err
}

// Operation is an operation that was let in. A nil one has no limits.
type Operation struct {
	users   *Users
	account *account
	// used is what the operation holds, of what it was granted.
	used, granted atomic.Int64
	refusal       atomic.Pointer[apierror.Error]

	// These are guarded by the lock of the users.
	place          *int
	reserved       int
	charged, ended bool
}

// Reserve takes what the operation costs at most from its user's account, or returns
// when the account will have as much.
func (o *Operation) Reserve(cost int) *apierror.Error {
	if o == nil {
		return nil
	}
	u := o.users
	u.mu.Lock()
	defer u.mu.Unlock()
	if wait := o.account.cost.wait(cost, u.now()); wait > 0 {
		return u.refuse("cost", wait,
			"the operation may cost %d, and your other operations have used up what a user may spend, %d a second: ask for less, or less often", cost, u.limits.CostPerSecond)
	}
	o.reserved = min(cost, u.limits.CostBurst)
	o.account.cost.add(-o.reserved)
	return nil
}

// Charge charges the operation's cost to its user's account and releases the reservation. Only the
// first call has an effect.
func (o *Operation) Charge(cost int) {
	if o == nil {
		return
	}
	o.users.mu.Lock()
	defer o.users.mu.Unlock()
	o.charge(cost)
}

func (o *Operation) charge(cost int) {
	if o.charged {
		return
	}
	o.charged = true
	o.account.cost.wait(0, o.users.now()) // What came back meanwhile counts first.
	o.account.cost.add(o.reserved - min(max(cost, leastCharge), o.users.limits.CostBurst))
}

// End ends the operation, and releases its place and its memory. Only the first call has an
// effect.
func (o *Operation) End() {
	if o == nil {
		return
	}
	u := o.users
	u.mu.Lock()
	defer u.mu.Unlock()
	if o.ended {
		return
	}
	o.ended = true
	o.charge(o.reserved)
	*o.place--
	granted := o.granted.Load()
	o.account.held -= granted
	u.held -= granted
}
