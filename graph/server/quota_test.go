package server

import (
	"fmt"
	"testing"
	"time"

	"github.com/kairship-io/kairship/pkg/apierror"
)

func TestConcurrency(t *testing.T) {
	cfg := Config{Now: time.Now, Quotas: Quotas{MaxConcurrent: 2}}
	cfg.Quotas.setDefaults()
	q := newQuotas(cfg, newLimitMetrics(nil))
	enter := func(user string) func() {
		t.Helper()
		leave, limited := q.enter(user)
		if limited != nil {
			t.Fatal(limited)
		}
		return leave
	}
	first := enter("alice")
	enter("alice")
	_, limited := q.enter("alice")
	if !apierror.Is(limited, apierror.CodeRateLimited) || limited.RetryAfter != concurrentRetry {
		t.Errorf("a third operation: %v", limited)
	}
	enter("bob") // Whose quota is his own.
	first()
	first() // Once is enough.
	enter("alice")
	if _, limited := q.enter("alice"); limited == nil {
		t.Error("a place was given back twice")
	}
}

// Users come and go; the memory of them does not grow.
func TestAccountsAreBounded(t *testing.T) {
	cfg := Config{Now: time.Now}
	cfg.Quotas.setDefaults()
	q := newQuotas(cfg, newLimitMetrics(nil))
	for i := range maxAccounts + 100 {
		leave, limited := q.enter(fmt.Sprint("user-", i))
		if limited != nil {
			t.Fatal(limited)
		}
		leave()
		q.charge(fmt.Sprint("user-", i), 1)
	}
	if n := q.accounts.Len(); n != maxAccounts {
		t.Errorf("%d accounts, want %d", n, maxAccounts)
	}
}
